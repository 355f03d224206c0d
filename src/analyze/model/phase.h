// Which part of training a call belongs to, from the frames that led to it.
#pragma once

#include <optional>
#include <span>

#include "analyze/report.h"
#include "trace/process.h"

namespace turnpike::analyze {

// The innermost frame that tells decides, with one exception: a forward frame that runs inside a backward pass (a hook,
// a checkpoint that computes its forward part again) is backward. An optimizer or a loader inside a backward pass is
// not. `is_backward_thread`: the call was made by an autograd thread, or while PyTorch evaluated a node. nullopt: no
// frames but operators, and nothing else that tells.
std::optional<Phase> phase_of(std::span<const trace::Frame* const> frames, bool is_backward_thread);

// Whether phase_of() looks at a frame.
bool marks_phase(const trace::Frame& frame);

}  // namespace turnpike::analyze
