// Runs a few lines of Python that read the graphs of torch.fx, and keeps what they found.
#include "record/stacks/compiled_lines.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <mutex>
#include <new>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "record/stacks/python_call.h"

namespace turnpike::record {
namespace {

constexpr char kScript[] =
#include "record/stacks/compiled_lines.inc"
    ;
constexpr int kFileInput = 257;  // Py_file_input
constexpr std::size_t kFieldsOfALine = 5;
// Of a stack; a program that compiles a new function at each step could want any number of files.
constexpr std::size_t kMaxSources = 64;
constexpr std::size_t kMaxFiles = 1 << 14;

using LinesOfFile = std::unordered_map<std::uint32_t, std::vector<SourceLine>>;

// Behind a mutex that nobody holds while he waits for Python's lock.
struct Shared {
  std::mutex mutex;
  std::unordered_set<std::string> files;  // ever wanted
  std::string wanted;                     // and not looked for yet, separated by zeros
  bool is_asked = false;
  std::unordered_map<std::string, LinesOfFile> found;
};
Shared& shared() {
  // Never destroyed: threads may call CUDA while a process ends.
  static auto* const kShared = new Shared;
  return *kShared;
}

struct Interpreter {
  void* (*compile)(const char*, const char*, int);
  void* (*evaluate)(void*, void*, void*);
  void* (*builtins)();
  void* (*new_dict)();
  int (*set_item)(void*, const char*, void*);
  void* (*get_item)(void*, const char*);
  void* (*new_bytes)(const char*, std::ptrdiff_t);
  void* (*call_function)(void*, const char*, ...);
  int (*bytes_of)(void*, char**, std::ptrdiff_t*);
  void (*drop)(void*);
  void (*clear_error)();
  int (*is_error)(void*);
};

bool find_interpreter(Interpreter& python) {
  return find(python.compile, "Py_CompileString") && find(python.evaluate, "PyEval_EvalCode") &&
         find(python.builtins, "PyEval_GetBuiltins") && find(python.new_dict, "PyDict_New") &&
         find(python.set_item, "PyDict_SetItemString") && find(python.get_item, "PyDict_GetItemString") &&
         find(python.new_bytes, "PyBytes_FromStringAndSize") && find(python.call_function, "PyObject_CallFunction") &&
         find(python.bytes_of, "PyBytes_AsStringAndSize") && find(python.drop, "Py_DecRef") &&
         find(python.clear_error, "PyErr_Clear") && find(python.is_error, "PyErr_ExceptionMatches");
}

// Runs the script once, and keeps its names for later calls. nullptr: it could not run; what a handler of a signal may
// have raised meanwhile is set.
void* names_of_script(const Interpreter& python) {
  static void* g_names;  // guarded by Python's lock
  if (g_names != nullptr) return g_names;
  void* const names = python.new_dict();
  const bool has_builtins = names != nullptr && python.set_item(names, "__builtins__", python.builtins()) == 0;
  void* const code = has_builtins ? python.compile(kScript, "<turnpike>", kFileInput) : nullptr;
  void* const result = code == nullptr ? nullptr : python.evaluate(code, names, names);
  auto* const no_module = python_symbol<void**>("PyExc_ImportError");
  if (result != nullptr) {
    g_names = names;
  } else if (code == nullptr || (no_module != nullptr && python.is_error(*no_module) != 0)) {
    python.clear_error();
  }
  python.drop(code);
  python.drop(result);
  if (g_names == nullptr) python.drop(names);
  return g_names;
}

std::uint32_t number_in(std::string_view text) {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void keep(std::string_view answer) {
  Shared& lines = shared();
  const std::lock_guard lock(lines.mutex);
  std::string_view fields[kFieldsOfALine];
  std::size_t count = 0;
  for (std::size_t at = 0; at <= answer.size() && !answer.empty();) {
    const std::size_t end = std::min(answer.find('\0', at), answer.size());
    fields[count++] = answer.substr(at, end - at);
    at = end + 1;
    if (count < kFieldsOfALine) continue;
    count = 0;
    auto& sources = lines.found[std::string(fields[0])][number_in(fields[1])];
    if (sources.size() == kMaxSources) continue;
    sources.push_back({std::string(fields[2]), std::string(fields[3]), number_in(fields[4])});
  }
}

// Entered for files of which nothing is known, too: then a line of them is unknown, and no longer not yet known.
void mark_known(std::string_view files) {
  Shared& lines = shared();
  const std::lock_guard lock(lines.mutex);
  for (std::size_t at = 0; at < files.size();) {
    const std::size_t end = std::min(files.find('\0', at), files.size());
    lines.found.try_emplace(std::string(files.substr(at, end - at)));
    at = end + 1;
  }
}

// False: an exception is set, and it is the program's.
bool look_for(const Interpreter& python, const std::string& wanted) {
  void* const names = names_of_script(python);
  if (names == nullptr) return python_symbol<void* (*)()>("PyErr_Occurred")() == nullptr;
  void* const files = python.new_bytes(wanted.data(), static_cast<std::ptrdiff_t>(wanted.size()));
  void* const answer = files == nullptr ? nullptr : python.call_function(python.get_item(names, "find"), "O", files);
  python.drop(files);
  if (answer == nullptr) return false;
  char* text = nullptr;
  std::ptrdiff_t size = 0;
  if (python.bytes_of(answer, &text, &size) == 0) {
    keep({text, static_cast<std::size_t>(size)});
  } else {
    python.clear_error();
  }
  python.drop(answer);
  return true;
}

int look(void*) {
  return look_for_compiled_lines() ? 0 : -1;
}

}  // namespace

void want_compiled_lines(const std::string& file) {
  Shared& lines = shared();
  {
    const std::lock_guard lock(lines.mutex);
    if (lines.files.size() >= kMaxFiles || !lines.files.insert(file).second) return;
    if (!lines.wanted.empty()) lines.wanted += '\0';
    lines.wanted += file;
  }
  ask_for_compiled_lines();
}

void ask_for_compiled_lines() noexcept {
  const PythonRuntime* python = known_python();
  if (python == nullptr || is_ending(*python)) return;
  Shared& lines = shared();
  {
    const std::lock_guard lock(lines.mutex);
    if (lines.wanted.empty() || std::exchange(lines.is_asked, true)) return;
  }
  if (call_in_python(*python, look)) return;
  const std::lock_guard lock(lines.mutex);
  lines.is_asked = false;
}

CompiledAnswer compiled_from(const std::string& file, std::uint32_t line, std::vector<SourceLine>& sources) {
  Shared& lines = shared();
  const std::lock_guard lock(lines.mutex);
  const auto found = lines.found.find(file);
  if (found == lines.found.end())
    return lines.files.contains(file) ? CompiledAnswer::kNotYet : CompiledAnswer::kUnknown;
  const auto at = found->second.find(line);
  if (at == found->second.end()) return CompiledAnswer::kUnknown;
  sources = at->second;
  return CompiledAnswer::kFound;
}

bool look_for_compiled_lines() noexcept {
  try {
    Shared& lines = shared();
    std::string wanted;
    {
      const std::lock_guard lock(lines.mutex);
      wanted.swap(lines.wanted);
      lines.is_asked = false;
    }
    Interpreter python;
    bool is_well = true;
    if (!wanted.empty() && find_interpreter(python)) is_well = look_for(python, wanted);
    mark_known(wanted);
    return is_well;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

namespace {

// An exception of Python, between two functions that hold its lock.
struct PythonError {
  void *type, *value, *traceback;
};
PythonError g_postponed;

int raise_postponed(void*) {
  void (*restore)(void*, void*, void*);
  const PythonError error = std::exchange(g_postponed, {});
  if (error.type == nullptr || !find(restore, "PyErr_Restore")) return 0;
  restore(error.type, error.value, error.traceback);
  return -1;
}

}  // namespace

void find_compiled_lines_now() noexcept {
  const PythonRuntime* python = known_python();
  int (*ensure)();
  void (*release)(int);
  void (*fetch)(void**, void**, void**);
  void (*restore)(void*, void*, void*);
  if (python == nullptr || is_ending(*python) || !find(ensure, "PyGILState_Ensure") ||
      !find(release, "PyGILState_Release") || !find(fetch, "PyErr_Fetch") || !find(restore, "PyErr_Restore")) {
    return;
  }
  const int state = ensure();
  PythonError callers{};
  fetch(&callers.type, &callers.value, &callers.traceback);
  if (!look_for_compiled_lines()) {
    // Of two, the first one waits.
    PythonError raised{};
    fetch(&raised.type, &raised.value, &raised.traceback);
    if (g_postponed.type == nullptr && call_in_python(*python, raise_postponed)) {
      g_postponed = raised;
    } else {
      restore(raised.type, raised.value, raised.traceback);
      python_symbol<void (*)()>("PyErr_Clear")();
    }
  }
  restore(callers.type, callers.value, callers.traceback);
  release(state);
}

void before_fork_of_compiled_lines() noexcept {
  shared().mutex.lock();
}

void after_fork_of_compiled_lines() noexcept {
  shared().mutex.unlock();
}

}  // namespace turnpike::record
