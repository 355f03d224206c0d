// The stacks of a recording: captured on the calling thread, each kept once and known by a number.
#include "record/stacks/stack_table.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

#include "record/stacks/loaded_module.h"
#include "record/stacks/mix.h"
#include "record/stacks/python_end.h"
#include "record/stacks/python_runtime.h"

namespace turnpike::record {
namespace {

constexpr std::size_t kMaxStacks = 128 * 1024;
// 65536 walks. One that is forgotten is entered again under its old number.
constexpr std::size_t kNumberSetsLog2 = 14;

struct ThreadState {
  bool is_inside;
};
static_assert(std::is_trivially_destructible_v<ThreadState>);
thread_local ThreadState t_state;

class Inside {
 public:
  explicit Inside(ThreadState& state) : state_(state) { state_.is_inside = true; }
  ~Inside() { state_.is_inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  ThreadState& state_;
};

void count(std::atomic<std::uint64_t>& counter) noexcept {
  counter.fetch_add(1, std::memory_order_relaxed);
}

void append(std::vector<std::byte>& payload, const trace::FrameEntry& entry) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&entry);
  payload.insert(payload.end(), bytes, bytes + sizeof(entry));
}

// Each entry of a payload starts at a multiple of 8.
std::size_t stack_bytes(std::uint32_t frame_count) {
  return (sizeof(trace::StackEntry) + frame_count * sizeof(std::uint32_t) + 7) & ~std::size_t{7};
}

}  // namespace

std::size_t StackTable::FrameKeyHash::operator()(const FrameKey& key) const noexcept {
  return mix(mix(mix(kHashSeed, key[0]), key[1]), key[2]);
}

StackTable::StackTable(StringTable& strings, bool walks_native, StackMemory memory) noexcept
    : strings_(strings),
      unwind_table_(Omit::kOwnAndDriver),
      walks_native_(walks_native),
      numbers_(kNumberSetsLog2),
      frames_(memory.frames, StackMemory::kFramesBytes),
      stack_log_(memory.stacks, StackMemory::kStacksBytes) {}

std::uint32_t StackTable::capture() noexcept {
  ThreadState& thread = t_state;
  if (thread.is_inside) {
    count(not_walked_);
    return trace::kNoId;
  }
  const Inside inside(thread);
  if (unknown_python() != nullptr) count(without_python_);
  // Until the stack is entered, which reads the names of its frames.
  const PythonStays stays(!is_main_thread());
  PythonStack python;
  NativeStack native;
  walk_python_stack(python, stays.holds());
  if (walks_native_) {
    unwind_table_.walk(python.evaluator, native);
  } else {
    native.count = 0;
    native.is_truncated = false;
    native.hash = kHashSeed;
    count(without_native_);
  }
  if (python.count == 0 && native.count == 0) {
    count(not_walked_);
    return trace::kNoId;
  }
  const bool is_truncated = python.is_truncated || native.is_truncated;
  if (is_truncated) count(truncated_);
  const std::uint64_t hash = mix(mix(python.hash, native.hash), is_truncated ? 3 : 1);
  std::uint64_t number = 0;
  if (numbers_.find(hash, number)) return static_cast<std::uint32_t>(number);
  return enter(python, native, hash);
}

std::uint32_t StackTable::enter(const PythonStack& python, const NativeStack& native, std::uint64_t hash) noexcept {
  try {
    std::array<std::uint32_t, kMaxNativeFrames + kMaxPythonFrames> ids;
    std::uint32_t id_count = 0;
    const std::lock_guard lock(mutex_);
    for (std::uint32_t i = 0; i < native.count; ++i) ids[id_count++] = native_frame(native.return_addresses[i]);
    PythonFrameText text;
    for (std::uint32_t i = 0; i < python.count; ++i) {
      describe(python.frames[i], text);
      ids[id_count++] = python_frame(text);
    }
    const bool is_complete = std::find(ids.begin(), ids.begin() + id_count, trace::kNoId) == ids.begin() + id_count;
    const std::uint16_t flags = python.is_truncated || native.is_truncated ? trace::kStackIsTruncated : 0;
    const std::uint32_t number = is_complete ? enter_frames(flags, ids.data(), id_count) : trace::kNoId;
    if (number == trace::kNoId) {
      count(full_);
    } else {
      numbers_.insert(hash, number);
    }
    return number;
  } catch (const std::bad_alloc&) {
    count(full_);
    return trace::kNoId;
  }
}

