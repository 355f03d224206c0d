// The CPython of this process, if there is one: its functions and where the fields of its structures are.
#include "record/stacks/python_runtime.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace turnpike::record {
namespace {

// From offsetof on the headers of 3.10.13, 3.11.7, 3.12.1 and 3.13.0 (x86-64; the sizes are those of any 64-bit build).
// tests/record/stacks checks them against each interpreter.
constexpr PythonLayout kLayouts[] = {
    {.version = 0x030A,
     .interpreter_threads = 8,
     .thread_id = 176,
     .thread_frame = 24,
     .thread_cframe = 48,
     .cframe_frame = kNotThere,
     .frame_code = 32,
     .frame_previous = 24,
     .frame_instruction = 96,
     .frame_owner = kNotThere,
     .code_first_line = 40,
     .code_filename = 104,
     .code_name = 112,
     .code_line_table = 120,
     .code_bytecode = kNotThere,
     .code_version = kNotThere,
     .ascii_size = 48,
     .compact_size = 72,
     .evaluator_owner = kNoSuchOwner},
    {.version = 0x030B,
     .interpreter_threads = 16,
     .thread_id = 152,
     .thread_frame = kNotThere,
     .thread_cframe = 56,
     .cframe_frame = 8,
     .frame_code = 32,
     .frame_previous = 48,
     .frame_instruction = 56,
     .frame_owner = 69,
     .code_first_line = 72,
     .code_filename = 112,
     .code_name = 128,
     .code_line_table = 136,
     .code_bytecode = 184,
     .code_version = kNotThere,
     .ascii_size = 48,
     .compact_size = 72,
     .evaluator_owner = kNoSuchOwner},
    {.version = 0x030C,
     .interpreter_threads = 72,
     .thread_id = 136,
     .thread_frame = kNotThere,
     .thread_cframe = 56,
     .cframe_frame = 0,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_instruction = 56,
     .frame_owner = 70,
     .code_first_line = 68,
     .code_filename = 112,
     .code_name = 128,
     .code_line_table = 136,
     .code_bytecode = 192,
     .code_version = 92,
     .ascii_size = 40,
     .compact_size = 56,
     .evaluator_owner = 3},
    {.version = 0x030D,
     .interpreter_threads = kNotThere,
     .thread_id = 152,
     .thread_frame = 72,
     .thread_cframe = 0,
     .cframe_frame = kNotThere,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_instruction = 56,
     .frame_owner = 70,
     .code_first_line = 68,
     .code_filename = 112,
     .code_name = 128,
     .code_line_table = 136,
     .code_bytecode = 200,
     .code_version = 92,
     .ascii_size = 40,
     .compact_size = 56,
     .evaluator_owner = 3},
};

// The start of what 3.13 publishes at _PyRuntime for debuggers (_Py_DebugOffsets): up to the last field compared here.
struct PublishedOffsets {
  char cookie[8];
  std::uint64_t version;
  std::uint64_t free_threaded;
  std::uint64_t runtime_state[3];
  struct {
    std::uint64_t size, id, next, threads_head, others[9];
  } interpreter;
  struct {
    std::uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id, datastack_chunk, status;
  } thread;
  struct {
    std::uint64_t size, previous, executable, instr_ptr, localsplus, owner;
  } frame;
  struct {
    std::uint64_t size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames, localspluskinds,
        bytecode;
  } code;
};

bool is_as_published(const PythonLayout& layout, const PublishedOffsets& published) noexcept {
  return std::memcmp(published.cookie, "xdebugpy", 8) == 0 && published.version >> 16 == layout.version &&
         published.free_threaded == 0 && published.thread.current_frame == layout.thread_frame &&
         published.thread.next == kThreadNext && published.thread.thread_id == layout.thread_id &&
         published.frame.previous == layout.frame_previous && published.frame.executable == layout.frame_code &&
         published.frame.instr_ptr == layout.frame_instruction && published.frame.owner == layout.frame_owner &&
         published.code.filename == layout.code_filename && published.code.qualname == layout.code_name &&
         published.code.linetable == layout.code_line_table && published.code.firstlineno == layout.code_first_line &&
         published.code.bytecode == layout.code_bytecode;
}

template <typename T>
T symbol(const char* name) noexcept {
  return reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));
}

