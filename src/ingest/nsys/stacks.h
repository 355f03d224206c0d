// Where in the code the calls of an export were made: the chains of CUDA_CALLCHAINS, joined with the operators of
// PyTorch that NVTX ranges name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ingest/nsys/export.h"
#include "trace/process.h"

namespace turnpike::ingest {

// Operators around a place, innermost first, as a number; 0 is none.
using OperatorChain = std::uint32_t;

class NsysStacks {
 public:
  // Keeps the reference.
  explicit NsysStacks(NsysExport& from) : export_(from) {}

  // Nsight Systems gives nearly every call a chain of its own, equal as they are: each content is kept once.
  void read_callchains();

  // The chain of `operator_name` inside of `around`.
  OperatorChain inside(OperatorChain around, std::uint32_t operator_name);

  // The stack of a call in this process; trace::kNoId when nothing is known. `callchain`: as the call's row has it.
  std::uint32_t stack_of(NsysProcess& process, std::optional<std::int64_t> callchain, OperatorChain operators);

 private:
  using FrameIds = std::vector<std::uint32_t>;
  struct Frame {
    trace::FrameKind kind;
    std::uint32_t function;
    std::uint32_t file;
    std::uint32_t line;
    auto operator<=>(const Frame&) const = default;
  };
  struct OperatorNode {
    OperatorChain around;
    std::uint32_t frame;
  };

  std::uint32_t frame_id(const Frame& frame);
  Frame frame_of(std::uint32_t symbol, std::uint32_t module, bool is_unresolved);
  void keep_chain(std::int64_t id, std::vector<std::pair<std::int64_t, std::uint32_t>>& frames_by_depth);
  FrameIds frames_of(std::uint32_t content, OperatorChain operators) const;
  void define_in(NsysProcess& process, std::uint32_t stack);

  NsysExport& export_;
  std::map<Frame, std::uint32_t> frame_ids_;
  std::vector<Frame> frames_;  // by id - 1
  std::map<FrameIds, std::uint32_t> content_ids_;
  std::vector<const FrameIds*> contents_;  // by id - 1; 0 is no chain
  std::unordered_map<std::int64_t, std::uint32_t> content_of_chain_;
  std::vector<OperatorNode> operators_;  // by chain - 1
  std::map<std::pair<OperatorChain, std::uint32_t>, OperatorChain> operator_chains_;
  std::map<std::pair<std::uint32_t, OperatorChain>, std::uint32_t> stack_ids_;
  std::vector<std::pair<std::uint32_t, OperatorChain>> stacks_;  // by id - 1
};

// A symbol as Nsight Systems shows it ("at::native::copy_(at::Tensor&, bool)") as the linker would begin it
// ("_ZN2at6native5copy_E"), which is how frames name functions; parameters are left out. Names that are no plain
// qualified ones are kept as they are.
std::string linker_name(std::string_view symbol);

}  // namespace turnpike::ingest
