#include "report/text/path_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using analyze::CallPaths;
using analyze::kNoParent;
using analyze::PathCost;
using analyze::PathFrame;

// Less than this of all cost is summed up in one row.
constexpr double kMinShare = 0.01;

// The tree, with what hangs below each node.
class Tree {
 public:
  explicit Tree(const CallPaths& paths)
      : paths_(paths),
        cost_ns_(paths.nodes.size()),
        count_(paths.nodes.size()),
        children_(paths.nodes.size()),
        leaves_(paths.nodes.size()),
        all_ns_(path_cost_of_all(paths)) {
    for (std::uint32_t i = 0; i < paths.costs.size(); ++i) {
      const PathCost& cost = paths.costs[i];
      (cost.node == kNoParent ? leaves_without_line_ : leaves_[cost.node]).push_back(i);
      if (cost.node == kNoParent) continue;
      cost_ns_[cost.node] += cost.cost_ns();
      count_[cost.node] += cost.count;
    }
    // A parent stands before its children.
    for (std::size_t i = paths.nodes.size(); i-- > 0;) {
      const std::uint32_t parent = paths.nodes[i].parent;
      if (count_[i] == 0) continue;
      (parent == kNoParent ? roots_ : children_[parent]).push_back(static_cast<std::uint32_t>(i));
      if (parent == kNoParent) continue;
      cost_ns_[parent] += cost_ns_[i];
      count_[parent] += count_[i];
    }
  }

  std::vector<PathRow> rows() {
    put(all_ns_, 0, "all");
    add_below(roots_, leaves_without_line_, 1);
    return std::move(rows_);
  }

 private:
  const PathFrame& frame_of(std::uint32_t node) const { return paths_.frames[paths_.nodes[node].frame]; }

  // Where nothing has a cost, the tree ends at once: `--by` counts what there is.
  bool is_small(std::int64_t cost_ns) const {
    return cost_ns == 0 || static_cast<double>(cost_ns) < kMinShare * static_cast<double>(all_ns_);
  }

  void put(std::int64_t cost_ns, std::size_t depth, std::string text) {
    rows_.push_back({depth, cost_ns, path_share(cost_ns, all_ns_), std::move(text)});
  }

  // The last of the lines of one library that lead only to the next one; how many are left out before it.
  std::pair<std::uint32_t, std::size_t> end_of_chain(std::uint32_t node) const {
    std::size_t left_out = 0;
    while (children_[node].size() == 1 && leaves_[node].empty()) {
      const PathFrame& next = frame_of(children_[node].front());
      if (next.library.empty() || next.library != frame_of(node).library) break;
      node = children_[node].front();
      ++left_out;
    }
    return {node, left_out};
  }

  void add_node(std::uint32_t first, std::size_t depth) {
    const auto [node, left_out] = end_of_chain(first);
    const PathFrame& frame = frame_of(node);
    std::string text = cleaned(frame.site);
    if (!frame.function.empty()) text += " " + shortened_middle(cleaned(frame.function), 40);
    if (left_out > 0) text += fmt::format(" (behind {} more line{})", left_out, left_out == 1 ? "" : "s");
    put(cost_ns_[node], depth, text);
    add_below(children_[node], leaves_[node], depth + 1);
  }

  void add_leaf(const PathCost& cost, std::size_t depth) {
    const std::string bytes = cost.bytes > 0 ? ", " + size_text(cost.bytes) : "";
    put(cost.cost_ns(), depth,
        fmt::format("{}, {}: {} x{}", cleaned(cost.what), path_kind_text(cost.direction), count_text(cost.count),
                    bytes));
  }

  // Most cost first; the small ones together.
  void add_below(std::vector<std::uint32_t> nodes, const std::vector<std::uint32_t>& leaves, std::size_t depth) {
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return cost_ns_[a] > cost_ns_[b]; });
    std::size_t small_count = 0;
    std::int64_t small_ns = 0;
    const auto leave_out = [&](std::int64_t cost_ns) {
      ++small_count;
      small_ns += cost_ns;
    };
    for (const std::uint32_t node : nodes) is_small(cost_ns_[node]) ? leave_out(cost_ns_[node]) : add_node(node, depth);
    for (const std::uint32_t leaf : leaves) {
      const PathCost& cost = paths_.costs[leaf];
      is_small(cost.cost_ns()) ? leave_out(cost.cost_ns()) : add_leaf(cost, depth);
    }
    if (small_ns > 0) put(small_ns, depth, fmt::format("{} more, each below 1 %", count_text(small_count)));
  }

  const CallPaths& paths_;
  std::vector<PathRow> rows_;
  std::vector<std::int64_t> cost_ns_;
  std::vector<std::uint64_t> count_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::vector<std::uint32_t>> leaves_;
  std::vector<std::uint32_t> roots_;
  std::vector<std::uint32_t> leaves_without_line_;
  std::int64_t all_ns_;
};

}  // namespace

std::int64_t path_cost_of_all(const CallPaths& paths) {
  std::int64_t sum_ns = 0;
  for (const PathCost& cost : paths.costs) sum_ns += cost.cost_ns();
  return sum_ns;
}

std::optional<double> path_share(std::int64_t part_ns, std::int64_t all_ns) {
  if (all_ns <= 0) return std::nullopt;
  return 100.0 * static_cast<double>(part_ns) / static_cast<double>(all_ns);
}

const char* path_kind_text(std::optional<analyze::Direction> direction) {
  return direction ? words_for(*direction) : "sync";
}

std::vector<PathRow> path_rows(const CallPaths& paths) {
  return Tree(paths).rows();
}

}  // namespace turnpike::report