// PY_VERSION_HEX >> 16 of the running interpreter; 0 when it does not say.
std::uint32_t version() noexcept {
  if (const auto* number = symbol<const unsigned long*>("Py_Version")) return static_cast<std::uint32_t>(*number >> 16);
  // Before 3.11 only the text, "3.10.13 (main, ...".
  const auto text_of = symbol<const char* (*)()>("Py_GetVersion");
  if (text_of == nullptr) return 0;
  char* rest = nullptr;
  const unsigned long major = std::strtoul(text_of(), &rest, 10);
  if (*rest != '.') return 0;
  return static_cast<std::uint32_t>(major << 8 | std::strtoul(rest + 1, nullptr, 10));
}

const PublishedOffsets* published_offsets() noexcept {
  return symbol<const PublishedOffsets*>("_PyRuntime");
}

const PythonLayout* layout_of_this_python() noexcept {
  // Such a build has two more words in every object.
  if (symbol<void*>("_Py_PrintReferences") != nullptr) return nullptr;
  const std::uint32_t wanted = version();
  for (const PythonLayout& layout : kLayouts) {
    if (layout.version != wanted) continue;
    if (wanted < 0x030D) return &layout;
    const auto* published = published_offsets();
    return published != nullptr && is_as_published(layout, *published) ? &layout : nullptr;
  }
  return nullptr;
}

PythonRuntime g_runtime;  // written by the one thread that set kLooking, before kFound
enum State : int { kNone, kLooking, kFound, kNotUsable };
std::atomic<int> g_state{kNone};

int look() noexcept {
  g_runtime.this_thread_state = symbol<void* (*)()>("PyGILState_GetThisThreadState");
  if (g_runtime.this_thread_state == nullptr) return kNone;
  g_runtime.layout = layout_of_this_python();
  g_runtime.holds_gil = symbol<int (*)()>("PyGILState_Check");
  g_runtime.is_initialized = symbol<int (*)()>("Py_IsInitialized");
  g_runtime.is_finalizing = symbol<int (*)()>("_Py_IsFinalizing");
  if (g_runtime.is_finalizing == nullptr) g_runtime.is_finalizing = symbol<int (*)()>("Py_IsFinalizing");
  if (g_runtime.layout != nullptr) {
    const bool is_published = g_runtime.layout->version >= 0x030D;
    g_runtime.interpreter_threads =
        is_published ? published_offsets()->interpreter.threads_head : g_runtime.layout->interpreter_threads;
  }
  g_runtime.main_interpreter = symbol<void* (*)()>("PyInterpreterState_Main");
  g_runtime.code_type = symbol<const void*>("PyCode_Type");
  g_runtime.str_type = symbol<const void*>("PyUnicode_Type");
  g_runtime.bytes_type = symbol<const void*>("PyBytes_Type");
  const bool is_usable = g_runtime.layout != nullptr && g_runtime.holds_gil != nullptr &&
                         g_runtime.is_initialized != nullptr && g_runtime.is_finalizing != nullptr &&
                         g_runtime.code_type != nullptr && g_runtime.str_type != nullptr &&
                         g_runtime.bytes_type != nullptr;
  return is_usable ? kFound : kNotUsable;
}

}  // namespace

const PythonRuntime* known_python() noexcept {
  return g_state.load(std::memory_order_acquire) == kFound ? &g_runtime : nullptr;
}

const PythonRuntime* find_python() noexcept {
  int state = kNone;
  if (g_state.compare_exchange_strong(state, kLooking, std::memory_order_acquire)) {
    g_state.store(look(), std::memory_order_release);
  }
  return known_python();
}

}  // namespace turnpike::record
