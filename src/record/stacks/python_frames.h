// The walk over Python's frames and what tells two of them apart, for either way of reading them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "base/utf8.h"
#include "record/stacks/mix.h"
#include "record/stacks/python_chain.h"
#include "record/stacks/python_lines.h"
#include "record/stacks/python_reader.h"
#include "record/stacks/python_runtime.h"

namespace turnpike::record {

// More steps than frames are kept: evaluators' own frames are passed over.
inline constexpr std::uint32_t kMaxSteps = 2 * kMaxPythonFrames;
inline constexpr std::size_t kMaxNameChars = 4096;

template <typename Reader>
bool has_type(Reader& reader, Pointer object, const void* type) noexcept {
  return object != nullptr && reader.template get<const void*>(object, kObjectType) == type;
}

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
  const auto instruction = reader.template get<std::uintptr_t>(frame, layout.frame_instruction);
  // Numbers: a frame that is being made may have no code yet, and what a failed read gives is null.
  return static_cast<std::int32_t>(instruction - (reinterpret_cast<std::uintptr_t>(code) + layout.code_bytecode));
}

template <typename Reader>
bool is_evaluators_own(const PythonLayout& layout, Reader& reader, Pointer frame) noexcept {
  if (layout.first_evaluator_owner == kNoSuchOwner) return false;
  const auto owner = reader.template get<std::uint8_t>(frame, layout.frame_owner);
  return owner >= layout.first_evaluator_owner && owner <= layout.last_evaluator_owner;
}

template <typename Reader>
Pointer code_of(const PythonLayout& layout, Reader& reader, Pointer frame) noexcept {
  const auto tagged = reader.template get<std::uintptr_t>(frame, layout.frame_code);
  return reinterpret_cast<Pointer>(tagged & ~std::uintptr_t{layout.code_tag});
}

// Where the chain ends: at null, or at the thread's base frame, which has an evaluator's owner and stands on no stack.
template <typename Reader>
Pointer end_of_chain(const PythonLayout& layout, Reader& reader, Pointer thread) noexcept {
  return layout.thread_base_frame == kNotThere ? nullptr
                                               : reader.template get<Pointer>(thread, layout.thread_base_frame);
}

// A generator runs in the frame of whoever resumed it: a chain that ends at one was read while it was being changed.
template <typename Reader>
bool is_generators(const PythonLayout& layout, Reader& reader, Pointer frame) noexcept {
  constexpr std::uint8_t kOwnedByGenerator = 1;
  return layout.frame_owner != kNotThere &&
         reader.template get<std::uint8_t>(frame, layout.frame_owner) == kOwnedByGenerator;
}

// Has the lines of a code object that hash_frame() reads on their way while the walk goes on: in a program that does
// much else between two walks, each is a wait of its own.
inline void fetch_head(const PythonLayout& layout, Pointer code) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(code);  // a number: it may be anything, and is not read
  __builtin_prefetch(reinterpret_cast<const void*>(address + kObjectType));
  __builtin_prefetch(reinterpret_cast<const void*>(address + layout.code_first_line));
  if (layout.code_version != kNotThere)
    __builtin_prefetch(reinterpret_cast<const void*>(address + layout.code_version));
}

// Frames lie one behind the other, the outer ones below, and each names the next: these are on their way at once.
inline void fetch_outer_frames(Pointer innermost) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(innermost);
  for (unsigned line = 1; line <= 8; ++line) __builtin_prefetch(reinterpret_cast<const void*>(address - line * 64));
}

