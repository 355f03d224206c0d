// The sweep over nested spans, and the tree that their chains form.
#include "ingest/kineto/stacks.h"

#include <algorithm>
#include <tuple>

namespace turnpike::ingest {
namespace {

bool is_outer_or_earlier(const HostSpan& a, const HostSpan& b) {
  return std::tie(a.start_ns, b.end_ns) < std::tie(b.start_ns, a.end_ns);
}

using SpanIterator = std::vector<HostSpan>::iterator;

// Where each sorted run starts, and the end.
std::vector<SpanIterator> runs_of(std::vector<HostSpan>& spans) {
  std::vector<SpanIterator> starts{spans.begin()};
  while (starts.back() != spans.end()) {
    starts.push_back(std::is_sorted_until(starts.back(), spans.end(), is_outer_or_earlier));
  }
  return starts;
}

}  // namespace

void sort_spans(std::vector<HostSpan>& spans) {
  constexpr std::size_t kFewRuns = 64;
  std::vector<SpanIterator> starts = runs_of(spans);
  if (starts.size() > kFewRuns) {
    std::stable_sort(spans.begin(), spans.end(), is_outer_or_earlier);
    return;
  }
  while (starts.size() > 2) {
    std::vector<SpanIterator> merged;
    for (std::size_t i = 0; i + 1 < starts.size(); i += 2) {
      merged.push_back(starts[i]);
      if (i + 2 < starts.size()) std::inplace_merge(starts[i], starts[i + 1], starts[i + 2], is_outer_or_earlier);
    }
    merged.push_back(spans.end());
    starts = std::move(merged);
  }
}

std::uint32_t StackTree::child(std::uint32_t parent, std::uint32_t frame) {
  const auto [entry, is_new] =
      children_.try_emplace(std::uint64_t{parent} << 32 | frame, static_cast<std::uint32_t>(nodes_.size()));
  if (is_new) nodes_.push_back({.parent = parent, .frame = frame});
  return entry->second;
}

std::uint64_t StackTree::write_to(trace::Process& process) const {
  std::uint64_t truncated_count = 0;
  std::vector<std::uint32_t> frames;
  for (std::uint32_t id = 1; id < nodes_.size(); ++id) {
    if (!nodes_[id].is_used) continue;
    frames.clear();
    bool is_truncated = false;
    for (std::uint32_t node = id; node != 0 && !is_truncated; node = nodes_[node].parent) {
      if (frames.size() < kMaxDepth) {
        frames.push_back(nodes_[node].frame);
      } else {
        is_truncated = true;
      }
    }
    process.stacks.set(id, frames, is_truncated);
    truncated_count += is_truncated ? 1 : 0;
  }
  return truncated_count;
}

void OpenSpans::move_to(std::int64_t time_ns) {
  const auto close_until = [this](std::int64_t now_ns) {
    while (!open_.empty() && open_.back().end_ns <= now_ns) open_.pop_back();
  };
  for (; next_ < spans_.size() && spans_[next_].start_ns <= time_ns; ++next_) {
    const HostSpan& span = spans_[next_];
    close_until(span.start_ns);
    std::uint32_t mark = open_.empty() ? kNoMark : open_.back().mark;
    const bool is_in_backward = mark != kNoMark && marks_[mark].role == trace::AutogradRole::kBackward;
    const bool is_mark_of_backward = span.mark != kNoMark && marks_[span.mark].role == trace::AutogradRole::kBackward;
    if (span.mark != kNoMark && (!is_in_backward || is_mark_of_backward)) mark = span.mark;
    open_.push_back({.end_ns = span.end_ns, .frame = span.frame, .mark = mark});
  }
  close_until(time_ns);
}

std::uint32_t OpenSpans::stack() {
  if (open_.empty()) return trace::kNoId;
  // From the innermost that is known: what is open below has been asked for before, mostly.
  std::size_t known = open_.size();
  while (known > 0 && open_[known - 1].node == 0) --known;
  std::uint32_t node = known == 0 ? 0 : open_[known - 1].node;
  for (; known < open_.size(); ++known) {
    node = tree_.child(node, open_[known].frame);
    open_[known].node = node;
  }
  tree_.use(node);
  return node;
}

const AutogradMark* OpenSpans::mark() const {
  return open_.empty() || open_.back().mark == kNoMark ? nullptr : &marks_[open_.back().mark];
}

}  // namespace turnpike::ingest
