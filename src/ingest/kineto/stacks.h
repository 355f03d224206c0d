// Stacks for calls from the operators and functions that enclose them on their thread.
//
// A trace of torch.profiler holds no stacks but a tree of spans in time. The stack of a call is what is open when it
// starts; where the profiler did not trace Python, that is operators alone. Memory: 24 bytes for each span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "trace/format.h"
#include "trace/process.h"

namespace turnpike::ingest {

inline constexpr std::uint32_t kNoMark = std::numeric_limits<std::uint32_t>::max();

// One operator or function of Python while it ran.
struct HostSpan {
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t frame;
  std::uint32_t mark = kNoMark;  // of autograd, where the operator carries one
};

// What an operator tells of autograd.
struct AutogradMark {
  trace::AutogradRole role;
  std::uint64_t sequence;  // as trace::CallRecord has it
};

// The stacks of one process: chains of frames, each kept once.
class StackTree {
 public:
  // The chain that leads through `frame` below `parent` (0: none); not a stack yet.
  std::uint32_t child(std::uint32_t parent, std::uint32_t frame);
  // Makes the chain a stack with its own number as id.
  void use(std::uint32_t node) { nodes_[node].is_used = true; }
  // Writes the chains in use to the process; gives how many were cut to `kMaxDepth` frames.
  std::uint64_t write_to(trace::Process& process) const;

  static constexpr std::size_t kMaxDepth = 512;

 private:
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t frame = 0;
    bool is_used = false;
  };
  std::vector<Node> nodes_{Node{}};
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
};

// Walks the spans of one thread along with moments that come in order.
class OpenSpans {
 public:
  // Keeps references. The spans are sorted by start, the outer ones first.
  OpenSpans(std::span<const HostSpan> spans, const std::vector<AutogradMark>& marks, StackTree& tree)
      : spans_(spans), marks_(marks), tree_(tree) {}

  void move_to(std::int64_t time_ns);
  // Of what is open now; kNoId when nothing is.
  std::uint32_t stack();
  // In a backward pass the node that is evaluated, also where operators inside have marks of the forward pass (hooks,
  // checkpoints that compute again). nullptr: no operator tells.
  const AutogradMark* mark() const;

 private:
  struct Open {
    std::int64_t end_ns;
    std::uint32_t frame;
    std::uint32_t mark;
    std::uint32_t node = 0;  // 0: not asked for yet
  };

  std::span<const HostSpan> spans_;
  const std::vector<AutogradMark>& marks_;
  StackTree& tree_;
  std::size_t next_ = 0;
  std::vector<Open> open_;
};

// Sorts spans by start, outer ones first. Quick for what is made of few sorted runs, as the files are.
void sort_spans(std::vector<HostSpan>& spans);

}  // namespace turnpike::ingest
