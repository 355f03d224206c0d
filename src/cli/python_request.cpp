// CPython publishes a table of the places of its fields. The table comes from another process, so we check each word.
#include "cli/python_request.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>

namespace turnpike::cli {
namespace {

// The positions of words in the table (_Py_DebugOffsets), from the headers of 3.14.10 and 3.15.2.
struct TableForm {
  std::uint32_t version;
  std::size_t debugger_support;  // the last of the table: six words
};
constexpr TableForm kForms[] = {{0x030E, 89}, {0x030F, 105}};
constexpr std::size_t kMostWords = 111;
constexpr std::size_t kVersion = 1;
constexpr std::size_t kIsFreeThreaded = 2;
constexpr std::size_t kRuntimeSize = 3;
constexpr std::size_t kFirstInterpreter = 5;
constexpr std::size_t kInterpreterSize = 6;
constexpr std::size_t kMainThread = 10;
constexpr std::size_t kThreadSize = 22;

constexpr std::uint64_t kMostStructureBytes = 1 << 24;
constexpr std::uint64_t kPathBytes = 512;

// Bits of eval_breaker: what the thread has to look at in its next safe moment.
constexpr std::uint8_t kGilDropRequest = 1 << 0;
constexpr std::uint8_t kSignalsPending = 1 << 1;
constexpr std::uint8_t kCallsToDo = 1 << 2;
constexpr std::uint8_t kAsyncException = 1 << 3;
constexpr std::uint8_t kPleaseStop = 1 << 5;

using Table = std::array<std::uint64_t, kMostWords>;

bool is_final_or_candidate(std::uint64_t version) {
  return (version >> 4 & 0xF) >= 0xC;
}

Error not_known(const std::string& why) {
  return Error{"its Python cannot be asked: " + why};
}

bool may_have_runtime(const MappedFile& file) {
  constexpr int kFirstVersion = 14;
  const std::string name = file.name();
  for (const std::string beginning : {"libpython3.", "python3."}) {
    int minor = 0;
    if (!name.starts_with(beginning)) continue;
    std::from_chars(name.data() + beginning.size(), name.data() + name.size(), minor);
    if (minor >= kFirstVersion) return true;
  }
  return false;
}

Error not_writable() {
  return not_known("it has ended, or the kernel does not let its memory be written");
}

// Of the file that has it, and whose memory says so.
std::uint64_t runtime_of(const TargetProcess& process, const std::vector<MappedFile>& files) {
  for (const MappedFile& file : files) {
    if (!may_have_runtime(file)) continue;
    const auto elf = ElfFile::open(process.id(), file);
    const auto address = elf ? elf->address_of_section(".PyRuntime") : std::nullopt;
    std::array<char, 8> cookie{};
    if (address && process.read(*address, cookie.data(), cookie.size()) &&
        std::memcmp(cookie.data(), "xdebugpy", cookie.size()) == 0)
      return *address;
  }
  return 0;
}

// Whether the fields of a debugger lie inside their structures, where 3.14 and 3.15 have them.
bool is_plausible(const Table& table, std::size_t support) {
  const std::uint64_t eval_breaker = table[support], room = table[support + 1], enabled = table[support + 2];
  return table[kRuntimeSize] < kMostStructureBytes && table[kFirstInterpreter] < table[kRuntimeSize] &&
         table[kInterpreterSize] < kMostStructureBytes && table[kMainThread] < table[kInterpreterSize] &&
         enabled < table[kInterpreterSize] && table[kThreadSize] < table[kInterpreterSize] && eval_breaker < room &&
         room < table[kThreadSize] && kPathBytes < table[kThreadSize] - room && table[support + 3] == 0 &&
         table[support + 4] == sizeof(std::int32_t) && table[support + 5] == kPathBytes;
}

}  // namespace

bool is_python_that_can_be_asked(const std::vector<MappedFile>& files) {
  return std::ranges::any_of(files, may_have_runtime);
}

Result<PythonRequest> PythonRequest::find(const TargetProcess& process, const std::vector<MappedFile>& files) {
  const std::uint64_t runtime = runtime_of(process, files);
  Table table{};
  if (runtime == 0 || !process.read(runtime, table.data(), sizeof table)) return not_known("its runtime is not found");
  const auto* form = std::ranges::find(kForms, static_cast<std::uint32_t>(table[kVersion] >> 16), &TableForm::version);
  if (form == std::end(kForms) || !is_final_or_candidate(table[kVersion])) {
    return not_known("this Turnpike does not know its version");
  }
  if (table[kIsFreeThreaded] != 0) return not_known("it is a free-threaded one");
  const std::size_t support = form->debugger_support;
  if (!is_plausible(table, support)) return not_known("its table of fields is not the one of its version");
  std::uint64_t interpreter = 0, thread = 0;
  std::int32_t is_enabled = 0, pending = 0;
  if (!process.read(runtime + table[kFirstInterpreter], &interpreter, sizeof interpreter) ||
      !process.read(interpreter + table[kMainThread], &thread, sizeof thread) ||
      !process.read(interpreter + table[support + 2], &is_enabled, sizeof is_enabled)) {
    return not_known("it is starting or ending");
  }
  if (is_enabled != 1) return Error{"its Python forbids remote debugging (PYTHON_DISABLE_REMOTE_DEBUG)"};
  // Other threads end while we write, and their memory becomes something else. The main thread's never does.
  if (thread < interpreter || thread - interpreter >= table[kInterpreterSize]) {
    return not_known("its main thread is not the one that Python started on");
  }
  PythonRequest request(process);
  request.eval_breaker_ = thread + table[support];
  request.pending_ = thread + table[support + 1];
  request.path_ = request.pending_ + table[support + 4];
  if (!process.read(request.pending_, &pending, sizeof pending)) return not_known("it is ending");
  if (pending != 0) return not_known("another debugger has just asked it");
  return request;
}

Status PythonRequest::make(const std::string& script) const {
  constexpr int kTries = 200;
  constexpr std::int32_t kPending = 1;
  if (script.size() >= kPathBytes) return Error{"the path of the script is too long: " + script};
  if (!process_->write(path_, script.c_str(), script.size() + 1)) return not_writable();
  if (!process_->write(pending_, &kPending, sizeof kPending)) return not_writable();
  // The program changes these bits, too, and we can only read and then write all of them. A bit that the program sets
  // between our two steps is lost. Nobody would set the bits of signals, calls and exceptions again, so we set them:
  // the thread looks and finds nothing. Others repeat their request. We never write the request to drop the GIL: a
  // thread that drops it waits until another one takes it.
  for (int tries = 0; tries < kTries; ++tries) {
    std::uint8_t bits = 0;
    if (!process_->read(eval_breaker_, &bits, sizeof bits)) return not_known("it has ended");
    if ((bits & kGilDropRequest) != 0) {
      ::usleep(500);
      continue;
    }
    bits |= kPleaseStop | kSignalsPending | kCallsToDo | kAsyncException;
    return process_->write(eval_breaker_, &bits, sizeof bits) ? Status() : not_writable();
  }
  return {};  // other threads want the GIL all the time, and with each change the main thread sees the request
}

bool PythonRequest::is_taken() const {
  std::int32_t pending = 0;
  return process_->read(pending_, &pending, sizeof pending) && pending == 0;
}

void PythonRequest::take_back() const {
  constexpr std::int32_t kNotPending = 0;
  constexpr char kNoPath = 0;
  process_->write(pending_, &kNotPending, sizeof kNotPending);
  process_->write(path_, &kNoPath, sizeof kNoPath);
}

}  // namespace turnpike::cli
