// A loop as PyTorch's users write it: a model of 60 kernels, an optimizer of 8, and 200 us of Python of the loop's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {

inline const std::string kTorch = "/opt/lib/python3.12/site-packages/torch/";

struct Loop {
  enum class Code : std::uint8_t { kModule, kFunction, kLineOfLoop };

  int steps = 10;
  Code code = Code::kModule;
  int reads_in_model = 0;   // a step
  int optimizer_every = 1;  // steps; 0: none
  std::int64_t optimizer_ns = 80 * kUs;
  const char* optimizer_kernel = "multi_tensor_apply_kernel";
  const char* model_kernel = "_Z6kernelv";
  std::vector<std::string> other_kernels{};  // in place of the model's first ones
  std::vector<trace::Frame> inner_frames{};  // of the model's samples, innermost first
  std::vector<trace::Frame> outer_frames{};  // of the model and the optimizer, between main and them
  int launches_per_sample = 1;               // another one in each step
  bool are_kernels_many_in_odd_steps = false;
  std::string torch_version{};
};

inline trace::Frame python_frame(const std::string& function, const std::string& file, std::uint32_t first_line,
                                 std::uint32_t line = 0) {
  return {.kind = trace::FrameKind::kPython,
          .function = function,
          .file = file,
          .line = line == 0 ? first_line + 2 : line,
          .first_line = first_line};
}

// Frames by which the model is known, innermost first.
inline std::vector<trace::Frame> frames_of_model(const Loop& loop) {
  std::vector<trace::Frame> frames = loop.inner_frames;
  if (loop.code == Loop::Code::kModule) {
    frames.push_back(python_frame("Net.forward", "/home/me/net.py", 7));
    frames.push_back(python_frame("Module._call_impl", kTorch + "nn/modules/module.py", 1783));
  } else if (loop.code == Loop::Code::kFunction) {
    frames.push_back(python_frame("layer", "/home/me/net.py", 3));
    frames.push_back(python_frame("Net.__init__.<locals>.predict", "/home/me/net.py", 12));
  }
  frames.insert(frames.end(), loop.outer_frames.begin(), loop.outer_frames.end());
  return frames;
}

inline std::vector<trace::Frame> frames_of_optimizer(const Loop& loop) {
  std::vector<trace::Frame> frames = {python_frame("Adam.step", kTorch + "optim/adam.py", 5)};
  frames.insert(frames.end(), loop.outer_frames.begin(), loop.outer_frames.end());
  return frames;
}

inline StepProgram loop_program(const Loop& loop) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  if (!loop.torch_version.empty()) builder.process().metadata["torch_version"] = loop.torch_version;
  std::uint32_t frame_id = 10'000;
  const auto stack_of = [&](std::vector<std::uint32_t> ids, std::vector<trace::Frame> frames, std::uint32_t line) {
    frames.push_back(python_frame("main", "/home/me/train.py", 4, line));
    for (const trace::Frame& frame : frames) {
      builder.process().frames[++frame_id] = frame;
      ids.push_back(frame_id);
    }
    return builder.stack(ids);
  };
  const std::uint32_t in_model = stack_of({}, frames_of_model(loop), 20);
  const std::uint32_t in_optimizer = stack_of({}, frames_of_optimizer(loop), 30);
  const std::uint32_t in_loop = stack_of({}, {}, 40);
  const std::uint32_t read = stack_of({builder.op("copy_"), builder.op("item")}, frames_of_model(loop), 20);
  int launches = 0;
  const auto is_sampled = [&] { return launches++ % loop.launches_per_sample == 0; };
  const auto kernel_name = [&](int index) {
    const auto at = static_cast<std::size_t>(index);
    return at < loop.other_kernels.size() ? loop.other_kernels[at] : std::string(loop.model_kernel);
  };
  program.steps(loop.steps, [&](int step) {
    const int kernels = loop.are_kernels_many_in_odd_steps && step % 2 == 1 ? 90 : 60;
    for (int i = 0; i < kernels; ++i) {
      program.work(10 * kUs);
      if (is_sampled()) program.sample(in_model);
      program.kernel(2 * kUs, 0, kernel_name(i));
      if (i < loop.reads_in_model)
        program.download({.stack = read, .bytes = 4, .duration_ns = 2 * kUs, .wait = Wait::kInCall});
    }
    const bool is_updated = loop.optimizer_every != 0 && step % loop.optimizer_every == 0;
    for (int i = 0; is_updated && i < 8; ++i) {
      program.work(loop.optimizer_ns / 8);
      if (is_sampled()) program.sample(in_optimizer);
      program.kernel(2 * kUs, 0, loop.optimizer_kernel);
    }
    program.work(100 * kUs);
    program.sample(in_loop);
    program.work(100 * kUs);
  });
  return program;
}

}  // namespace turnpike::analyze
