#include "report/html/thread_titles.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "report/text/text_width.h"

namespace turnpike::report::html {
namespace {

constexpr std::size_t kMaxTitleWidth = 80;

std::string_view last_part(std::string_view text, char separator) {
  return text.substr(text.rfind(separator) + 1);
}

// What Python itself runs before the function of a thread.
bool starts_threads(const trace::Frame& frame) {
  constexpr std::array kStarters = {"_bootstrap", "_bootstrap_inner", "run", "_worker"};
  const std::filesystem::path file(frame.file);
  const bool is_of_library = file.filename() == "threading.py" ||
                             (file.filename() == "thread.py" && file.parent_path().filename() == "futures");
  return is_of_library &&
         std::find(kStarters.begin(), kStarters.end(), last_part(frame.function, '.')) != kStarters.end();
}

constexpr const char* kInFunction = ": ";

// "DataLoader's pin-memory thread", ": load_batches"; "" where the stack does not tell.
std::string work_of(const trace::Process& process, const trace::Stack& stack) {
  bool is_of_turnpike = false;
  for (auto id = stack.frames.rbegin(); id != stack.frames.rend(); ++id) {
    const auto found = process.frames.find(*id);
    if (found == process.frames.end()) continue;
    const trace::Frame& frame = found->second;
    if (frame.kind != trace::FrameKind::kPython) {
      const std::filesystem::path module(frame.file);
      is_of_turnpike = is_of_turnpike || (module.parent_path().filename() == "turnpike" &&
                                          module.filename().string().starts_with("_core."));
      continue;
    }
    if (starts_threads(frame)) continue;
    if (frame.function == "_pin_memory_loop") return "DataLoader's pin-memory thread";
    return kInFunction + frame.function;
  }
  return is_of_turnpike ? "turnpike's thread" : "";
}

}  // namespace

ThreadTitles::ThreadTitles(const trace::Process& process, const analyze::Timeline& timeline)
    : process_(process),
      timeline_(timeline),
      autograd_threads_(analyze::threads_named_for_autograd(process, timeline)) {
  for (const auto& [thread, name] : timeline.thread_names) ++threads_named_[name_of(thread)];
  constexpr int kMostStacks = 100;  // looked at, of a thread
  std::unordered_map<std::uint32_t, int> stacks_left;
  std::optional<std::uint32_t> done;  // the last thread of which nothing more is asked: often the next call is its too
  for (const analyze::Call& call : timeline.calls) {
    if (done == call.thread) continue;
    const auto [left, is_new] = stacks_left.try_emplace(call.thread, kMostStacks);
    if (is_new && (call.thread == process.pid || has_own_name(call.thread))) left->second = 0;
    if (left->second == 0) {
      done = call.thread;
      continue;
    }
    const auto stack = process.stacks.find(call.stack);
    if (!stack) continue;
    std::string& work = work_[call.thread];
    work = work_of(process, *stack);
    left->second = work.empty() ? left->second - 1 : 0;
  }
}

std::string ThreadTitles::of(std::uint32_t thread) const {
  const std::string id = std::to_string(thread);
  if (thread == process_.pid) return "main thread";
  if (autograd_threads_.contains(thread)) return "autograd thread " + id;
  if (has_own_name(thread)) {
    const std::string name = shortened_middle(cleaned(name_of(thread)), kMaxTitleWidth);
    return threads_named_.at(name_of(thread)) > 1 ? name + " " + id : name;
  }
  const auto work = work_.find(thread);
  if (work == work_.end() || work->second.empty()) return "thread " + id;
  const std::string text = shortened_middle(cleaned(work->second), kMaxTitleWidth);
  return text.starts_with(kInFunction) ? "thread " + id + text : text + " " + id;
}

bool ThreadTitles::has_own_name(std::uint32_t thread) const {
  const std::string name = name_of(thread);
  return !name.empty() && name != name_of(static_cast<std::uint32_t>(process_.pid));
}

std::string ThreadTitles::name_of(std::uint32_t thread) const {
  const auto found = timeline_.thread_names.find(thread);
  return found == timeline_.thread_names.end() ? "" : process_.string(found->second);
}

}  // namespace turnpike::report::html
