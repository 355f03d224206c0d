// The Python frames of the calling thread: walked without the GIL, named only when asked.
#include "record/python_stack.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "record/mix.h"
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

bool is_walkable(const PythonRuntime& python) noexcept {
  return python.is_finalizing() == 0 || syscall(SYS_gettid) == getpid();
}

Pointer innermost_frame(const PythonLayout& layout, Pointer thread, std::uintptr_t& evaluator) noexcept {
  evaluator = 0;
  if (layout.thread_cframe == 0) return read<Pointer>(thread, layout.thread_frame);
  const auto cframe = read<Pointer>(thread, layout.thread_cframe);
  evaluator = reinterpret_cast<std::uintptr_t>(cframe);
  if (layout.cframe_frame == kNotThere) return read<Pointer>(thread, layout.thread_frame);
  return cframe == nullptr ? nullptr : read<Pointer>(cframe, layout.cframe_frame);
}

std::int32_t instruction_byte(const PythonLayout& layout, Pointer frame, Pointer code) noexcept {
  if (layout.code_bytecode == kNotThere) return read<std::int32_t>(frame, layout.frame_instruction) * 2;
  return static_cast<std::int32_t>(read<Pointer>(frame, layout.frame_instruction) - (code + layout.code_bytecode));
}

// Up to `limit` bytes of a text, from both ends: what tells it from another that took its place in memory.
std::uint64_t sample(std::uint64_t hash, Pointer bytes, std::size_t size, std::size_t limit) noexcept {
  hash = mix(hash, size);
  const std::size_t head = size <= limit ? size : limit / 2;
  std::size_t at = 0;
  for (; at + 8 <= head; at += 8) hash = mix(hash, read<std::uint64_t>(bytes, at));
  for (; at < head; ++at) hash = mix(hash, static_cast<unsigned char>(bytes[at]));
  if (size > limit) {
    for (at = size - limit / 2; at + 8 <= size; at += 8) hash = mix(hash, read<std::uint64_t>(bytes, at));
  }
  return hash;
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
  if (python == nullptr || !is_walkable(*python)) return;
  const auto thread = static_cast<Pointer>(python->this_thread_state());
  if (thread == nullptr) return;
  const PythonLayout& layout = *python->layout;
  Pointer frame = innermost_frame(layout, thread, stack.evaluator);
  for (std::uint32_t step = 0; frame != nullptr; ++step) {
    if (step == kMaxSteps) {
      stack.is_truncated = true;
      break;
    }
    const auto owner = layout.frame_owner == kNotThere ? kNoSuchOwner : read<std::uint8_t>(frame, layout.frame_owner);
    if (owner == layout.evaluator_owner && owner != kNoSuchOwner) {
      if (stack.evaluator == 0) stack.evaluator = reinterpret_cast<std::uintptr_t>(frame);
    } else {
      const auto code = read<Pointer>(frame, layout.frame_code);
      if (!has_type(code, python->code_type) || stack.count == kMaxPythonFrames) {
        stack.is_truncated = true;
        break;
      }
      PythonFrame& kept = stack.frames[stack.count++];
      kept = {code, instruction_byte(layout, frame, code)};
      stack.hash = hash_frame(*python, stack.hash, kept);
    }
    frame = read<Pointer>(frame, layout.frame_previous);
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
