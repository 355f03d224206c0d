// The CPython of this process, if there is one: its functions and where the fields of its structures are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace turnpike::record {

// Offsets in bytes of the fields that lead from a thread to the executing lines. They belong to the ABI of one minor
// version: CPython freezes these structures at the first release candidate.
struct PythonLayout {
  std::uint32_t version;  // PY_VERSION_HEX >> 16, e.g. 0x030C
  // PyInterpreterState, a structure that CPython keeps to itself
  std::uint16_t interpreter_threads;  // the first PyThreadState of its list; 3.13 publishes it
  // PyThreadState
  std::uint16_t thread_id;      // pthread_self() of the thread
  std::uint16_t thread_frame;   // the innermost frame; unused where the frame is found through cframe
  std::uint16_t thread_cframe;  // 0: this version has none
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
  // A frame of this owner is the evaluator's own, on its C stack, and no code of the user's; kNoSuchOwner
  // in 3.10, 3.11.
  std::uint8_t evaluator_owner;
};
inline constexpr std::uint16_t kNotThere = 0xFFFF;
inline constexpr std::uint8_t kNoSuchOwner = 0xFF;

// The same in all versions here.
inline constexpr std::size_t kThreadNext = 8;
inline constexpr std::size_t kObjectType = 8;
inline constexpr std::size_t kObjectSize = 16;  // ob_size of bytes, length of str
inline constexpr std::size_t kBytesData = 32;
inline constexpr std::size_t kStrHash = 24;
inline constexpr std::size_t kStrState = 32;

struct PythonRuntime {
  const PythonLayout* layout;
  void* (*this_thread_state)();
  int (*holds_gil)();
  int (*is_initialized)();
  int (*is_finalizing)();
  void* (*main_interpreter)();        // nullptr where it is not offered
  std::uint64_t interpreter_threads;  // as in the layout; later patches of 3.13 may put it elsewhere and say so
  // Addresses of the type objects: what an object's type must be before it is read as one.
  const void* code_type;
  const void* str_type;
  const void* bytes_type;
};

// From then on the states and frames of threads that still run may be freed.
inline bool is_ending(const PythonRuntime& python) noexcept {
  return python.is_initialized() == 0 || python.is_finalizing() != 0;
}

// nullptr while this process has no CPython, and for good when it has one whose structures are not known here (other
// versions, free-threaded and Py_TRACE_REFS builds). A program may load Python after CUDA, so as long as none was found
// every call looks again: callers space their calls. A libpython that a host loaded RTLD_LOCAL is not found. Any
// thread.
const PythonRuntime* find_python() noexcept;

// What find_python() last found, without looking.
const PythonRuntime* known_python() noexcept;

}  // namespace turnpike::record
