// Rates, and their text.
#include "cli/top_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "base/demangle.h"
#include "base/operator_name.h"
#include "base/units.h"
#include "report/text/page.h"
#include "report/text/table.h"

namespace turnpike::cli {
namespace {

using record::LivePage;
using record::LiveSite;

std::uint64_t grown(std::uint64_t now, std::uint64_t before) {
  return now >= before ? now - before : 0;
}

const LiveSite* same_site(const LivePage* page, const LiveSite& site) {
  for (std::uint32_t i = 0; page != nullptr && i < page->site_count; ++i) {
    const LiveSite& other = page->sites[i];
    if (other.line == site.line && other.direction == site.direction && std::string(other.file) == site.file &&
        std::string(other.function) == site.function && std::string(other.op) == site.op)
      return &other;
  }
  return nullptr;
}

// `before`: nullptr for since the start.
ProcessRate rate_between(const LivePage* before, const LiveProcess& now) {
  static const LivePage kNothing{};
  ProcessRate rate;
  rate.process = now;
  const LivePage& page = *now.page;
  const std::int64_t from_ns = before == nullptr ? page.start_monotonic_ns : before->updated_monotonic_ns;
  // Not by subtracting the numbers as they are: a broken page may hold any.
  rate.seconds = static_cast<double>(page.updated_monotonic_ns) / 1e9 - static_cast<double>(from_ns) / 1e9;
  const LivePage& then = before == nullptr ? kNothing : *before;
  // A recording that was stopped before, too, does nothing now.
  const bool stays_stopped = before != nullptr && before->state == record::LiveState::kStopped;
  if (!(rate.seconds > 1e-9) || stays_stopped) rate.seconds = 0;
  const auto per_second = [&rate](std::uint64_t amount) {
    return rate.seconds > 0 ? static_cast<double>(amount) / rate.seconds : 0;
  };
  std::uint64_t bytes = 0, pageable = 0, count = 0;
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t moved = grown(page.transfer_bytes[i], then.transfer_bytes[i]);
    rate.gbps[i] = per_second(moved) / 1e9;
    bytes += moved;
    pageable += grown(page.pageable_bytes[i], then.pageable_bytes[i]);
  }
  for (std::uint32_t i = 0; i + 1 < record::kLiveTransferDirections; ++i)
    count += grown(page.transfer_count[i], then.transfer_count[i]);
  rate.transfers_per_second = per_second(count);
  rate.pageable_pct = bytes > 0 ? 100.0 * static_cast<double>(pageable) / static_cast<double>(bytes) : 0;
  rate.host_time_pct = per_second(grown(page.host_time_ns, then.host_time_ns)) / 1e7;
  rate.syncs_per_second = per_second(grown(page.sync_count, then.sync_count));
  rate.kernels_per_second = per_second(grown(page.kernel_count, then.kernel_count));
  for (std::uint32_t i = 0; i < page.site_count; ++i) {
    const LiveSite& site = page.sites[i];
    // One that was not among the top ones before is not counted from its beginning, which may be long ago.
    const LiveSite* old = same_site(before, site);
    const bool is_new = before != nullptr && old == nullptr && before->known_sites > before->site_count;
    static const LiveSite kNone{};
    const LiveSite& base = is_new ? site : old == nullptr ? kNone : *old;
    rate.sites.push_back({site, per_second(grown(site.count, base.count)),
                          per_second(grown(site.bytes, base.bytes)) / 1e9,
                          per_second(grown(site.host_time_ns, base.host_time_ns)) / 1e7});
  }
  return rate;
}

std::string bar(double share) {
  constexpr std::size_t kWidth = 20;
  const double full = std::clamp(share, 0.0, 1.0) * kWidth;
  const auto cells = static_cast<std::size_t>(std::lround(full));
  return "[" + std::string(cells, '#') + std::string(kWidth - cells, ' ') + "]";
}

std::string link_text(const char* name, double gbps, std::optional<double> limit, std::size_t width) {
  std::string text = fmt::format("{:4} {:>10}", name, rate_text(gbps));
  if (limit && *limit > 0) text += fmt::format(" of {}  {:>5}", rate_text(limit), percent_text(100 * gbps / *limit));
  const std::string picture = limit && *limit > 0 ? " " + bar(gbps / *limit) : "";
  return text.size() + picture.size() <= width ? text + picture : text;
}

double key_of(const SiteRate& site, TopSort sort) {
  if (sort == TopSort::kCount) return site.per_second;
  return sort == TopSort::kBytes ? site.gbps : site.host_time_pct;
}

}  // namespace

