#include "report/html/source_excerpts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "report/text/source_lines.h"

namespace turnpike::report::html {
namespace {

constexpr std::uint32_t kAround = 4;
constexpr std::uint32_t kMaxLines = 200;
constexpr std::size_t kMaxFiles = 50;

class Costs {
 public:
  void add(const analyze::Where& where, std::int64_t blocked_ns, std::int64_t copy_ns, std::int64_t idle_ns) {
    if (!where.file || !where.line) return;
    LineCost& cost = costs_[{*where.file, *where.line}];
    cost.blocked_ns += blocked_ns;
    cost.copy_ns += copy_ns;
    cost.idle_ns += idle_ns;
  }
  bool is_blocked(const analyze::Where& where) const {
    const auto found = costs_.find({where.file.value_or(""), where.line.value_or(0)});
    return found != costs_.end() && found->second.blocked_ns > 0;
  }
  std::vector<LineCost> ranked() const {
    std::vector<LineCost> all;
    for (const auto& [place, cost] : costs_) {
      all.push_back(cost);
      all.back().file = place.first;
      all.back().line = place.second;
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const LineCost& a, const LineCost& b) { return a.total_ns() > b.total_ns(); });
    return all;
  }

 private:
  std::map<std::pair<std::string, std::uint32_t>, LineCost> costs_;
};

struct Stretch {
  std::uint32_t first;
  std::uint32_t last;
};

// `lines`: most cost first. Grows while it fits.
Stretch stretch_of(const std::vector<std::uint32_t>& lines) {
  Stretch stretch{lines.front(), lines.front()};
  for (const std::uint32_t line : lines) {
    const Stretch wider{std::min(stretch.first, line), std::max(stretch.last, line)};
    if (wider.last - wider.first + 1 + 2 * kAround <= kMaxLines) stretch = wider;
  }
  return {stretch.first > kAround ? stretch.first - kAround : 1, stretch.last + kAround};
}

}  // namespace

std::vector<LineCost> line_costs(const analyze::Report& report) {
  Costs costs;
  for (const analyze::Site& site : report.sites) {
    costs.add(site, site.host_blocked_ns.value_or(0), site.device_time_ns.value_or(0), site.gpu_idle_ns.value_or(0));
  }
  Costs of_transfers = costs;
  for (const analyze::SyncSite& site : report.sync_sites) {
    if (of_transfers.is_blocked(site)) continue;
    costs.add(site, site.host_blocked_ns.value_or(0), 0, site.gpu_idle_ns.value_or(0));
  }
  return costs.ranked();
}

std::vector<Excerpt> excerpts_of(const analyze::Report& report) {
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> wanted;
  for (const LineCost& cost : line_costs(report)) {
    auto of_file = std::find_if(wanted.begin(), wanted.end(), [&](const auto& one) { return one.first == cost.file; });
    if (of_file == wanted.end()) {
      if (wanted.size() == kMaxFiles) continue;
      of_file = wanted.insert(wanted.end(), {cost.file, {}});
    }
    of_file->second.push_back(cost.line);
  }
  const SourceLines sources(report.source.paths);
  std::vector<Excerpt> excerpts;
  for (const auto& [file, lines] : wanted) {
    const Stretch stretch = stretch_of(lines);
    Excerpt excerpt{file, stretch.first, sources.lines(file, stretch.first, stretch.last - stretch.first + 1)};
    if (!excerpt.lines.empty()) excerpts.push_back(std::move(excerpt));
  }
  return excerpts;
}

}  // namespace turnpike::report::html
