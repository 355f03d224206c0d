// The Python frames of the calling thread: walked without the GIL, named only when asked.
#include "record/python_stack.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "record/mix.h"
#include "record/own_memory.h"
#include "record/python_lines.h"
#include "record/python_runtime.h"

namespace turnpike::record {
namespace {

// More steps than frames are kept: evaluators' own frames are passed over.
constexpr std::uint32_t kMaxSteps = 2 * kMaxPythonFrames;
constexpr std::size_t kMaxNameChars = 4096;

template <typename T>
T read(const void* object, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
  return value;
}

using Pointer = const char*;

bool has_type(Pointer object, const void* type) noexcept {
  return object != nullptr && read<const void*>(object, kObjectType) == type;
}

// Reads frames where they stand.
class DirectReader {
 public:
  template <typename T>
  T get(Pointer object, std::size_t offset) noexcept {
    return read<T>(object, offset);
  }
  bool has_failed() const noexcept { return false; }
};

// Reads frames through the kernel, a page at a time: memory that is gone reads as 0, and has_failed() says so.
class CarefulReader {
 public:
  template <typename T>
  T get(Pointer object, std::size_t offset) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(object) + offset;
    const std::uintptr_t page = address & ~(sizeof page_bytes_ - 1);
    // Fields are aligned: none lies across two pages.
    if ((address & (sizeof(T) - 1)) != 0 || (page != page_ && !load(page))) {
      has_failed_ = true;
      return T{};
    }
    return read<T>(page_bytes_, address - page);
  }
  bool has_failed() const noexcept { return has_failed_; }

 private:
  bool load(std::uintptr_t page) noexcept {
    const bool is_read = read_own_memory(page, page_bytes_, sizeof page_bytes_);
    page_ = is_read ? page : 0;
    return is_read;
  }

  std::uintptr_t page_ = 0;
  bool has_failed_ = false;
  alignas(8) char page_bytes_[4096];
};

template <typename Reader>
Pointer innermost_frame(const PythonLayout& layout, Reader& reader, Pointer thread,
                        std::uintptr_t& evaluator) noexcept {
  if (layout.thread_cframe == 0) return reader.template get<Pointer>(thread, layout.thread_frame);
  const auto cframe = reader.template get<Pointer>(thread, layout.thread_cframe);
  evaluator = reinterpret_cast<std::uintptr_t>(cframe);
  if (layout.cframe_frame == kNotThere) return reader.template get<Pointer>(thread, layout.thread_frame);
  return cframe == nullptr ? nullptr : reader.template get<Pointer>(cframe, layout.cframe_frame);
}

template <typename Reader>
std::int32_t instruction_byte(const PythonLayout& layout, Reader& reader, Pointer frame, Pointer code) noexcept {
  if (layout.code_bytecode == kNotThere) return reader.template get<std::int32_t>(frame, layout.frame_instruction) * 2;
  const auto instruction = reader.template get<Pointer>(frame, layout.frame_instruction);
  return static_cast<std::int32_t>(instruction - (code + layout.code_bytecode));
}

template <typename Reader>
bool is_evaluators_own(const PythonLayout& layout, Reader& reader, Pointer frame) noexcept {
  return layout.evaluator_owner != kNoSuchOwner &&
         reader.template get<std::uint8_t>(frame, layout.frame_owner) == layout.evaluator_owner;
}

// Collects the chain of frames without looking at their code objects.
template <typename Reader>
void walk_frames(const PythonLayout& layout, Reader& reader, Pointer thread, PythonStack& stack) noexcept {
  Pointer frame = innermost_frame(layout, reader, thread, stack.evaluator);
  for (std::uint32_t step = 0; frame != nullptr && !reader.has_failed(); ++step) {
    if (step == kMaxSteps) break;
    if (is_evaluators_own(layout, reader, frame)) {
      if (stack.evaluator == 0) stack.evaluator = reinterpret_cast<std::uintptr_t>(frame);
    } else {
      if (stack.count == kMaxPythonFrames) break;
      const auto code = reader.template get<Pointer>(frame, layout.frame_code);
      stack.frames[stack.count++] = {code, instruction_byte(layout, reader, frame, code)};
    }
    frame = reader.template get<Pointer>(frame, layout.frame_previous);
  }
  stack.is_truncated = frame != nullptr;
}

bool is_main_thread() noexcept {
  // Asked of the kernel once a thread. 0: not asked yet.
  thread_local int t_answer;
  if (t_answer == 0) t_answer = syscall(SYS_gettid) == getpid() ? 1 : 2;
  return t_answer == 1;
}

bool is_ending(const PythonRuntime& python) noexcept {
  return python.is_initialized() == 0 || python.is_finalizing() != 0;
}

void walk_carefully(const PythonRuntime& python, Pointer thread, PythonStack& stack) noexcept {
  CarefulReader reader;
  walk_frames(*python.layout, reader, thread, stack);
  if (!is_ending(python) && !reader.has_failed()) return;
  stack.count = 0;
  stack.evaluator = 0;
  stack.is_truncated = true;
}

// The last 8 bytes, or fewer where there are not so many.
std::uint64_t read_last(Pointer bytes, std::size_t size) noexcept {
  if (size >= 8) return read<std::uint64_t>(bytes, size - 8);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

// Four lanes, so that one multiplication need not wait for the one before: most of a capture in 3.10 and 3.11 is here.
std::uint64_t hash_bytes(std::uint64_t hash, Pointer bytes, std::size_t size) noexcept {
  constexpr std::uint64_t kFactor = 0xD6E8FEB86659FD93u;
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + 32 <= size; at += 32) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint64_t word = lanes[i] ^ read<std::uint64_t>(bytes, at + i * 8);
      lanes[i] = (word << 29 | word >> 35) * kFactor;
    }
  }
  hash = mix(mix(hash, lanes[0] + (lanes[1] << 17 | lanes[1] >> 47)), lanes[2] + (lanes[3] << 17 | lanes[3] >> 47));
  for (; at + 8 < size; at += 8) hash = mix(hash, read<std::uint64_t>(bytes, at));
  return mix(hash, read_last(bytes, size));
}

