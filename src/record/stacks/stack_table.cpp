// The stacks of a recording: captured on the calling thread, each kept once and known by a number.
#include "record/stacks/stack_table.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "record/stacks/loaded_module.h"
#include "record/stacks/mix.h"
#include "record/stacks/python_runtime.h"

namespace turnpike::record {
namespace {

constexpr std::size_t kMaxStacks = 128 * 1024;
constexpr std::size_t kMaxStackWords = std::size_t{8} << 20;
constexpr std::size_t kMaxFrames = 256 * 1024;
// 65536 walks. One that is forgotten is entered again under its old number.
constexpr std::size_t kNumberSetsLog2 = 14;
constexpr std::uint32_t kCapturesBetweenLooks = 256;

struct ThreadState {
  bool is_inside;
  std::uint32_t capture_count;
};
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

template <typename T>
void append(std::vector<std::byte>& payload, const T* values, std::size_t value_count) {
  const std::size_t at = payload.size();
  payload.resize(at + value_count * sizeof(T));
  if (value_count != 0) std::memcpy(payload.data() + at, values, value_count * sizeof(T));
}

}  // namespace

std::size_t StackTable::FrameKeyHash::operator()(const FrameKey& key) const noexcept {
  return mix(mix(mix(kHashSeed, key[0]), key[1]), key[2]);
}

StackTable::StackTable(StringTable& strings, bool walks_native) noexcept
    : strings_(strings), unwind_table_(Omit::kOwnAndDriver), walks_native_(walks_native), numbers_(kNumberSetsLog2) {}

std::uint32_t StackTable::capture() noexcept {
  ThreadState& thread = t_state;
  if (thread.is_inside) {
    count(not_walked_);
    return trace::kNoId;
  }
  const Inside inside(thread);
  if (known_python() == nullptr && thread.capture_count++ % kCapturesBetweenLooks == 0) find_python();
  PythonStack python;
  NativeStack native;
  walk_python_stack(python);
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
        std::equal(frames, frames + frame_count, words_.begin() + stack.first_word)) {
      return id;
    }
  }
  if (stacks_.size() == kMaxStacks || words_.size() + frame_count > kMaxStackWords) return trace::kNoId;
  const auto first_word = static_cast<std::uint32_t>(words_.size());
  words_.insert(words_.end(), frames, frames + frame_count);
  stacks_.push_back({first_word, static_cast<std::uint16_t>(frame_count), flags, first});
  first = static_cast<std::uint32_t>(stacks_.size());
  return first;
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
  if (frames_.size() == kMaxFrames) return trace::kNoId;
  const auto id = static_cast<std::uint32_t>(frames_.size() + 1);
  frames_.push_back({entry, file});
  frames_.back().entry.id = id;
  if (entry.kind == trace::FrameKind::kNative && file == kNoFile) count(unnamed_library_);
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

void StackTable::drain(std::vector<std::byte>& frames, std::vector<std::byte>& stacks) noexcept {
  const std::size_t frames_before = frames.size();
  const std::size_t stacks_before = stacks.size();
  try {
    std::vector<Frame> named;
    std::vector<File> files;
    {
      const std::lock_guard lock(mutex_);
      named.assign(frames_.begin() + static_cast<std::ptrdiff_t>(drained_frames_), frames_.end());
      files = files_;
    }
    // Reading symbols takes milliseconds a library: never while a thread of the program may wait for the mutex.
    for (Frame& frame : named) name(frame, files);
    const std::lock_guard lock(mutex_);
    for (const Frame& frame : named) {
      frames_[frame.entry.id - 1] = frame;
      append(frames, &frame.entry, 1);
    }
    // A stack entered meanwhile may use frames that come with the next drain: a definition may stand after its use.
    for (std::size_t i = drained_stacks_; i < stacks_.size(); ++i) append_stack(i, stacks);
    drained_frames_ += named.size();
    drained_stacks_ = stacks_.size();
  } catch (const std::bad_alloc&) {
    frames.resize(frames_before);
    stacks.resize(stacks_before);
  }
}

void StackTable::append_stack(std::size_t index, std::vector<std::byte>& payload) const {
  const Stack& stack = stacks_[index];
  const trace::StackEntry entry{static_cast<std::uint32_t>(index + 1), stack.frame_count, stack.flags};
  append(payload, &entry, 1);
  append(payload, words_.data() + stack.first_word, stack.frame_count);
  payload.resize((payload.size() + 7) & ~std::size_t{7});
}

void StackTable::name(Frame& frame, const std::vector<File>& files) {
  if (frame.file == kNoFile) return;
  bool is_readable = false;
  const File& file = files[frame.file];
  const std::string_view function =
      symbols_.function_at(file.path, file.segments_hash, frame.entry.module_offset, is_readable);
  if (!is_readable) count(unnamed_library_);
  if (!function.empty()) frame.entry.function = strings_.intern(function);
  // Named once: after a restart the name is drained again, not looked up again.
  frame.file = kNoFile;
}

void StackTable::restart() noexcept {
  const std::lock_guard lock(mutex_);
  drained_frames_ = 0;
  drained_stacks_ = 0;
}

StackTable::Losses StackTable::losses() const noexcept {
  const auto value = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  return {value(full_), value(not_walked_), value(truncated_), value(unnamed_library_), value(without_native_)};
}

}  // namespace turnpike::record
