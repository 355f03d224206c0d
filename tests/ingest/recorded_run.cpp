// The writers: each puts down what its format carries and no more.
#include "ingest/recorded_run.h"

#include <cxxabi.h>
#include <sqlite3.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>

#include "analyze/model/operators.h"

namespace turnpike::ingest {
namespace {

using trace::AutogradRole;
using trace::CopyKind;
using trace::MemoryKind;

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? std::string(name.get()) : symbol;
}

const char* copy_name(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHostToDevice:
      return "HtoD";
    case CopyKind::kDeviceToHost:
      return "DtoH";
    case CopyKind::kDeviceToDevice:
      return "DtoD";
    default:
      throw std::runtime_error("a kind of copy that the example does not have");
  }
}

const char* memory_name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kPageable:
      return "Pageable";
    case MemoryKind::kPinned:
      return "Pinned";
    case MemoryKind::kDevice:
      return "Device";
    default:
      throw std::runtime_error("a kind of memory that the example does not have");
  }
}

// Rows of one table, inserted as they come.
class Table {
 public:
  Table(sqlite3* database, const std::string& name, const std::string& columns, int count) {
    check(sqlite3_exec(database, ("CREATE TABLE " + name + " (" + columns + ")").c_str(), nullptr, nullptr, nullptr));
    std::string sql = "INSERT INTO " + name + " VALUES (?";
    for (int i = 1; i < count; ++i) sql += ",?";
    check(sqlite3_prepare_v2(database, (sql + ")").c_str(), -1, &statement_, nullptr));
  }
  ~Table() { sqlite3_finalize(statement_); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  template <typename... Values>
  void add(const Values&... values) {
    int place = 0;
    (bind(++place, values), ...);
    if (sqlite3_step(statement_) != SQLITE_DONE) throw std::runtime_error("a row was not written");
    sqlite3_reset(statement_);
  }

 private:
  static void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errstr(code));
  }
  void bind(int place, std::int64_t value) { sqlite3_bind_int64(statement_, place, value); }
  void bind(int place, std::nullptr_t) { sqlite3_bind_null(statement_, place); }
  void bind(int place, const std::string& text) {
    sqlite3_bind_text(statement_, place, text.c_str(), -1, SQLITE_TRANSIENT);
  }

  sqlite3_stmt* statement_ = nullptr;
};

