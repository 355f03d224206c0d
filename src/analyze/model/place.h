// The place in the program that a call belongs to: the user's line, with the operator and the phase.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/report.h"
#include "trace/process.h"

namespace turnpike::analyze {

// What a stack says of a place. The forward line is not in it.
struct Place : Where {
  std::optional<std::string> inner_op{};
  std::vector<std::string> stack{};
  bool is_of_library = false;  // no line of the program led to it, and that shown is a library's
};

// The user's line is the innermost Python frame outside of installed packages and the standard library, else the
// innermost Python frame. Without Python: the innermost native frame that belongs to the program and not to CUDA,
// PyTorch or the C and C++ runtime; in a backward thread, where there is none, the autograd node ("ToCopyBackward0
// (libtorch_cpu.so)"). A stack of which nothing is known has the site `otherwise`. Where the source knows functions and
// not lines, `line` is empty and the site names the function: "train.py (train_step)".
Place place_of(std::span<const trace::Frame* const> frames, bool is_backward_thread, std::string_view otherwise);

// Whether a Python file belongs to an installed package or the standard library. A path that is not absolute does when
// its first part is the name of a well-known one.
bool is_library_file(std::string_view path);

}  // namespace turnpike::analyze
