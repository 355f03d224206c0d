// The frames of PyTorch that mark a phase.
#include "analyze/model/phase.h"

#include <algorithm>

namespace turnpike::analyze {
namespace {

constexpr std::string_view kEvaluateFunction = "_ZN5torch8autograd6Engine17evaluate_function";

// `folder_or_file` as it stands below the folder that holds PyTorch.
bool is_in(std::string_view file, std::string_view folder_or_file) {
  const auto at = file.find(folder_or_file);
  return at != std::string_view::npos && (at == 0 || file[at - 1] == '/');
}

bool is_backward_entry(const trace::Frame& frame) {
  return (is_in(frame.file, "torch/autograd/graph.py") && frame.function.ends_with("_engine_run_backward")) ||
         (is_in(frame.file, "torch/_tensor.py") && frame.function.ends_with("backward")) ||
         (is_in(frame.file, "torch/autograd/__init__.py") &&
          (frame.function.ends_with("backward") || frame.function.ends_with("grad")));
}

// What torch.profiler puts into its list of operators besides them.
std::optional<Phase> phase_of_operator(const std::string& name) {
  if (name.starts_with("autograd::engine::evaluate_function")) return Phase::kBackward;
  if (name.starts_with("Optimizer.")) return Phase::kOptimizer;
  if (name.starts_with("enumerate(DataLoader)")) return Phase::kLoader;
  return std::nullopt;
}

std::optional<Phase> phase_of_native(const std::string& symbol) {
  if (symbol.starts_with(kEvaluateFunction)) return Phase::kBackward;
  if (symbol.starts_with("nn.Module: ")) return Phase::kForward;  // as torch.profiler names a call of a module
  return std::nullopt;
}

std::optional<Phase> phase_of_frame(const trace::Frame& frame) {
  if (frame.kind == trace::FrameKind::kNative) return phase_of_native(frame.function);
  if (frame.kind == trace::FrameKind::kOperator) return phase_of_operator(frame.function);
  if (is_backward_entry(frame)) return Phase::kBackward;
  if (is_in(frame.file, "torch/optim/") || is_in(frame.file, "torch/amp/grad_scaler.py") ||
      is_in(frame.file, "torch/nn/utils/clip_grad.py")) {
    return Phase::kOptimizer;
  }
  if (is_in(frame.file, "torch/utils/data/")) return Phase::kLoader;
  // Before Python 3.11 a function has no qualified name.
  if (is_in(frame.file, "torch/nn/modules/module.py") &&
      (frame.function.ends_with("_call_impl") || frame.function.ends_with("_wrapped_call_impl"))) {
    return Phase::kForward;
  }
  return std::nullopt;
}

}  // namespace

bool marks_phase(const trace::Frame& frame) {
  return phase_of_frame(frame).has_value();
}

std::optional<Phase> phase_of(std::span<const trace::Frame* const> frames, bool is_backward_thread) {
  std::optional<Phase> innermost;
  for (const trace::Frame* frame : frames) {
    const auto phase = phase_of_frame(*frame);
    if (!phase) continue;
    if (!innermost) innermost = phase;
    if (*innermost != Phase::kForward) return innermost;
    if (*phase == Phase::kBackward) return Phase::kBackward;
  }
  if (is_backward_thread) return Phase::kBackward;
  if (innermost) return innermost;
  // Operators alone do not tell a forward pass from anything else.
  const bool is_code_known = std::any_of(frames.begin(), frames.end(), [](const trace::Frame* frame) {
    return frame->kind != trace::FrameKind::kOperator;
  });
  return is_code_known ? std::optional(Phase::kOther) : std::nullopt;
}

}  // namespace turnpike::analyze
