// Where the fields of CPython's structures are, version by version.
#pragma once

#include <cstddef>
#include <cstdint>

namespace turnpike::record {

inline constexpr std::uint16_t kNotThere = 0xFFFF;
inline constexpr std::uint8_t kNoSuchOwner = 0xFF;

// Offsets in bytes of the fields that lead from a thread to the executing lines. They belong to the ABI of one minor
// version: CPython freezes these structures at the first release candidate.
struct PythonLayout {
  std::uint32_t version;  // PY_VERSION_HEX >> 16, e.g. 0x030C
  // PyInterpreterState, a structure that CPython keeps to itself
  std::uint32_t interpreter_threads;  // the first PyThreadState of its list
  // PyThreadState
  std::uint16_t thread_id;          // pthread_self() of the thread
  std::uint16_t thread_frame;       // the innermost frame; unused where it is found through cframe
  std::uint16_t thread_base_frame;  // what is below the outermost frame, and not on the C stack; kNotThere before 3.15
  std::uint16_t thread_cframe;      // 0: this version has none
  // CFrame, which stands on the C stack of the evaluator
  std::uint16_t cframe_frame;  // kNotThere in 3.10
  // PyFrameObject (3.10) or _PyInterpreterFrame
  std::uint16_t frame_code;
  std::uint16_t frame_previous;
  std::uint16_t frame_instruction;  // 3.10: an int, in code units; later: a pointer into the bytecode
  std::uint16_t frame_owner;        // kNotThere in 3.10
  // PyCodeObject
  std::uint16_t code_first_line;
  std::uint16_t code_filename;
  std::uint16_t code_name;  // the qualified name where there is one
  std::uint16_t code_line_table;
  std::uint16_t code_bytecode;  // kNotThere in 3.10
  std::uint16_t code_version;   // unique to the code object; kNotThere before 3.12
  // PyUnicodeObject
  std::uint16_t ascii_size;
  std::uint16_t compact_size;
  // Frames of these owners are the evaluator's own, on its C stack, and no code of the user's; kNoSuchOwner in 3.10,
  // 3.11.
  std::uint8_t first_evaluator_owner;
  std::uint8_t last_evaluator_owner;
  std::uint8_t code_tag;  // the bits of a frame's pointer to its code that are no part of the address
};

// The same in all versions here.
inline constexpr std::size_t kThreadNext = 8;
inline constexpr std::size_t kObjectType = 8;
inline constexpr std::size_t kObjectSize = 16;  // ob_size of bytes, length of str
inline constexpr std::size_t kBytesData = 32;
inline constexpr std::size_t kStrHash = 24;
inline constexpr std::size_t kStrState = 32;
// Up to here a code object holds all that says which it is: first line, version, pointers to its texts.
inline constexpr std::size_t kCodeHeadEnd = 144;

// What 3.10, 3.11 and 3.12 have, which publish nothing. nullptr for other versions, their alphas and betas too. `hex`:
// PY_VERSION_HEX of the running interpreter, whose lower half may be 0: unknown.
const PythonLayout* unpublished_layout(std::uint32_t hex) noexcept;

// What 3.13 and later publish for debuggers, at the start of _PyRuntime (_Py_DebugOffsets).
enum class Published {
  kRead,
  kUnknownVersion,  // an alpha, a beta, or a minor version whose table and frames are not known here
  kFreeThreaded,
  kImplausible,  // not what a structure of CPython can be: it is not guessed
};
// `layout` is whole for kRead alone.
Published read_published_layout(const void* table, std::uint32_t hex, PythonLayout& layout) noexcept;

}  // namespace turnpike::record