// Up to `limit` bytes of a text, from both ends: what tells it from another that took its place in memory.
std::uint64_t sample(std::uint64_t hash, Pointer bytes, std::size_t size, std::size_t limit) noexcept {
  hash = mix(hash, size);
  if (size <= limit) return hash_bytes(hash, bytes, size);
  return hash_bytes(hash_bytes(hash, bytes, limit / 2), bytes + size - limit / 2, limit / 2);
}

unsigned str_state(Pointer text) noexcept {
  return read<unsigned>(text, kStrState);
}
unsigned str_kind(Pointer text) noexcept {
  return str_state(text) >> 2 & 7;
}
bool str_is_compact(Pointer text) noexcept {
  return (str_state(text) >> 5 & 1) != 0;
}
bool str_is_ascii(Pointer text) noexcept {
  return (str_state(text) >> 6 & 1) != 0;
}
Pointer str_data(const PythonLayout& layout, Pointer text) noexcept {
  return text + (str_is_ascii(text) ? layout.ascii_size : layout.compact_size);
}

std::uint64_t sample_str(const PythonRuntime& python, std::uint64_t hash, Pointer text) noexcept {
  constexpr std::size_t kSampledBytes = 128;
  if (!has_type(text, python.str_type) || !str_is_compact(text)) return hash;
  const std::size_t bytes = read<std::size_t>(text, kObjectSize) * str_kind(text);
  return sample(hash, str_data(*python.layout, text), bytes, kSampledBytes);
}

std::uint64_t sample_bytes(const PythonRuntime& python, std::uint64_t hash, Pointer object) noexcept {
  // Tables of most functions are shorter, and then the whole table is compared.
  constexpr std::size_t kSampledBytes = 512;
  if (!has_type(object, python.bytes_type)) return hash;
  return sample(hash, object + kBytesData, read<std::size_t>(object, kObjectSize), kSampledBytes);
}

// What a frame will be called follows from these. Addresses alone do not do: a code object that was freed leaves its
// address, and its strings theirs, to the next one. 3.12 numbers its code objects; before, contents are sampled.
std::uint64_t hash_frame(const PythonRuntime& python, std::uint64_t hash, const PythonFrame& frame) noexcept {
  const PythonLayout& layout = *python.layout;
  const auto filename = read<Pointer>(frame.code, layout.code_filename);
  const auto name = read<Pointer>(frame.code, layout.code_name);
  const auto table = read<Pointer>(frame.code, layout.code_line_table);
  const auto first_line = read<std::uint32_t>(frame.code, layout.code_first_line);
  hash = mix(hash, reinterpret_cast<std::uintptr_t>(frame.code));
  hash = mix(hash, static_cast<std::uint64_t>(first_line) << 32 | static_cast<std::uint32_t>(frame.instruction_byte));
  hash = mix(hash, reinterpret_cast<std::uintptr_t>(filename));
  hash = mix(hash, reinterpret_cast<std::uintptr_t>(name));
  hash = mix(hash, reinterpret_cast<std::uintptr_t>(table));
  if (layout.code_version != kNotThere) {
    // 0 once the counter has run out.
    const auto version = read<std::uint32_t>(frame.code, layout.code_version);
    if (version != 0) return mix(hash, version);
  }
  hash = sample_str(python, hash, filename);
  hash = sample_str(python, hash, name);
  return sample_bytes(python, hash, table);
}

