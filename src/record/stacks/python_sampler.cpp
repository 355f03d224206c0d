// The interpreter's list of threads, their frames, and the names of what was not seen before.
#include "record/stacks/python_sampler.h"

#include <algorithm>
#include <array>
#include <new>

#include "record/stacks/mix.h"
#include "record/stacks/own_memory.h"
#include "record/stacks/python_frames.h"
#include "record/stacks/python_runtime.h"
#include "record/stacks/stack_table.h"

namespace turnpike::record {
namespace {

// More threads than a program has that calls CUDA at one time.
constexpr std::size_t kMaxKnown = 256;

std::uint64_t identity_of(const PythonLayout& layout, Pointer code) {
  std::uint64_t hash = mix(kHashSeed, read<std::uint32_t>(code, layout.code_first_line));
  for (const std::uint16_t field : {layout.code_filename, layout.code_name, layout.code_line_table}) {
    hash = mix(hash, read<std::uint64_t>(code, field));
  }
  return layout.code_version == kNotThere ? hash : mix(hash, read<std::uint32_t>(code, layout.code_version));
}

// At a thread whose outermost frame is not the one before.
constexpr std::size_t kMaxLooks = 8;
constexpr int kLooksToBelieve = 5;

template <typename KnownFrame>
bool is_same(const KnownFrame& a, const KnownFrame& b) {
  return a.frame.code == b.frame.code && a.frame.instruction_byte == b.frame.instruction_byte &&
         a.identity == b.identity;
}

// Reads a code object from the copy of its head, and what it points to through the kernel.
class CodeReader {
 public:
  CodeReader(Pointer code, Pointer head, std::size_t head_begin, std::size_t head_end, CarefulReader& others) noexcept
      : code_(code), head_(head), head_begin_(head_begin), head_end_(head_end), others_(others) {}

  template <typename T>
  T get(Pointer object, std::size_t offset) noexcept {
    const bool is_in_head = object == code_ && offset >= head_begin_ && offset + sizeof(T) <= head_end_;
    return is_in_head ? read<T>(head_, offset - head_begin_) : others_.get<T>(object, offset);
  }
  Pointer view(Pointer bytes, std::size_t size) noexcept { return others_.view(bytes, size); }

