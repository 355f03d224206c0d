// KeySums the costs up along the paths, and by key.
#include "report/text/path_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/units.h"
#include "report/text/page.h"
#include "report/text/path_tree.h"
#include "report/text/table.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using analyze::CallPaths;
using analyze::kNoParent;
using analyze::PathCost;
using analyze::PathFrame;

constexpr std::array kKeys = {
    NamedPathKey{PathKey::kPath, "path", "one way to one operator"},
    NamedPathKey{PathKey::kLine, "line", "a line of the program itself"},
    NamedPathKey{PathKey::kLibrary, "library", "the package whose line made the call"},
    NamedPathKey{PathKey::kOperator, "operator", "an operator of PyTorch, or a call"},
    NamedPathKey{PathKey::kModule, "module", "the innermost nn.Module whose forward() ran"},
};

constexpr const char* kNoLine = "(no line of Python known)";

struct KeySums {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t blocked_ns = 0;
  std::int64_t exposed_ns = 0;

  std::int64_t cost_ns() const { return blocked_ns + exposed_ns; }
  void add(const PathCost& cost) {
    count += cost.count;
    bytes += cost.bytes;
    blocked_ns += cost.host_blocked_ns.value_or(0);
    exposed_ns += cost.exposed_ns.value_or(0);
  }
};

// The innermost frame of a path that is so; nullptr.
template <typename Predicate>
const PathFrame* innermost(const CallPaths& paths, const PathCost& cost, Predicate is_so) {
  for (std::uint32_t node = cost.node; node != kNoParent; node = paths.nodes[node].parent) {
    const PathFrame& frame = paths.frames[paths.nodes[node].frame];
    if (is_so(frame)) return &frame;
  }
  return nullptr;
}

const PathFrame* last_frame(const CallPaths& paths, const PathCost& cost) {
  return innermost(paths, cost, [](const PathFrame&) { return true; });
}

const PathFrame* own_frame(const CallPaths& paths, const PathCost& cost) {
  return innermost(paths, cost, [](const PathFrame& frame) { return frame.library.empty(); });
}

std::string path_name(const CallPaths& paths, const PathCost& cost) {
  const PathFrame* own = own_frame(paths, cost);
  const PathFrame* last = last_frame(paths, cost);
  std::string name = own == nullptr ? "" : own->site;
  if (last != own) name += (name.empty() ? "" : " > ") + last->site;
  return (last == nullptr ? kNoLine : name) + " > " + cost.what;
}

// "Block.forward" -> "Block", with the package where it is one's.
std::string module_name(const CallPaths& paths, const PathCost& cost) {
  constexpr std::string_view kForward = ".forward";
  const PathFrame* module =
      innermost(paths, cost, [=](const PathFrame& frame) { return frame.function.ends_with(kForward); });
  if (module == nullptr) return "(outside of modules)";
  const std::string name = module->function.substr(0, module->function.size() - kForward.size());
  return module->library.empty() ? name : module->library + ": " + name;
}

std::string name_by(PathKey key, const CallPaths& paths, const PathCost& cost) {
  const PathFrame* own = own_frame(paths, cost);
  const PathFrame* last = last_frame(paths, cost);
  switch (key) {
    case PathKey::kPath:
      return path_name(paths, cost);
    case PathKey::kLine:
      return own == nullptr ? kNoLine : own->site;
    case PathKey::kLibrary:
      return last == nullptr ? kNoLine : last->library.empty() ? "(the program itself)" : last->library;
    case PathKey::kOperator:
      return cost.what;
    case PathKey::kModule:
      return module_name(paths, cost);
  }
  return "";
}

bool is_at(const PathFrame& frame, std::string_view place) {
  if (frame.library == place) return true;
  const auto matches_end = [&](std::string_view text) {
    if (!text.ends_with(place)) return false;
    const std::size_t before = text.size() - place.size();
    return before == 0 || text[before - 1] == '/' || text[before - 1] == ' ';
  };
  return matches_end(frame.site) || matches_end(frame.file);
}

}  // namespace

std::span<const NamedPathKey> all_path_keys() {
  return kKeys;
}

std::optional<PathKey> path_key_named(std::string_view name) {
  const auto found = std::find_if(kKeys.begin(), kKeys.end(), [=](const auto& one) { return one.name == name; });
  return found == kKeys.end() ? std::nullopt : std::optional(found->key);
}

CallPaths paths_under(CallPaths paths, std::string_view place) {
  std::erase_if(paths.costs, [&](const PathCost& cost) {
    return innermost(paths, cost, [&](const PathFrame& frame) { return is_at(frame, place); }) == nullptr;
  });
  return paths;
}

std::string to_tree_text(const CallPaths& paths, const TextOptions& options) {
  Page page(std::max(options.width, kMinPageWidth), options.has_colour);
  page.line("CALL PATHS", Style::kHeading);
  page.paragraph("  ", std::string(kPathCostNote) + ". Wrappers (nn.Module's __call__, decorators) are left out.",
                 Style::kNote);
  for (const PathRow& row : path_rows(paths)) {
    const std::string first = fmt::format("{:>9} {:>5}  {}", duration_text(row.cost_ns), percent_text(row.share_pct),
                                          std::string(2 * std::min<std::size_t>(row.depth, 20), ' '));
    page.paragraph(first, row.text);
  }
  return page.text();
}

std::string to_table_text(const CallPaths& paths, PathKey key, const TextOptions& options) {
  std::map<std::pair<std::string, std::string>, KeySums> by_name;  // with the direction in words
  for (const PathCost& cost : paths.costs)
    by_name[{name_by(key, paths, cost), path_kind_text(cost.direction)}].add(cost);
  std::vector<std::pair<std::pair<std::string, std::string>, KeySums>> rows(by_name.begin(), by_name.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.cost_ns(), a.second.bytes) > std::pair(b.second.cost_ns(), b.second.bytes);
  });
  Page page(std::max(options.width, kMinPageWidth), options.has_colour);
  page.line(fmt::format("TRANSFERS AND SYNCHRONISATIONS BY {}", kKeys[static_cast<std::size_t>(key)].name),
            Style::kHeading);
  page.paragraph("  ", kPathCostNote, Style::kNote);
  const std::int64_t all_ns = path_cost_of_all(paths);
  Table table({{"     cost"},
               {"of all"},
               {.title = "what", .align = Align::kLeft, .leaves_as = 3},
               {.title = "count", .leaves_as = 1},
               {.title = "bytes", .leaves_as = 2},
               {.title = "where", .align = Align::kLeft, .is_flexible = true}});
  const std::size_t shown = std::min(options.top, rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [name, sums] = rows[i];
    table.add_row({duration_text(sums.cost_ns()), percent_text(path_share(sums.cost_ns(), all_ns)), name.second,
                   count_text(sums.count), size_text(sums.bytes), cleaned(name.first)});
  }
  table.print(page);
  if (shown < rows.size())
    page.line(fmt::format("  {} more: --top {} shows them all", rows.size() - shown, rows.size()));
  return page.text();
}

}  // namespace turnpike::report
