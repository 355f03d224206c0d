// The CPython of this process, if there is one: its functions and the layout of its structures.
#include "record/stacks/python_runtime.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/hot.h"

namespace turnpike::record {
namespace {

// PY_VERSION_HEX of the running interpreter; before 3.11 its upper half alone. 0 when it does not say.
std::uint32_t version_hex() noexcept {
  if (const auto* number = python_symbol<const unsigned long*>("Py_Version"))
    return static_cast<std::uint32_t>(*number);
  // Before 3.11 only the text, "3.10.13 (main, ...".
  const auto text_of = python_symbol<const char* (*)()>("Py_GetVersion");
  if (text_of == nullptr) return 0;
  char* rest = nullptr;
  const auto major = static_cast<std::uint32_t>(std::strtoul(text_of(), &rest, 10));
  if (*rest != '.') return 0;
  return major << 24 | static_cast<std::uint32_t>(std::strtoul(rest + 1, nullptr, 10)) << 16;
}

// These three are written by the one thread that set kLooking, before kFound or kUnknown.
TURNPIKE_HOT_DATA PythonRuntime g_runtime;
TURNPIKE_HOT_DATA PythonLayout g_layout;
char g_unknown[64];
enum State : int { kNone, kLooking, kFound, kUnknown };
TURNPIKE_HOT_DATA std::atomic<int> g_state{kNone};

constexpr std::uint32_t kFirstPublished = 0x030D;

// nullptr when the layout was found; else why it was not, in the words behind the version.
const char* find_layout() noexcept {
  // Such a build has two more words in every object.
  if (python_symbol<void*>("_Py_PrintReferences") != nullptr) return " (tracing references)";
  // There the references in frames are numbers, and no addresses.
  if (python_symbol<void*>("_Py_stackref_get_object") != nullptr) return " (debugging references)";
  const std::uint32_t hex = version_hex();
  if (hex >> 16 < kFirstPublished) {
    const PythonLayout* found = unpublished_layout(hex);
    if (found == nullptr) return "";
    g_layout = *found;
    return nullptr;
  }
  const void* table = python_symbol<const void*>("_PyRuntime");
  if (table == nullptr) return " (which publishes no offsets)";
  switch (read_published_layout(table, hex, g_layout)) {
    case Published::kRead:
      return nullptr;
    case Published::kUnknownVersion:
      return "";
    case Published::kFreeThreaded:
      return " (free-threaded)";
    case Published::kImplausible:
      break;
  }
  return " (whose published offsets make no sense)";
}

void note_unknown(const char* why) noexcept {
  const auto text_of = python_symbol<const char* (*)()>("Py_GetVersion");
  const char* version = text_of == nullptr ? "of no known version" : text_of();
  const int length =
      text_of == nullptr ? static_cast<int>(std::strlen(version)) : static_cast<int>(std::strcspn(version, " "));
  std::snprintf(g_unknown, sizeof g_unknown, "%.*s%s", std::min(length, 20), version, why);
}

int look() noexcept {
  g_runtime.this_thread_state = python_symbol<void* (*)()>("PyGILState_GetThisThreadState");
  if (g_runtime.this_thread_state == nullptr) return kNone;
  const char* why = find_layout();
  g_runtime.layout = &g_layout;
  g_runtime.holds_gil = python_symbol<int (*)()>("PyGILState_Check");
  g_runtime.is_initialized = python_symbol<int (*)()>("Py_IsInitialized");
  g_runtime.is_finalizing = python_symbol<int (*)()>("_Py_IsFinalizing");
  if (g_runtime.is_finalizing == nullptr) g_runtime.is_finalizing = python_symbol<int (*)()>("Py_IsFinalizing");
  g_runtime.main_interpreter = python_symbol<void* (*)()>("PyInterpreterState_Main");
  g_runtime.code_type = python_symbol<const void*>("PyCode_Type");
  g_runtime.str_type = python_symbol<const void*>("PyUnicode_Type");
  g_runtime.bytes_type = python_symbol<const void*>("PyBytes_Type");
  const bool is_whole = g_runtime.holds_gil != nullptr && g_runtime.is_initialized != nullptr &&
                        g_runtime.is_finalizing != nullptr && g_runtime.code_type != nullptr &&
                        g_runtime.str_type != nullptr && g_runtime.bytes_type != nullptr;
  if (why == nullptr && !is_whole) why = " (which lacks a function)";
  if (why == nullptr) return kFound;
  note_unknown(why);
  return kUnknown;
}

}  // namespace

TURNPIKE_HOT const PythonRuntime* known_python() noexcept {
  return g_state.load(std::memory_order_acquire) == kFound ? &g_runtime : nullptr;
}

const char* unknown_python() noexcept {
  return g_state.load(std::memory_order_acquire) == kUnknown ? g_unknown : nullptr;
}

const PythonRuntime* find_python() noexcept {
  int state = kNone;
  if (g_state.compare_exchange_strong(state, kLooking, std::memory_order_acquire)) {
    g_state.store(look(), std::memory_order_release);
  }
  return known_python();
}

}  // namespace turnpike::record