// Collects the chain of frames without looking at their code objects, and returns the outermost one.
template <typename Reader>
Pointer walk_frames(const PythonLayout& layout, Reader& reader, Pointer thread, PythonStack& stack) noexcept {
  Pointer outermost = nullptr;
  Pointer frame = innermost_frame(layout, reader, thread, stack.evaluator);
  fetch_outer_frames(frame);
  const Pointer end = end_of_chain(layout, reader, thread);
  for (std::uint32_t step = 0; frame != nullptr && frame != end && !reader.has_failed(); ++step) {
    if (step == kMaxSteps) break;
    if (is_evaluators_own(layout, reader, frame)) {
      if (stack.evaluator == 0) stack.evaluator = reinterpret_cast<std::uintptr_t>(frame);
    } else {
      if (stack.count == kMaxPythonFrames) break;
      const Pointer code = code_of(layout, reader, frame);
      fetch_head(layout, code);
      stack.frames[stack.count++] = {code, instruction_byte(layout, reader, frame, code)};
      outermost = frame;
    }
    frame = reader.template get<Pointer>(frame, layout.frame_previous);
  }
  stack.is_truncated = frame != nullptr && frame != end;
  return outermost;
}

// A code object that CPython made for itself, as that between a class and its __init__ from 3.12 on: its file is its
// name, and it has no line. Tracebacks leave it out.
template <typename Reader>
bool is_made_by_python(const PythonLayout& layout, Reader& reader, Pointer code) noexcept {
  return reader.template get<std::int32_t>(code, layout.code_first_line) <= 0 &&
         reader.template get<Pointer>(code, layout.code_filename) ==
             reader.template get<Pointer>(code, layout.code_name);
}