void append_utf8(std::string& out, std::uint32_t character) {
  // A lone surrogate stands for a byte that was not UTF-8; nothing that reads the file could take it back.
  if (character >= 0xD800 && character < 0xE000) character = 0xFFFD;
  if (character < 0x80) {
    out += static_cast<char>(character);
  } else if (character < 0x800) {
    out += static_cast<char>(0xC0 | character >> 6);
    out += static_cast<char>(0x80 | (character & 0x3F));
  } else if (character < 0x10000) {
    out += static_cast<char>(0xE0 | character >> 12);
    out += static_cast<char>(0x80 | (character >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (character & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | character >> 18);
    out += static_cast<char>(0x80 | (character >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (character >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (character & 0x3F));
  }
}

void copy_str(const PythonRuntime& python, Pointer text, std::string& out) {
  out.clear();
  if (!has_type(text, python.str_type) || !str_is_compact(text)) return;
  const std::size_t count = std::min(read<std::size_t>(text, kObjectSize), kMaxNameChars);
  const Pointer data = str_data(*python.layout, text);
  switch (str_kind(text)) {
    case 1:
      for (std::size_t i = 0; i < count; ++i) append_utf8(out, static_cast<unsigned char>(data[i]));
      break;
    case 2:
      for (std::size_t i = 0; i < count; ++i) append_utf8(out, read<std::uint16_t>(data, i * 2));
      break;
    case 4:
      for (std::size_t i = 0; i < count; ++i) append_utf8(out, read<std::uint32_t>(data, i * 4));
      break;
    default:
      break;
  }
}

}  // namespace

void walk_python_stack(PythonStack& stack) noexcept {
  stack.count = 0;
  stack.is_truncated = false;
  stack.evaluator = 0;
  stack.hash = kHashSeed;
  const PythonRuntime* python = known_python();
  if (python == nullptr) return;
  const auto thread = static_cast<Pointer>(python->this_thread_state());
  if (thread == nullptr) return;
  // Asked first whether Python is ending: from then on it says of every thread that it holds the GIL, while the frames
  // of daemon threads are being freed.
  const bool is_safe = !is_ending(*python) && python->holds_gil() != 0;
  // Where the kernel forbids it to read oneself, frames are read directly: the sandbox is likelier than the end.
  if (is_main_thread() || is_safe || !can_read_own_memory()) {
    DirectReader reader;
    walk_frames(*python->layout, reader, thread, stack);
  } else {
    walk_carefully(*python, thread, stack);
  }
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    if (!has_type(stack.frames[i].code, python->code_type)) {
      stack.count = i;
      stack.is_truncated = true;
      return;
    }
    stack.hash = hash_frame(*python, stack.hash, stack.frames[i]);
  }
}

void describe(const PythonFrame& frame, PythonFrameText& text) {
  const PythonRuntime& python = *known_python();
  const PythonLayout& layout = *python.layout;
  copy_str(python, read<Pointer>(frame.code, layout.code_name), text.function);
  copy_str(python, read<Pointer>(frame.code, layout.code_filename), text.file);
  const auto first_line = read<std::int32_t>(frame.code, layout.code_first_line);
  text.first_line = first_line > 0 ? static_cast<std::uint32_t>(first_line) : 0;
  text.line = 0;
  const auto table = read<Pointer>(frame.code, layout.code_line_table);
  if (!has_type(table, python.bytes_type)) return;
  const std::span bytes(reinterpret_cast<const unsigned char*>(table) + kBytesData,
                        read<std::size_t>(table, kObjectSize));
  const auto line_of = layout.version == 0x030A ? line_of_instruction_310 : line_of_instruction;
  text.line = line_of(bytes, first_line, frame.instruction_byte);
}

}  // namespace turnpike::record
