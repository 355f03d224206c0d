// Chooses the frame to show among those of a stack.
#include "analyze/model/place.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "analyze/model/call_path.h"
#include "analyze/model/operators.h"
#include "analyze/model/phase.h"
#include "analyze/model/symbols.h"
#include "base/file_line.h"

namespace turnpike::analyze {
namespace {

using Frames = std::span<const trace::Frame* const>;
using trace::Frame;
using trace::FrameKind;

// Modules that stand between a program and its copies, by the start of their file's name.
constexpr std::array<std::string_view, 24> kPlumbing = {
    "libcupti",  "libcuda",    "libturnpike_record", "libtorch",    "libc10",      "libcublas", "libcudnn",
    "libnccl",   "libcufft",   "libcurand",          "libcusolver", "libcusparse", "libnvrtc",  "libnvJit",
    "libc.so",   "libpthread", "libstdc++",          "libgcc_s",    "libgomp",     "libc-",     "ld-linux",
    "libnvidia", "libm.so",    "libcaffe2"};

bool is_plumbing_module(std::string_view path) {
  const std::string_view name = file_name_of(path);
  return std::any_of(kPlumbing.begin(), kPlumbing.end(),
                     [=](std::string_view start) { return name.starts_with(start); });
}

// Names of the CUDA API inside a program that links the runtime statically: cudaMemcpy, cuMemcpyHtoD_v2.
bool is_cuda_name(std::string_view function) {
  const auto is_upper_at = [=](std::size_t at) {
    return function.size() > at && std::isupper(static_cast<unsigned char>(function[at])) != 0;
  };
  return (function.starts_with("cuda") && is_upper_at(4)) || (function.starts_with("cu") && is_upper_at(2)) ||
         function.starts_with("libcudart_static_");
}

const Frame* python_frame_to_show(Frames frames) {
  const Frame* innermost = nullptr;
  for (const Frame* frame : frames) {
    if (frame->kind != FrameKind::kPython) continue;
    if (!is_library_file(frame->file) && !is_wrapper(*frame)) return frame;
    if (innermost == nullptr) innermost = frame;
  }
  return innermost;
}

// Native frames that tell no module are functions of C that Python called, as torch.profiler names them.
const Frame* program_frame(Frames frames) {
  const auto found = std::find_if(frames.begin(), frames.end(), [](const Frame* frame) {
    return frame->kind == FrameKind::kNative && !frame->file.empty() && !is_plumbing_module(frame->file) &&
           !is_cuda_name(frame->function);
  });
  return found == frames.end() ? nullptr : *found;
}

// The frame of torch::autograd::generated::NODE::apply.
const Frame* autograd_node_frame(Frames frames) {
  const auto found = std::find_if(frames.begin(), frames.end(), [](const Frame* frame) {
    return frame->function.starts_with("_ZN5torch8autograd9generated") &&
           frame->function.find("5applyE") != std::string::npos;
  });
  return found == frames.end() ? nullptr : *found;
}

std::string node_name(const Frame& frame) {
  std::string name = short_function_name(frame.function);
  if (name.ends_with("::apply")) name.erase(name.size() - 7);
  const auto colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

void show_python(Place& place, const Frame& frame) {
  place.site = std::string(file_name_of(frame.file));
  place.file = frame.file;
  if (!frame.function.empty()) place.function = frame.function;
  if (frame.line != 0) {
    place.line = frame.line;
    place.site += ':' + std::to_string(frame.line);
  } else if (!frame.function.empty()) {
    // torch.profiler knows the function, and not the line in it.
    place.site += " (" + frame.function + ')';
  }
  if (frame.is_compiled) place.site += kCompiledMark;
}

// The innermost line of a library that `shown` led to.
std::optional<std::string> library_site_of(Frames frames, const Frame& shown) {
  for (const Frame* frame : frames) {
    if (frame == &shown) return std::nullopt;
    if (is_on_path(*frame)) return path_frame(*frame).site;
  }
  return std::nullopt;
}

void show_native(Place& place, const std::string& function, const Frame& frame) {
  const std::string module(file_name_of(frame.file));
  if (!function.empty()) place.function = function;
  place.site = function.empty() ? module : function + (module.empty() ? "" : " (" + module + ')');
}

void show_without_python(Place& place, Frames frames, bool is_backward_thread, std::string_view otherwise) {
  const Frame* program = program_frame(frames);
  const Frame* node = is_backward_thread ? autograd_node_frame(frames) : nullptr;
  if (program != nullptr) {
    show_native(place, short_function_name(program->function), *program);
  } else if (node != nullptr) {
    show_native(place, node_name(*node), *node);
  } else {
    place.site = place.op ? *place.op : std::string(otherwise);
  }
}

std::string line_in_stack(const Frame& frame) {
  if (frame.line != 0) return ':' + std::to_string(frame.line);
  return frame.first_line != 0 ? ", defined at line " + std::to_string(frame.first_line) : std::string();
}

std::vector<std::string> python_stack(Frames frames) {
  std::vector<std::string> lines;
  for (const Frame* frame : frames) {
    if (frame->kind != FrameKind::kPython) continue;
    const std::string line = line_in_stack(*frame);
    std::string& text = lines.emplace_back();
    text.reserve(frame->function.size() + frame->file.size() + line.size() + 3);
    text.append(frame->function).append(" (").append(frame->file).append(line).append(")");
  }
  return lines;
}

}  // namespace

bool is_library_file(std::string_view path) {
  return !library_file(path).library.empty();
}

Place place_of(Frames frames, bool is_backward_thread, std::string_view otherwise) {
  Place place;
  Operators operators = operators_of(frames);
  place.op = std::move(operators.outermost);
  place.inner_op = std::move(operators.innermost);
  place.phase = phase_of(frames, is_backward_thread);
  if (const Frame* python = python_frame_to_show(frames)) {
    show_python(place, *python);
    place.is_of_library = is_library_file(python->file) || is_wrapper(*python);
    place.library_site = library_site_of(frames, *python);
  } else {
    show_without_python(place, frames, is_backward_thread, otherwise);
  }
  place.stack = python_stack(frames);
  return place;
}

}  // namespace turnpike::analyze
