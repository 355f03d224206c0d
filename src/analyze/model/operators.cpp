#include "analyze/model/operators.h"

#include "base/operator_name.h"

namespace turnpike::analyze {
namespace {

// What a frame runs; nullopt when it is no operator. torch.profiler's list of operators holds the nodes of a backward
// pass too, whose names are of one part ("AddmmBackward0") or of autograd: those are what runs operators.
std::optional<std::string> operator_of(const trace::Frame& frame) {
  if (frame.kind == trace::FrameKind::kOperator) {
    const std::string_view name = frame.function;
    const bool is_of_autograd = name.starts_with("autograd::") || name.starts_with("torch::autograd::");
    return is_of_autograd || name.find("::") == std::string_view::npos ? std::nullopt : std::optional(frame.function);
  }
  if (frame.kind != trace::FrameKind::kNative) return std::nullopt;
  const auto structure = operator_structure(frame.function);
  return structure ? std::optional(operator_name(*structure)) : std::nullopt;
}

}  // namespace

Operators operators_of(std::span<const trace::Frame* const> frames) {
  Operators found;
  for (const trace::Frame* frame : frames) {
    // In a trace of torch.profiler Python can stand between operators: what is outside of it was not called by it.
    if (frame->kind == trace::FrameKind::kPython && found.innermost) break;
    auto name = operator_of(*frame);
    if (!name) continue;
    if (!found.innermost) found.innermost = name;
    found.outermost = std::move(name);
  }
  return found;
}

}  // namespace turnpike::analyze
