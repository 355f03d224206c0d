// Launches carry no stack: the sample beside each tells which functions it was made in.
#include "analyze/rules/own_function.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analyze/model/call_path.h"
#include "analyze/model/place.h"
#include "analyze/model/symbols.h"
#include "analyze/rules/samples.h"

namespace turnpike::analyze {
namespace {

using trace::SampleRecord;

// A function that makes fewer of the launches is not the model.
constexpr double kMostLaunches = 0.5;

// Of a frame of the program's own that stands below a `def`: nothing can be written above a lambda or a file's code.
std::optional<OwnFunction> own_function(const trace::Frame& frame) {
  if (frame.kind != trace::FrameKind::kPython || is_library_file(frame.file) || is_wrapper(frame)) return std::nullopt;
  OwnFunction function{.file = frame.file, .first_line = frame.first_line, .qualified_name = frame.function};
  if (function.name().empty() || function.name().starts_with('<')) return std::nullopt;
  return function;
}

// Of a stack, innermost first.
using Functions = std::vector<OwnFunction>;

Functions functions_on(const ProcessModel& model, std::uint32_t stack) {
  Functions functions;
  const auto frames = model.process().stacks.find(stack);
  if (!frames) return functions;
  for (const std::uint32_t id : frames->frames) {
    const auto frame = model.process().frames.find(id);
    if (frame == model.process().frames.end()) continue;
    auto function = own_function(frame->second);
    const bool is_new = function && std::find(functions.begin(), functions.end(), *function) == functions.end();
    if (is_new) functions.push_back(std::move(*function));
  }
  return functions;
}

// What samples say, with each stack looked at once.
class SampledFunctions {
 public:
  explicit SampledFunctions(const ProcessModel& model) : model_(model) {}

  const Functions& on(std::uint32_t stack) {
    const auto [entry, is_new] = by_stack_.try_emplace(stack);
    if (is_new) entry->second = functions_on(model_, stack);
    return entry->second;
  }
  // Calls `visit` with the stack beside each launch that the program's own code makes.
  template <typename Visit>
  void for_own_launches(Visit visit) const {
    for (std::uint32_t index = 0; index < model_.graph().calls.size(); ++index) {
      const Call& call = model_.call(index);
      if (call.kind != trace::CallKind::kLaunch || model_.is_autograd_thread(call.thread)) continue;
      const SampleRecord* sample = nearest_sample(model_.timeline().samples, call.thread, call.start_ns);
      if (sample != nullptr && model_.place_of_stack(sample->stack).phase == Phase::kOther) visit(sample->stack);
    }
  }
  // Those that are entered again after a sample without them.
  std::set<OwnFunction> entered_again() {
    std::map<std::pair<std::uint32_t, OwnFunction>, std::size_t> last_seen;
    std::set<OwnFunction> found;
    std::size_t at = 0;
    for (const SampleRecord& sample : model_.timeline().samples) {
      if (!is_in_stretch(model_, sample)) continue;
      ++at;
      for (const OwnFunction& function : on(sample.stack)) {
        const auto [seen, is_new] = last_seen.try_emplace({sample.thread, function}, at);
        if (!is_new && seen->second + 1 < at) found.insert(function);
        seen->second = at;
      }
    }
    return found;
  }
  // Those in which more runs than launches of their own: a step of training, or the loop.
  std::set<OwnFunction> with_training() {
    std::set<OwnFunction> found;
    for (const SampleRecord& sample : model_.timeline().samples) {
      const auto phase = model_.place_of_stack(sample.stack).phase;
      const bool is_training = phase == Phase::kBackward || phase == Phase::kOptimizer || phase == Phase::kLoader;
      if (is_training && is_in_stretch(model_, sample)) found.insert(on(sample.stack).begin(), on(sample.stack).end());
    }
    return found;
  }

 private:
  const ProcessModel& model_;
  std::map<std::uint32_t, Functions> by_stack_;
};

}  // namespace

std::string OwnFunction::site() const {
  const std::string name(file_name_of(file));
  return first_line == 0 ? name : name + ':' + std::to_string(first_line);
}

bool has_no_modules(const ProcessModel& model) {
  const std::vector<SampleRecord>& samples = model.timeline().samples;
  const auto is_forward = [](const Place& place) { return place.phase == Phase::kForward; };
  const auto counts = [&](const SampleRecord& sample) { return is_in_stretch(model, sample); };
  return std::any_of(samples.begin(), samples.end(), counts) &&
         std::none_of(samples.begin(), samples.end(),
                      [&](const SampleRecord& sample) { return is_forward(model.place_of_stack(sample.stack)); }) &&
         std::none_of(model.timeline().calls.begin(), model.timeline().calls.end(), [&](const Call& call) {
           return call.stack != trace::kNoId && is_forward(model.facts(call).place);
         });
}

std::optional<OwnFunction> launching_function(const ProcessModel& model) {
  SampledFunctions sampled(model);
  const std::set<OwnFunction> entered_again = sampled.entered_again();
  const std::set<OwnFunction> with_training = sampled.with_training();
  std::size_t launches = 0;
  std::map<OwnFunction, std::size_t> counts;
  const OwnFunction* most = nullptr;
  sampled.for_own_launches([&](std::uint32_t stack) {
    ++launches;
    // Outermost last, so that of two with equally many launches the caller wins.
    for (const OwnFunction& function : sampled.on(stack)) {
      if (!entered_again.contains(function) || with_training.contains(function)) continue;
      const auto counted = counts.try_emplace(function, 0).first;
      ++counted->second;
      if (most == nullptr || counted->second >= counts[*most]) most = &counted->first;
    }
  });
  const bool is_most =
      most != nullptr && static_cast<double>(counts[*most]) >= kMostLaunches * static_cast<double>(launches);
  return is_most ? std::optional(*most) : std::nullopt;
}

std::optional<OwnFunction> innermost_launching_function(const ProcessModel& model) {
  SampledFunctions sampled(model);
  std::map<std::optional<OwnFunction>, std::size_t> counts;
  sampled.for_own_launches([&](std::uint32_t stack) {
    const Functions& functions = sampled.on(stack);
    ++counts[functions.empty() ? std::nullopt : std::optional(functions.front())];
  });
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::nullopt : most->first;
}

bool is_on_stack(const ProcessModel& model, const OwnFunction& function, std::uint32_t stack) {
  const Functions functions = functions_on(model, stack);
  return std::find(functions.begin(), functions.end(), function) != functions.end();
}

}  // namespace turnpike::analyze
