// The NVTX events of an export: ranges of the program, and the operators of PyTorch that
// torch.autograd.profiler.emit_nvtx and `nsys --pytorch` write as ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/nsys/export.h"
#include "ingest/nsys/stacks.h"

namespace turnpike::ingest {

// What is known of a thread at a moment.
struct OperatorsAt {
  OperatorChain chain = 0;
  trace::AutogradRole role = trace::AutogradRole::kUnknown;
  std::uint64_t sequence = 0;  // has meaning with a role
};

// A name as PyTorch gives it to NVTX: "aten::copy_, seq = 12, op_id = 314, sizes = [[8]]".
struct TorchName {
  std::string_view name;
  std::optional<std::uint64_t> sequence;  // number of the autograd node that comes next, or is being evaluated
};
// Nullopt for names that do not come from PyTorch.
std::optional<TorchName> torch_name(std::string_view text);

class NsysRanges {
 public:
  // Keeps both references.
  NsysRanges(NsysExport& from, NsysStacks& stacks) : export_(from), stacks_(stacks) {}

  // Ranges are kept until `give`: which processes used CUDA is not known yet.
  void read();
  OperatorsAt operators_at(std::int64_t global_thread, std::int64_t time_ns) const;
  // Gives the ranges of the processes that there are to their sinks. They are gone afterwards.
  void give();
  // Where threads of the processes that there are were, as far as operators tell: every so often, while one was open.
  void give_samples() const;
  // The names that the program gave to its threads.
  void give_thread_names() const;

 private:
  // A row; the text is valid while it is read.
  struct Event {
    std::int64_t start_ns;
    std::optional<std::int64_t> end_ns;
    std::int64_t start_thread;  // global ids
    std::optional<std::int64_t> end_thread;
    std::uint64_t domain;
    std::uint32_t color;
    std::optional<std::string_view> text;
    std::optional<std::int64_t> text_id;

    std::uint32_t name(NsysNames& names) const;
  };
  struct Range {
    std::int64_t start_ns;
    std::int64_t end_ns;
    std::int64_t start_thread;
    std::int64_t end_thread;
    std::uint64_t domain;
    std::uint32_t name;
    std::uint32_t color;
  };
  struct Operator {
    std::int64_t start_ns;
    std::int64_t end_ns;
    std::uint64_t sequence;
    std::uint32_t name;    // trace::kNoId: no operator but a node of autograd
    std::uint32_t around;  // index of the operator around it; kNone
    OperatorChain chain;
    trace::AutogradRole role;
  };
  struct ThreadName {
    std::int64_t thread;
    std::uint32_t name;
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  void keep_range(const Event& event);
  Operator operator_from(const Event& event, const TorchName& torch);
  std::int64_t sample_pitch_ns() const;
  static void count_own_nodes(std::vector<Operator>& operators);
  void nest(std::vector<Operator>& operators);

  NsysExport& export_;
  NsysStacks& stacks_;
  std::vector<Range> ranges_;
  std::unordered_map<std::int64_t, std::vector<Operator>> operators_;  // by global thread; by start
  std::unordered_map<InProcess, std::uint32_t, InProcessHash> domains_;
  std::vector<ThreadName> thread_names_;
};

}  // namespace turnpike::ingest