// The last 8 bytes, or fewer where there are not so many.
inline std::uint64_t read_last(Pointer bytes, std::size_t size) noexcept {
  if (size >= 8) return read<std::uint64_t>(bytes, size - 8);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

// Four lanes, so that one multiplication need not wait for the one before: most of a capture in 3.10 and 3.11 is here.
inline std::uint64_t hash_bytes(std::uint64_t hash, Pointer bytes, std::size_t size) noexcept {
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
template <typename Reader>
std::uint64_t sample(Reader& reader, std::uint64_t hash, Pointer bytes, std::size_t size, std::size_t limit) noexcept {
  hash = mix(hash, size);
  const auto add = [&](Pointer part, std::size_t part_size) {
    const Pointer view = reader.view(part, part_size);
    if (view != nullptr) hash = hash_bytes(hash, view, part_size);
  };
  if (size <= limit) {
    add(bytes, size);
  } else {
    add(bytes, limit / 2);
    add(bytes + size - limit / 2, limit / 2);
  }
  return hash;
}

// A str as its head says it is.
struct Str {
  Pointer data;  // nullptr: not a str, or one of a form that strings of code never have
  std::size_t count;
  unsigned char_bytes;
};

template <typename Reader>
Str str_of(const PythonRuntime& python, Reader& reader, Pointer text) noexcept {
  if (!has_type(reader, text, python.str_type)) return {};
  const auto state = reader.template get<unsigned>(text, kStrState);
  const bool is_compact = (state >> 5 & 1) != 0;
  const bool is_ascii = (state >> 6 & 1) != 0;
  if (!is_compact) return {};
  return {text + (is_ascii ? python.layout->ascii_size : python.layout->compact_size),
          reader.template get<std::size_t>(text, kObjectSize), state >> 2 & 7};
}

template <typename Reader>
std::uint64_t sample_str(const PythonRuntime& python, Reader& reader, std::uint64_t hash, Pointer text) noexcept {
  constexpr std::size_t kSampledBytes = 128;
  const Str str = str_of(python, reader, text);
  return str.data == nullptr ? hash : sample(reader, hash, str.data, str.count * str.char_bytes, kSampledBytes);
}

template <typename Reader>
std::uint64_t sample_bytes(const PythonRuntime& python, Reader& reader, std::uint64_t hash, Pointer object) noexcept {
  // Tables of most functions are shorter, and then the whole table is compared.
  constexpr std::size_t kSampledBytes = 512;
  if (!has_type(reader, object, python.bytes_type)) return hash;
  return sample(reader, hash, object + kBytesData, reader.template get<std::size_t>(object, kObjectSize),
                kSampledBytes);
}

// What a frame will be called follows from these. Addresses alone do not do: a code object that was freed leaves its
// address, and its strings theirs, to the next one. 3.12 numbers its code objects; before, contents are sampled.
template <typename Reader>
std::uint64_t hash_frame(const PythonRuntime& python, Reader& reader, std::uint64_t hash,
                         const PythonFrame& frame) noexcept {
  const PythonLayout& layout = *python.layout;
  hash = mix(hash, reinterpret_cast<std::uintptr_t>(frame.code));
  if (layout.code_version != kNotThere) {
    // It alone decides, and no other line of the code object has to be read; 0 once the counter has run out.
    const auto version = reader.template get<std::uint32_t>(frame.code, layout.code_version);
    if (version != 0) return mix(mix(hash, version), static_cast<std::uint32_t>(frame.instruction_byte));
  }
  const auto filename = reader.template get<Pointer>(frame.code, layout.code_filename);
  const auto name = reader.template get<Pointer>(frame.code, layout.code_name);
  const auto table = reader.template get<Pointer>(frame.code, layout.code_line_table);
  const auto first_line = reader.template get<std::uint32_t>(frame.code, layout.code_first_line);
  hash = mix(hash, static_cast<std::uint64_t>(first_line) << 32 | static_cast<std::uint32_t>(frame.instruction_byte));
  hash = mix(hash, reinterpret_cast<std::uintptr_t>(filename));
  hash = mix(hash, reinterpret_cast<std::uintptr_t>(name));
  hash = mix(hash, reinterpret_cast<std::uintptr_t>(table));
  hash = sample_str(python, reader, hash, filename);
  hash = sample_str(python, reader, hash, name);
  return sample_bytes(python, reader, hash, table);
}

// A lone surrogate in a str stands for a byte that was not UTF-8; nothing that reads the file could take it back.
template <typename Reader>
void copy_str(const PythonRuntime& python, Reader& reader, Pointer text, std::string& out) {
  out.clear();
  const Str str = str_of(python, reader, text);
  if (str.data == nullptr) return;
  const std::size_t count = std::min(str.count, kMaxNameChars);
  const Pointer data = reader.view(str.data, count * str.char_bytes);
  if (data == nullptr) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (str.char_bytes == 1) append_utf8(out, static_cast<unsigned char>(data[i]));
    if (str.char_bytes == 2) append_utf8(out, read<std::uint16_t>(data, i * 2));
    if (str.char_bytes == 4) append_utf8(out, read<std::uint32_t>(data, i * 4));
  }
}

// The names of a frame whose code object is one, in UTF-8. Throws std::bad_alloc.
template <typename Reader>
void describe_frame(const PythonRuntime& python, Reader& reader, const PythonFrame& frame, PythonFrameText& text) {
  const PythonLayout& layout = *python.layout;
  copy_str(python, reader, reader.template get<Pointer>(frame.code, layout.code_name), text.function);
  copy_str(python, reader, reader.template get<Pointer>(frame.code, layout.code_filename), text.file);
  const auto first_line = reader.template get<std::int32_t>(frame.code, layout.code_first_line);
  text.first_line = first_line > 0 ? static_cast<std::uint32_t>(first_line) : 0;
  text.line = 0;
  const auto table = reader.template get<Pointer>(frame.code, layout.code_line_table);
  if (!has_type(reader, table, python.bytes_type)) return;
  const auto size = reader.template get<std::size_t>(table, kObjectSize);
  const Pointer data = reader.view(table + kBytesData, size);
  if (data == nullptr) return;
  const std::span bytes(reinterpret_cast<const unsigned char*>(data), size);
  const auto line_of = layout.version == 0x030A ? line_of_instruction_310 : line_of_instruction;
  text.line = line_of(bytes, first_line, frame.instruction_byte);
}

}  // namespace turnpike::record