 private:
  Pointer code_;
  Pointer head_;
  std::size_t head_begin_;
  std::size_t head_end_;
  CarefulReader& others_;
};

}  // namespace

void PythonSampler::look_at(std::span<Thread> threads) noexcept {
  for (Thread& thread : threads) thread.stack = trace::kNoId;
  const PythonRuntime* python = known_python();
  if (python == nullptr || python->main_interpreter == nullptr || is_ending(*python)) return;
  if (!can_read_own_memory()) {
    if (!is_forbidden_) note_forbidden_look();
    is_forbidden_ = true;
    return;
  }
  const auto interpreter = static_cast<Pointer>(python->main_interpreter());
  if (interpreter == nullptr) return;
  ++look_;
  try {
    if (known_.size() > kMaxKnown) known_.clear();
    CarefulReader list;
    auto state = list.get<Pointer>(interpreter, python->layout->interpreter_threads);
    for (std::uint32_t i = 0; state != nullptr && i < kMaxListed && !list.has_failed(); ++i) {
      const auto handle = list.get<std::uintptr_t>(state, python->layout->thread_id);
      for (Thread& thread : threads) {
        if (thread.handle == handle && !list.has_failed()) thread.stack = stack_of(*python, state, handle);
      }
      state = list.get<Pointer>(state, kThreadNext);
    }
  } catch (const std::bad_alloc&) {
    return;
  }
  // From then on the memory of threads may have held anything.
  if (!is_ending(*python)) return;
  for (Thread& thread : threads) thread.stack = trace::kNoId;
}

std::uint32_t PythonSampler::stack_of(const PythonRuntime& python, Pointer thread, std::uintptr_t handle) {
  Known& known = known_[handle];
  if (!find_frames(python, thread, known.root)) return trace::kNoId;
  if (!hash_frames(python, known)) {
    known.frames.clear();
    return trace::kNoId;
  }
  std::uint64_t hash = mix(kHashSeed, stack_.is_truncated ? 3 : 1);
  for (const KnownFrame& frame : known.frames) hash = mix(hash, frame.hash);
  std::uint64_t number = 0;
  if (stack_ids_.find(hash, number)) return static_cast<std::uint32_t>(number);
  std::array<std::uint32_t, kMaxPythonFrames> ids;
  for (std::uint32_t i = 0; i < stack_.count; ++i) {
    ids[i] = frame_id(python, stack_.frames[i], known.frames[i].hash);
    if (ids[i] == trace::kNoId) return trace::kNoId;
  }
  number = stacks_.enter_stack(std::span(ids).first(stack_.count), stack_.is_truncated);
  if (number != trace::kNoId) stack_ids_.insert(hash, number);
  return static_cast<std::uint32_t>(number);
}

// False: it runs no Python, or its frames could not be read. A thread that is not running may stay in such a moment for
// as long as another runs in its place.
bool PythonSampler::walk(const PythonRuntime& python, Pointer thread) noexcept {
  reader_.restart();
  stack_.count = 0;
  stack_.evaluator = 0;
  const Pointer outermost = walk_frames(*python.layout, reader_, thread, stack_);
  if (reader_.has_failed() || stack_.count == 0) return false;
  return stack_.is_truncated || !is_generators(*python.layout, reader_, outermost);
}

// A frame that is entered or left leads nowhere, or to frames that were freed, for a moment: one look in ten at a
// generator that yields ends there. The outermost frame of a thread seldom changes, so a new one is believed when most
// looks find it.
bool PythonSampler::find_frames(const PythonRuntime& python, Pointer thread, Pointer& root) noexcept {
  std::array<Pointer, kMaxLooks> roots{};
  for (std::size_t look = 0; look < kMaxLooks; ++look) {
    if (!walk(python, thread)) continue;
    const Pointer found = stack_.frames[stack_.count - 1].code;
    if (stack_.is_truncated || found == root) return true;
    roots[look] = found;
    if (std::ranges::count(roots, found) == kLooksToBelieve) {
      root = found;
      return true;
    }
  }
  return false;
}

// All of them with one system call. False: one of the frames leads to no code object.
bool PythonSampler::read_heads(const PythonRuntime& python) noexcept {
  std::array<iovec, kMaxPythonFrames> places;
  for (std::uint32_t i = 0; i < stack_.count; ++i) {
    // A number: the code may be null, in a frame that is being made.
    const auto head = reinterpret_cast<std::uintptr_t>(stack_.frames[i].code) + kHeadBegin;
    places[i] = {reinterpret_cast<void*>(head), kHeadBytes};
  }
  if (!gather_own_memory(places.data(), stack_.count, heads_.data(), stack_.count * kHeadBytes)) return false;
  DirectReader reader;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < stack_.count; ++i) {
    const Pointer code = heads_[i].data() - kHeadBegin;
    if (!has_type(reader, code, python.code_type)) return false;
    if (is_made_by_python(*python.layout, reader, code)) continue;
    stack_.frames[kept] = stack_.frames[i];
    heads_[kept++] = heads_[i];
  }
  stack_.count = kept;
  return kept > 0;
}

// Frames are counted from the outermost one: there they stay.
bool PythonSampler::hash_frames(const PythonRuntime& python, Known& known) {
  if (!read_heads(python)) return false;
  if (known.look + 1 != look_) known.frames.clear();
  known.look = look_;
  const std::uint32_t count = stack_.count;
  std::vector<KnownFrame> now(count);
  const std::size_t known_count = known.frames.size();
  for (std::uint32_t from_outside = 1; from_outside <= count; ++from_outside) {
    KnownFrame& frame = now[count - from_outside];
    frame.frame = stack_.frames[count - from_outside];
    frame.identity = identity_of(*python.layout, heads_[count - from_outside].data() - kHeadBegin);
    const KnownFrame* before = from_outside <= known_count ? &known.frames[known_count - from_outside] : nullptr;
    if (before != nullptr && is_same(*before, frame)) {
      frame.hash = before->hash;
    } else {
      CodeReader reader(frame.frame.code, heads_[count - from_outside].data(), kHeadBegin, kCodeHeadEnd, reader_);
      frame.hash = hash_frame(python, reader, kHashSeed, frame.frame);
      if (reader_.has_failed()) return false;
    }
  }
  known.frames = std::move(now);
  return true;
}

std::uint32_t PythonSampler::frame_id(const PythonRuntime& python, const PythonFrame& frame, std::uint64_t hash) {
  std::uint64_t number = 0;
  if (frame_ids_.find(hash, number)) return static_cast<std::uint32_t>(number);
  PythonFrameText text;
  describe_frame(python, reader_, frame, text);
  // The code may have gone since its hash was taken: what was read is believed only when it is still the same.
  reader_.forget();
  const bool is_whole = has_type(reader_, frame.code, python.code_type) &&
                        hash_frame(python, reader_, kHashSeed, frame) == hash && !reader_.has_failed();
  // The evaluator's own frame in 3.12 and 3.13, caught while it was being made: no owner tells it from others yet.
  if (!is_whole || text.file == "<shim>") return trace::kNoId;
  const std::uint32_t id = stacks_.enter_frame(text);
  if (id != trace::kNoId) frame_ids_.insert(hash, id);
  return id;
}

}  // namespace turnpike::record