std::uint32_t StackTable::enter_frames(std::uint16_t flags, const std::uint32_t* frames, std::uint32_t frame_count) {
  std::uint64_t hash = mix(kHashSeed, flags);
  for (std::uint32_t i = 0; i < frame_count; ++i) hash = mix(hash, frames[i]);
  std::uint32_t& first = stack_ids_[hash];
  for (std::uint32_t id = first; id != trace::kNoId; id = stacks_[id - 1].next) {
    const Stack& stack = stacks_[id - 1];
    if (stack.flags == flags && stack.frame_count == frame_count &&
        std::equal(frames, frames + frame_count, frames_at(stack.first_byte))) {
      return id;
    }
  }
  const std::size_t bytes = stack_bytes(frame_count);
  std::byte* to = stacks_.size() == kMaxStacks ? nullptr : stack_log_.reserve(bytes);
  if (to == nullptr) return trace::kNoId;
  const auto id = static_cast<std::uint32_t>(stacks_.size() + 1);
  const trace::StackEntry entry{id, static_cast<std::uint16_t>(frame_count), flags};
  std::memcpy(to, &entry, sizeof(entry));
  if (frame_count != 0) std::memcpy(to + sizeof(entry), frames, frame_count * sizeof(std::uint32_t));
  stacks_.push_back({static_cast<std::uint32_t>(stack_log_.size()), entry.frame_count, flags, first});
  stack_log_.publish(bytes);
  first = id;
  return id;
}

const std::uint32_t* StackTable::frames_at(std::size_t stack_byte) noexcept {
  return reinterpret_cast<const std::uint32_t*>(stack_log_.data() + stack_byte + sizeof(trace::StackEntry));
}

bool StackTable::are_named(std::span<const std::uint32_t> frames) const noexcept {
  return std::all_of(frames.begin(), frames.end(), [this](std::uint32_t id) { return id <= named_frames_; });
}

// Of the log from `byte` on, up to the first stack that has a frame without a name.
std::size_t StackTable::named_bytes_from(std::size_t byte) noexcept {
  std::size_t end = byte;
  while (end < stack_log_.size()) {
    trace::StackEntry entry;
    std::memcpy(&entry, stack_log_.data() + end, sizeof(entry));
    if (!are_named({frames_at(end), entry.frame_count})) break;
    end += stack_bytes(entry.frame_count);
  }
  return end - byte;
}

bool StackTable::copy_frames(std::uint32_t stack, std::vector<trace::FrameEntry>& frames) {
  const std::lock_guard lock(mutex_);
  if (stack - 1 >= stacks_.size()) return true;
  const std::span ids(frames_at(stacks_[stack - 1].first_byte), stacks_[stack - 1].frame_count);
  if (!are_named(ids)) return false;
  for (const std::uint32_t id : ids) {
    LoggedFrame frame;
    std::memcpy(&frame, frames_.data() + (id - 1) * sizeof(frame), sizeof(frame));
    frames.push_back(frame.entry);
  }
  return true;
}

std::uint32_t StackTable::enter_frame(const PythonFrameText& text) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    return python_frame(text);
  } catch (const std::bad_alloc&) {
    return trace::kNoId;
  }
}

std::uint32_t StackTable::enter_stack(std::span<const std::uint32_t> frames, bool is_truncated) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    return enter_frames(is_truncated ? trace::kStackIsTruncated : 0, frames.data(),
                        static_cast<std::uint32_t>(frames.size()));
  } catch (const std::bad_alloc&) {
    return trace::kNoId;
  }
}

std::uint32_t StackTable::python_frame(const PythonFrameText& text) {
  trace::FrameEntry entry{};
  entry.kind = trace::FrameKind::kPython;
  entry.function = strings_.intern(text.function);
  entry.file = strings_.intern(text.file);
  entry.line = text.line;
  entry.first_line = text.first_line;
  const FrameKey key{std::uint64_t{entry.function} << 32 | entry.file,
                     std::uint64_t{entry.line} << 32 | entry.first_line, 0};
  return frame_id(key, entry, kNoFile);
}

std::uint32_t StackTable::native_frame(std::uintptr_t return_address) {
  const std::uintptr_t call = return_address - 1;
  const Module* module = module_of(call);
  trace::FrameEntry entry{};
  entry.kind = trace::FrameKind::kNative;
  std::uint32_t file = kNoFile;
  if (module != nullptr) {
    file = module->file;
    entry.file = strings_.intern(files_[file].path);
    entry.module_offset = call - module->base;
  }
  // Code in no module has no address that would mean anything to a reader: all of it is one frame.
  return frame_id({entry.module_offset, file, 1}, entry, file);
}