std::vector<ProcessRate> TopHistory::add(const std::vector<LiveProcess>& processes) {
  std::vector<ProcessRate> rates;
  std::map<std::uint32_t, std::deque<LiveProcess>> still;
  for (const LiveProcess& process : processes) {
    if (!process.page) {
      ProcessRate none;
      none.process = process;
      rates.push_back(std::move(none));
      continue;
    }
    std::deque<LiveProcess> pages;
    if (const auto old = seen_.find(process.pid); old != seen_.end()) pages = std::move(old->second);
    // Another recording of the same process, or another process of the same id.
    if (!pages.empty() && pages.back().page->start_monotonic_ns != process.page->start_monotonic_ns) pages.clear();
    const std::int64_t now_ns = process.page->updated_monotonic_ns;
    while (pages.size() > 1 && pages[1].page->updated_monotonic_ns < now_ns &&
           static_cast<double>(now_ns) - static_cast<double>(pages[1].page->updated_monotonic_ns) >=
               static_cast<double>(window_ns_))
      pages.pop_front();
    rates.push_back(rate_between(pages.empty() ? nullptr : pages.front().page.get(), process));
    // One that was not written since is kept once; a process that hangs has rates of 0 after the window.
    if (pages.empty() || pages.back().page->updated_monotonic_ns != now_ns)
      pages.push_back(process);
    else if (pages.size() > 1)
      pages.pop_front();
    still[process.pid] = std::move(pages);
  }
  for (auto& [pid, pages] : seen_) {
    const bool is_there =
        std::any_of(processes.begin(), processes.end(), [pid = pid](const LiveProcess& one) { return one.pid == pid; });
    if (is_there || pages.empty()) continue;
    ProcessRate ended = rate_between(nullptr, pages.back());
    ended.has_ended = true;
    rates.push_back(std::move(ended));
  }
  seen_ = std::move(still);
  return rates;
}

const char* name_of(record::LiveDirection direction) {
  static constexpr const char* kNames[] = {"h2d", "d2h", "d2d", "p2p", "h2h", "memset", "sync"};
  return direction <= record::kLiveSync ? kNames[direction] : "?";
}

std::string operator_text(const LiveSite& site) {
  return site.op[0] == '\0' ? "" : operator_name(site.op);
}

std::string place_text(const LiveSite& site) {
  const std::string path = site.file;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (site.line > 0) return name + ":" + std::to_string(site.line);
  if (site.function[0] != '\0') return demangled(site.function) + (name.empty() ? "" : " (" + name + ")");
  return name.empty() ? "unknown line" : name;
}

std::string program_text(const LivePage& page) {
  std::string text = page.program;
  std::replace(text.begin(), text.end(), '\x1f', ' ');
  return text;
}

std::string to_text(const ProcessRate& rate, const TopLook& look) {
  report::Page page(std::max(look.width, report::kMinPageWidth), look.has_colour);
  std::string title = "process " + std::to_string(rate.process.pid);
  if (!rate.process.page) {
    page.paragraph("", title + ": " + rate.process.problem + ". Watch it with that version's `turnpike top`.");
    return page.text();
  }
  const LivePage& live = *rate.process.page;
  if (live.rank[0] != '\0') title += std::string(", rank ") + live.rank;
  title += std::string(" (") +
           (rate.has_ended                              ? "ended"
            : live.state == record::LiveState::kStopped ? "recording stopped"
                                                        : "recording") +
           "): " + program_text(live);
  page.line(title, report::Style::kHeading);
  const LiveLimit limit = limit_of(live);
  page.line("  " + link_text("up", rate.gbps[0], limit.gbps[0], page.width() - 2));
  page.line("  " + link_text("down", rate.gbps[1], limit.gbps[1], page.width() - 2));
  page.paragraph("  ",
                 fmt::format("{} transfers/s, {} of their bytes pageable; CPU in copies and waits {} of the time; "
                             "{} syncs/s; {} kernels/s; losses: {}",
                             amount_text(rate.transfers_per_second), percent_text(rate.pageable_pct),
                             percent_text(rate.host_time_pct), amount_text(rate.syncs_per_second),
                             amount_text(rate.kernels_per_second), count_text(live.loss_count)));
  std::vector<SiteRate> sites = rate.sites;
  std::stable_sort(sites.begin(), sites.end(),
                   [&](const SiteRate& a, const SiteRate& b) { return key_of(a, look.sort) > key_of(b, look.sort); });
  if (sites.size() > look.most_sites) sites.resize(look.most_sites);
  if (sites.empty()) return page.text();
  using report::Align;
  report::Table table({{"line", Align::kLeft, true},
                       {"operator", Align::kLeft, false, 3},
                       {"what", Align::kLeft},
                       {"a second", Align::kRight, false, 2},
                       {"rate", Align::kRight, false, 1},
                       {"CPU", Align::kRight}});
  for (const SiteRate& one : sites) {
    table.add_row({place_text(one.site), operator_text(one.site), name_of(one.site.direction),
                   amount_text(one.per_second), one.site.direction == record::kLiveSync ? "" : rate_text(one.gbps),
                   percent_text(one.host_time_pct)});
  }
  table.print(page);
  return page.text();
}

}  // namespace turnpike::cli
