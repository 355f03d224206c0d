#include "guard/place.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>

#include "base/compiled_file.h"
#include "base/hot.h"
#include "base/installed_file.h"
#include "base/site_pattern.h"
#include "guard/tables_mutex.h"
#include "record/stacks/python_end.h"
#include "record/stacks/python_stack.h"

namespace turnpike::guard {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Files of installed packages, of the standard library, of Turnpike itself, and what PyTorch's compiler has written.
bool is_of_library(const std::string& file) {
  return is_installed_file(file) || has(file, "/python/turnpike/") || has(file, "/turnpike/_guard/") ||
         has(file, "/turnpike/_move/") || file.starts_with("<frozen ") || is_compiled_file(file);
}

// Frames below which PyTorch's compiler works for itself. Those of a compiled function at work are not among them.
struct CompilerFrame {
  std::string_view file;
  std::string_view function;  // part of its name; empty: any
};
constexpr CompilerFrame kCompilerFrames[] = {
    {"/torch/_dynamo/convert_frame.py", ""},
    {"/torch/_inductor/select_algorithm.py", ""},
    {"/torch/_inductor/autotune_process.py", ""},
    {"/torch/_inductor/runtime/benchmarking.py", ""},
    {"/torch/_inductor/runtime/triton_heuristics.py", "benchmark"},
    {"/torch/_inductor/runtime/triton_heuristics.py", "autotune"},
    {"/torch/_inductor/runtime/triton_heuristics.py", "precompile"},
    {"/torch/_inductor/cudagraph_trees.py", "_record"},
    {"/torch/_inductor/cudagraph_trees.py", "__init__"},
    {"/torch/_inductor/cudagraph_trees.py", "record_function"},
    {"/torch/_inductor/cudagraph_trees.py", "run_eager"},
    {"/triton/testing.py", "do_bench"},
    {"/triton/runtime/autotuner.py", "_bench"},
};

bool is_of_compiler(const record::PythonFrameText& frame) {
  return std::any_of(std::begin(kCompilerFrames), std::end(kCompilerFrames), [&](const CompilerFrame& one) {
    return frame.file.ends_with(one.file) && has(frame.function, one.function);
  });
}

std::vector<record::PythonFrameText> frames_of(const record::PythonStack& stack) {
  std::vector<record::PythonFrameText> frames(stack.count);
  for (std::uint32_t i = 0; i < stack.count; ++i) record::describe(stack.frames[i], frames[i]);
  return frames;
}

Place make_place(std::vector<record::PythonFrameText> frames) {
  Place place;
  place.frames = std::move(frames);
  if (place.frames.empty()) return place;
  place.is_own_move = has(place.frames.front().file, "/turnpike/_move/");
  auto site = std::find_if(place.frames.begin(), place.frames.end(),
                           [](const record::PythonFrameText& frame) { return !is_of_library(frame.file); });
  // An installed program is a library, too: then the line that called PyTorch.
  if (site == place.frames.end()) {
    site = std::find_if(place.frames.begin(), place.frames.end(),
                        [](const record::PythonFrameText& frame) { return !has(frame.file, "/torch/"); });
  }
  if (site == place.frames.end()) site = place.frames.begin();
  place.file = site->file;
  place.line = site->line;
  place.function = site->function;
  place.is_compiling = std::any_of(place.frames.begin(), place.frames.end(), is_of_compiler);
  return place;
}

// Puts a place that the table has no room for into a place of the calling thread.
const Place& unkept(Place made, Place& here) {
  here = std::move(made);
  here.number = kMaxPlaces;
  return here;
}

// Those that are kept, by the hash of the stack. With tables_mutex().
using Places = std::unordered_map<std::uint64_t, std::unique_ptr<Place>>;
Places& places() {
  static auto& all = *new Places;  // threads may outlive main
  return all;
}

const Place* known_place(std::uint64_t hash) {
  const std::lock_guard lock(tables_mutex());
  const auto known = places().find(hash);
  return known == places().end() ? nullptr : known->second.get();
}

[[gnu::noinline, gnu::cold]] const Place& keep_place(const record::PythonStack& stack, Place& here) {
  if (const Place* known = known_place(stack.hash)) return *known;
  auto place = std::make_unique<Place>(make_place(frames_of(stack)));
  const std::lock_guard lock(tables_mutex());
  if (places().size() >= kMaxPlaces) return unkept(std::move(*place), here);
  place->number = static_cast<std::uint32_t>(places().size());
  return *places().try_emplace(stack.hash, std::move(place)).first->second;
}

}  // namespace

std::string Place::site() const {
  if (file.empty()) return {};
  const std::string name = file.substr(file.rfind('/') + 1);
  return line == 0 ? name : name + ':' + std::to_string(line);
}

bool Place::matches(std::string_view pattern) const {
  return std::any_of(frames.begin(), frames.end(), [&](const record::PythonFrameText& frame) {
    return matches_place(pattern, frame.file, std::to_string(frame.line), frame.function);
  });
}

TURNPIKE_HOT PlaceLately& PlacesLately::find(std::uintptr_t& evaluator) {
  record::watch_python_end();
  const bool is_main = record::is_main_thread();
  const record::PythonStays stays(!is_main);
  record::PythonStack stack;
  record::walk_python_stack(stack, is_main || stays.holds());
  evaluator = stack.evaluator;
  PlaceLately& at = places_[stack.hash % kCount];
  if (at.place != nullptr && at.hash == stack.hash) return at;
  return enter(at, stack.hash, keep_place(stack, unkept_));
}

[[gnu::cold]] PlaceLately& PlacesLately::enter(PlaceLately& at, std::uint64_t hash, const Place& place) noexcept {
  PlaceLately& entry = place.is_kept() ? at : places_.back();
  entry = {.hash = hash, .place = &place, .is_usual = !place.is_compiling && !place.is_own_move};
  return entry;
}

}  // namespace turnpike::guard