std::int64_t signed_of(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

class NsysWriter {
 public:
  NsysWriter(const RecordedRun& run, sqlite3* database)
      : run_(run),
        process_(std::int64_t{1} << 48 | std::int64_t{run.process.pid} << 24),
        epoch_ns_(run.process.start_realtime_ns),
        strings_(database, "StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL", 2),
        start_(database, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER", 1),
        calls_(
            database, "CUPTI_ACTIVITY_KIND_RUNTIME",
            "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, "
            "returnValue INTEGER, callchainId INTEGER",
            8),
        waits_(database, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kWork + "syncType INTEGER, eventId INTEGER", 9),
        copies_(database, "CUPTI_ACTIVITY_KIND_MEMCPY",
                kWork + "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER", 11),
        memsets_(database, "CUPTI_ACTIVITY_KIND_MEMSET", kWork + "value INTEGER, bytes INTEGER, memKind INTEGER", 10),
        kernels_(database, "CUPTI_ACTIVITY_KIND_KERNEL",
                 kWork + "demangledName INTEGER, shortName INTEGER, mangledName INTEGER", 10),
        ranges_(database, "NVTX_EVENTS",
                "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER", 6),
        chains_(database, "CUDA_CALLCHAINS",
                "id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, stackDepth INTEGER, "
                "PRIMARY KEY (id, stackDepth)",
                5),
        threads_(database, "ThreadNames", "nameId INTEGER, priority INTEGER, globalTid INTEGER", 3),
        gpus_(database, "TARGET_INFO_GPU", "id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER", 4) {}

  void write() {
    start_.add(epoch_ns_);
    for (const auto& device : run_.devices) {
      gpus_.add(device.device, run_.text(device.name), signed_of(device.memory_bytes), device.multiprocessors);
    }
    for (const auto& thread : run_.threads)
      threads_.add(string_id(run_.text(thread.name)), 0, thread_id(thread.thread));
    for (const auto& call : run_.calls) write_call(call);
    for (const auto& copy : run_.copies) write_copy(copy);
    for (const auto& memset : run_.memsets) {
      memsets_.add(at(memset.start_ns), at(memset.end_ns), memset.device, memset.context, memset.stream,
                   memset.correlation, process_, memset.value, signed_of(memset.bytes),
                   kind_number(memset.memory_kind));
    }
    for (const auto& kernel : run_.kernels) {
      const std::string& name = run_.text(kernel.name);
      kernels_.add(at(kernel.start_ns), at(kernel.end_ns), kernel.device, kernel.context, kernel.stream,
                   kernel.correlation, process_, string_id(demangled(name)), string_id(name), string_id(name));
    }
    for (const auto& range : run_.ranges) {
      ranges_.add(at(range.start_ns), at(range.end_ns), 59, run_.text(range.name), thread_id(range.thread), 0);
    }
  }

 private:
  static inline const std::string kWork =
      "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, "
      "globalPid INTEGER, ";

  std::int64_t at(std::int64_t time_ns) const { return time_ns - epoch_ns_; }
  std::int64_t thread_id(std::uint32_t thread) const { return process_ | thread; }
  // Nsight Systems' numbers, not CUPTI's: unknown is 7.
  static std::int64_t kind_number(MemoryKind kind) {
    return kind == MemoryKind::kUnknown ? 7 : static_cast<std::int64_t>(kind) - 1;
  }

  std::int64_t string_id(const std::string& text) {
    const auto [entry, is_new] = string_ids_.try_emplace(text, static_cast<std::int64_t>(string_ids_.size() + 1));
    if (is_new) strings_.add(entry->second, text);
    return entry->second;
  }

  void write_call(const trace::CallRecord& call) {
    const bool is_runtime = call.api == trace::Api::kRuntime;
    calls_.add(at(call.start_ns), at(call.end_ns), is_runtime ? 0 : 1, thread_id(call.thread), call.correlation,
               string_id(run_.text(call.name) + (is_runtime ? "_v3020" : "")), call.result, chain_of(call));
    if (call.kind == trace::CallKind::kSynchronize) {
      waits_.add(at(call.start_ns), at(call.end_ns), 0, call.context, call.stream, call.correlation, process_, 3,
                 std::int64_t{0xFFFFFFFF});
    }
    const auto around = enclosing(run_, call);
    std::int64_t margin_ns = static_cast<std::int64_t>(around.size());
    for (const Enclosing& one : around) {
      --margin_ns;
      if (one.kind == Enclosing::Kind::kPython) continue;
      std::string text = one.name;
      if (one.kind == Enclosing::Kind::kNode) {
        text += ", seq = " + std::to_string(call.autograd_sequence);
      } else if (call.autograd_role == AutogradRole::kForward && call.autograd_sequence > 0) {
        text += ", seq = " + std::to_string(call.autograd_sequence - 1);
      }
      ranges_.add(at(call.start_ns) - margin_ns, at(call.end_ns) + margin_ns + 1, 59,
                  text + ", op_id = " + std::to_string(++operation_), thread_id(call.thread), 0);
    }
  }

  // As Nsight Systems does it: every call has a chain of its own.
  std::int64_t chain_of(const trace::CallRecord& call) {
    const auto frames = run_.frames(call);
    if (frames.empty()) return 0;
    ++chain_;
    std::int64_t depth = 0;
    for (const trace::Frame* frame : frames) {
      const bool is_python = frame->kind == trace::FrameKind::kPython;
      const bool has_name = !frame->function.empty();
      const std::string module = frame->file + (is_python ? ":" + std::to_string(frame->line) : "");
      chains_.add(chain_, string_id(has_name ? demangled(frame->function) : "0x7f0000000000"), string_id(module),
                  has_name ? 0 : 1, depth++);
    }
    return chain_;
  }

  void write_copy(const trace::MemcpyRecord& copy) {
    copies_.add(at(copy.start_ns), at(copy.end_ns), copy.device, copy.context, copy.stream, copy.correlation, process_,
                signed_of(copy.bytes), static_cast<std::int64_t>(copy.copy_kind), kind_number(copy.src_kind),
                kind_number(copy.dst_kind));
  }

  const RecordedRun& run_;
  const std::int64_t process_;
  const std::int64_t epoch_ns_;
  Table strings_, start_, calls_, waits_, copies_, memsets_, kernels_, ranges_, chains_, threads_, gpus_;
  std::map<std::string, std::int64_t> string_ids_;
  std::int64_t chain_ = 0;
  std::int64_t operation_ = 0;
};

class KinetoWriter {
 public:
  KinetoWriter(const RecordedRun& run, const std::filesystem::path& path)
      : run_(run), pid_(std::to_string(run.process.pid)), base_ns_(run.process.start_realtime_ns), out_(path) {}

  void write() {
    out_ << R"({"schemaVersion":1,"deviceProperties":[)";
    bool is_first = true;
    for (const auto& device : run_.devices) {
      out_ << (is_first ? "" : ",") << R"({"id":)" << device.device << R"(,"name":)" << quoted(run_.text(device.name))
           << R"(,"totalGlobalMem":)" << device.memory_bytes << R"(,"numSms":)" << device.multiprocessors << "}";
      is_first = false;
    }
    out_ << R"(],"baseTimeNanoseconds":)" << base_ns_ << R"(,"traceEvents":[)";
    for (const auto& call : run_.calls) write_call(call);
    for (const auto& copy : run_.copies) {
      write_device("gpu_memcpy",
                   std::string("Memcpy ") + copy_name(copy.copy_kind) + " (" + memory_name(copy.src_kind) + " -> " +
                       memory_name(copy.dst_kind) + ")",
                   copy, R"(,"bytes":)" + std::to_string(copy.bytes));
    }
    for (const auto& memset : run_.memsets) {
      write_device("gpu_memset", "Memset (Device)", memset, R"(,"bytes":)" + std::to_string(memset.bytes));
    }
    for (const auto& kernel : run_.kernels) write_device("kernel", run_.text(kernel.name), kernel, "");
    for (const auto& range : run_.ranges) {
      event("user_annotation", run_.text(range.name), range.start_ns, range.end_ns, pid_, range.thread, "");
    }
    for (const auto& thread : run_.threads) {
      separate();
      out_ << R"({"ph":"M","name":"thread_name","pid":)" << pid_ << R"(,"tid":)" << thread.thread
           << R"(,"ts":0,"args":{"name":)"
           << quoted("thread " + std::to_string(thread.thread) + " (" + run_.text(thread.name) + ")") << "}}";
    }
    out_ << "]}";
  }

 private:
  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char letter : text) {
      if (letter == '"' || letter == '\\') out += '\\';
      out += letter;
    }
    return out + '"';
  }
  // Microseconds with three decimals.
  static std::string microseconds(std::int64_t ns) {
    const std::string sign = ns < 0 ? "-" : "";
    const auto size = static_cast<std::uint64_t>(std::abs(ns));
    std::string decimals = std::to_string(size % 1000);
    return sign + std::to_string(size / 1000) + '.' + std::string(3 - decimals.size(), '0') + decimals;
  }
  void separate() {
    if (has_events_) out_ << ",\n";
    has_events_ = true;
  }

  void event(const char* category, const std::string& name, std::int64_t start_ns, std::int64_t end_ns,
             const std::string& pid, std::uint64_t tid, const std::string& arguments) {
    separate();
    out_ << R"({"ph":"X","cat":")" << category << R"(","name":)" << quoted(name) << R"(,"pid":)" << pid << R"(,"tid":)"
         << tid << R"(,"ts":)" << microseconds(start_ns - base_ns_) << R"(,"dur":)" << microseconds(end_ns - start_ns)
         << R"(,"args":{)" << arguments << "}}";
  }

  template <typename Record>
  void write_device(const char* category, const std::string& name, const Record& record, const std::string& more) {
    event(category, name, record.start_ns, record.end_ns, std::to_string(record.device), record.stream,
          R"("device":)" + std::to_string(record.device) + R"(,"context":)" + std::to_string(record.context) +
              R"(,"stream":)" + std::to_string(record.stream) + R"(,"correlation":)" +
              std::to_string(record.correlation) + more);
  }

  void write_call(const trace::CallRecord& call) {
    const bool is_runtime = call.api == trace::Api::kRuntime;
    event(is_runtime ? "cuda_runtime" : "cuda_driver", run_.text(call.name), call.start_ns, call.end_ns, pid_,
          call.thread, R"("correlation":)" + std::to_string(call.correlation));
    if (call.kind == trace::CallKind::kSynchronize && call.stream != trace::kUnknownId) {
      event("cuda_sync", "Stream Sync", call.start_ns, call.end_ns, "0", call.stream,
            R"("cuda_sync_kind":"Stream Sync","stream":)" + std::to_string(call.stream) + R"(,"context":)" +
                std::to_string(call.context) + R"(,"correlation":)" + std::to_string(call.correlation));
    }
    const auto around = enclosing(run_, call);
    std::int64_t margin_ns = static_cast<std::int64_t>(around.size());
    for (const Enclosing& one : around) {
      --margin_ns;
      std::string name = one.name;
      std::string arguments;
      const char* category = "cpu_op";
      if (one.kind == Enclosing::Kind::kPython) {
        category = "python_function";
        name = one.frame->file + "(" + std::to_string(one.frame->first_line) + "): " + one.frame->function;
      } else if (one.kind == Enclosing::Kind::kNode) {
        arguments =
            R"("Sequence number":)" + std::to_string(signed_of(call.autograd_sequence)) + R"(,"Fwd thread id":1)";
      } else if (call.autograd_role == AutogradRole::kForward) {
        arguments = R"("Sequence number":)" + std::to_string(call.autograd_sequence);
      }
      event(category, name, call.start_ns - margin_ns, call.end_ns + margin_ns + 1, pid_, call.thread, arguments);
    }
  }

  const RecordedRun& run_;
  const std::string pid_;
  const std::int64_t base_ns_;
  std::ofstream out_;
  bool has_events_ = false;
};

}  // namespace