std::uint32_t StackTable::frame_id(const FrameKey& key, const trace::FrameEntry& entry, std::uint32_t file) {
  const auto found = frame_ids_.find(key);
  if (found != frame_ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(frames_.size() / sizeof(LoggedFrame) + 1);
  const bool is_of_module = file != kNoFile;
  LoggedFrame frame{entry, is_of_module ? files_[file].segments_hash : 0, is_of_module ? 1u : 0u, 0};
  frame.entry.id = id;
  if (!frames_.append(&frame, sizeof(frame))) return trace::kNoId;
  if (entry.kind == trace::FrameKind::kNative && !is_of_module) count(unnamed_library_);
  frame_ids_.emplace(key, id);
  return id;
}

const StackTable::Module* StackTable::module_of(std::uintptr_t address) {
  const std::uint64_t generation = unwind_table_.generation();
  if (generation != modules_generation_) modules_.clear();
  modules_generation_ = generation;
  for (const Module& module : modules_) {
    if (address >= module.begin && address < module.end) return &module;
  }
  LoadedModule loaded;
  if (!find_module(address, loaded)) return nullptr;
  File loaded_from{file_of(loaded), loaded.segments_hash};
  auto file = std::find(files_.begin(), files_.end(), loaded_from);
  if (file == files_.end()) file = files_.insert(files_.end(), std::move(loaded_from));
  modules_.push_back({loaded.begin, loaded.end, loaded.base, static_cast<std::uint32_t>(file - files_.begin())});
  return &modules_.back();
}

bool StackTable::has_unnamed() noexcept {
  const std::lock_guard lock(mutex_);
  return named_frames_ * sizeof(LoggedFrame) < frames_.size();
}

void StackTable::name_new(ModuleSymbols& symbols) noexcept {
  try {
    std::vector<LoggedFrame> fresh;
    {
      const std::lock_guard lock(mutex_);
      const auto bytes = frames_.bytes_from(named_frames_ * sizeof(LoggedFrame));
      fresh.resize(bytes.size() / sizeof(LoggedFrame));
      if (!fresh.empty()) std::memcpy(fresh.data(), bytes.data(), bytes.size());
    }
    // Never while a thread of the program may wait for the mutex.
    for (LoggedFrame& frame : fresh) name(frame, symbols);
    const std::lock_guard lock(mutex_);
    for (const LoggedFrame& frame : fresh)
      std::memcpy(frames_.data() + (frame.entry.id - 1) * sizeof(frame), &frame, sizeof(frame));
    named_frames_ += fresh.size();
  } catch (const std::bad_alloc&) {
  }
}

void StackTable::name(LoggedFrame& frame, ModuleSymbols& symbols) {
  if (frame.is_unnamed == 0) return;
  bool is_readable = false;
  const std::string path(strings_.text(frame.entry.file));
  const std::string_view function =
      symbols.function_at(path, frame.segments_hash, frame.entry.module_offset, is_readable);
  if (!is_readable) count(unnamed_library_);
  if (!function.empty()) frame.entry.function = strings_.intern(function);
  frame.is_unnamed = 0;
}

void StackTable::drain(std::vector<std::byte>& frames, std::vector<std::byte>& stacks) noexcept {
  watch_python_end();
  const std::size_t frames_before = frames.size();
  const std::size_t stacks_before = stacks.size();
  try {
    const std::lock_guard lock(mutex_);
    for (std::size_t number = drained_frames_; number < named_frames_; ++number) {
      LoggedFrame frame;
      std::memcpy(&frame, frames_.data() + number * sizeof(frame), sizeof(frame));
      append(frames, frame.entry);
    }
    const auto fresh = stack_log_.bytes_from(drained_stack_bytes_).first(named_bytes_from(drained_stack_bytes_));
    stacks.insert(stacks.end(), fresh.begin(), fresh.end());
    drained_frames_ = named_frames_;
    drained_stack_bytes_ += fresh.size();
  } catch (const std::bad_alloc&) {
    frames.resize(frames_before);
    stacks.resize(stacks_before);
  }
}

void StackTable::restart() noexcept {
  const std::lock_guard lock(mutex_);
  drained_frames_ = 0;
  drained_stack_bytes_ = 0;
}

StackTable::Losses StackTable::losses() const noexcept {
  const auto value = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  return {value(full_),           value(not_walked_),    value(truncated_), value(unnamed_library_),
          value(without_native_), value(without_python_)};
}

}  // namespace turnpike::record
