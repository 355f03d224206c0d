// Names of kernels and frames, as cuDNN and PyTorch 2 give them.
#include "analyze/rules/model_signs.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "analyze/rules/samples.h"
#include "base/compiled_file.h"

namespace turnpike::analyze {
namespace {

using trace::Frame;

bool has_part(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

bool is_recurrent_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {"RNN_blockPersist", "RNN_elementWise", "RNNcell",
                                                      "LSTM_elementWise", "GRU_elementWise"};
  return std::any_of(kNames.begin(), kNames.end(), [=](std::string_view part) { return has_part(name, part); });
}

// Cells (nn.LSTMCell) stand in the same file; they are plain operators, which the compiler knows.
bool is_recurrent_frame(const Frame& frame) {
  constexpr std::array<std::string_view, 3> kOperators = {"aten::lstm", "aten::gru", "_cudnn_rnn"};
  constexpr std::array<std::string_view, 3> kLayers = {"LSTM.forward", "GRU.forward", "RNN.forward"};
  if (frame.kind != trace::FrameKind::kPython) {
    return std::any_of(kOperators.begin(), kOperators.end(),
                       [&](std::string_view name) { return has_part(frame.function, name); });
  }
  return has_part(frame.file, "torch/nn/modules/rnn.py") &&
         std::find(kLayers.begin(), kLayers.end(), frame.function) != kLayers.end();
}

// As Inductor names them.
bool is_compiled_kernel(std::string_view name) {
  return name.starts_with("triton_");
}

// Frames of torch/_dynamo alone say nothing: what is kept out of the compiler passes through it, too.
bool is_compiled_frame(const Frame& frame) {
  if (frame.is_compiled || has_part(frame.function, "CompiledFunction") ||
      has_part(frame.function, "Torch-Compiled Region")) {
    return true;
  }
  if (frame.kind != trace::FrameKind::kPython) return false;
  if (has_part(frame.file, "torch/_dynamo/eval_frame.py")) {
    return has_part(frame.function, "_TorchDynamoContext") || has_part(frame.function, "OptimizedModule");
  }
  return is_compiled_file(frame.file) || has_part(frame.file, "torch/_inductor/") ||
         has_part(frame.file, "torch/_functorch/_aot_autograd/");
}

struct Sign {
  bool (*is_kernel)(std::string_view name);
  bool (*is_frame)(const Frame& frame);
};

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Calls `visit` with each operation that is a kernel of these calls, and its call.
template <typename Visit>
void for_kernels(const ProcessModel& model, const Selection& calls, Visit visit) {
  for (const std::uint32_t call : calls) {
    for (const std::uint32_t index : model.operations_of(call)) {
      const Operation& operation = model.graph().operations[index];
      if (operation.kernel != kNone) visit(operation, model.call(call));
    }
  }
}

double share_of_kernels(const ProcessModel& model, const Selection& calls, const Sign& sign) {
  std::map<std::uint32_t, bool> has_sign;  // by name
  std::int64_t count = 0;
  std::int64_t time_ns = 0;
  std::int64_t all_count = 0;
  std::int64_t all_time_ns = 0;
  for_kernels(model, calls, [&](const Operation& operation, const Call&) {
    const std::uint32_t name = model.timeline().kernels[operation.kernel].name;
    const auto [entry, is_new] = has_sign.try_emplace(name, false);
    if (is_new) entry->second = sign.is_kernel(model.process().string(name));
    const std::int64_t duration_ns = operation.end_ns - operation.start_ns;
    ++all_count;
    all_time_ns += duration_ns;
    count += entry->second ? 1 : 0;
    time_ns += entry->second ? duration_ns : 0;
  });
  return std::max(share(count, all_count), share(time_ns, all_time_ns));
}

bool has_frame(const ProcessModel& model, std::uint32_t stack, const Sign& sign) {
  const auto found = model.process().stacks.find(stack);
  return found && std::any_of(found->frames.begin(), found->frames.end(), [&](std::uint32_t id) {
           const auto frame = model.process().frames.find(id);
           return frame != model.process().frames.end() && sign.is_frame(frame->second);
         });
}

double share_of_stacks(const ProcessModel& model, const std::vector<std::uint32_t>& stacks, const Sign& sign) {
  std::map<std::uint32_t, bool> has_sign;
  std::int64_t count = 0;
  for (const std::uint32_t stack : stacks) {
    const auto [entry, is_new] = has_sign.try_emplace(stack, false);
    if (is_new) entry->second = has_frame(model, stack, sign);
    count += entry->second ? 1 : 0;
  }
  return share(count, static_cast<std::int64_t>(stacks.size()));
}

std::vector<std::uint32_t> stacks_of_samples(const ProcessModel& model) {
  std::vector<std::uint32_t> stacks;
  for (const trace::SampleRecord& sample : model.timeline().samples) {
    if (!is_in_stretch(model, sample)) continue;
    const auto phase = model.place_of_stack(sample.stack).phase;
    if (phase != Phase::kOptimizer && phase != Phase::kLoader) stacks.push_back(sample.stack);
  }
  return stacks;
}

// Traces of other tools have them; where there is none, the launch has no sign.
std::vector<std::uint32_t> stacks_of_launches(const ProcessModel& model, const Selection& calls) {
  std::vector<std::uint32_t> stacks;
  for (const std::uint32_t index : calls) {
    const Call& call = model.call(index);
    if (call.kind == trace::CallKind::kLaunch) stacks.push_back(call.stack);
  }
  return stacks;
}

double share_of(const ProcessModel& model, const Selection& calls, const Sign& sign) {
  return std::max({share_of_kernels(model, calls, sign), share_of_stacks(model, stacks_of_samples(model), sign),
                   share_of_stacks(model, stacks_of_launches(model, calls), sign)});
}

}  // namespace

double recurrent_share(const ProcessModel& model, const Selection& calls) {
  return share_of(model, calls, {.is_kernel = is_recurrent_kernel, .is_frame = is_recurrent_frame});
}

double compiled_share(const ProcessModel& model, const Selection& calls) {
  return share_of(model, calls, {.is_kernel = is_compiled_kernel, .is_frame = is_compiled_frame});
}

double graph_share(const ProcessModel& model, const Selection& calls) {
  std::int64_t in_graphs = 0;
  std::int64_t all = 0;
  for_kernels(model, calls, [&](const Operation&, const Call& call) {
    ++all;
    in_graphs += call.kind == trace::CallKind::kGraphLaunch ? 1 : 0;
  });
  return share(in_graphs, all);
}

}  // namespace turnpike::analyze