std::vector<Enclosing> enclosing(const RecordedRun& run, const trace::CallRecord& call) {
  const auto frames = run.frames(call);
  std::vector<Enclosing> around;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if ((*frame)->kind == trace::FrameKind::kPython) around.push_back({Enclosing::Kind::kPython, "", *frame});
  }
  if (call.autograd_role == AutogradRole::kBackward) {
    around.push_back({Enclosing::Kind::kNode, "autograd::engine::evaluate_function: NodeBackward0"});
  }
  const auto operators = analyze::operators_of(frames);
  if (operators.outermost) around.push_back({Enclosing::Kind::kOperator, *operators.outermost});
  if (operators.innermost && operators.innermost != operators.outermost) {
    around.push_back({Enclosing::Kind::kOperator, *operators.innermost});
  }
  return around;
}

void write_as_nsys(const RecordedRun& run, const std::filesystem::path& path) {
  sqlite3* database = nullptr;
  if (sqlite3_open(path.c_str(), &database) != SQLITE_OK) throw std::runtime_error("cannot write " + path.string());
  sqlite3_exec(database, "PRAGMA synchronous=OFF; BEGIN", nullptr, nullptr, nullptr);
  NsysWriter(run, database).write();
  sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr);
  sqlite3_close(database);
}

void write_as_kineto(const RecordedRun& run, const std::filesystem::path& path) {
  KinetoWriter(run, path).write();
}

}  // namespace turnpike::ingest
