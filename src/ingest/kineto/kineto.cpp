// The top level of a trace: versions, devices, ranks; the events go on to KinetoRecords.
#include "ingest/kineto/kineto.h"

#include <string>
#include <utility>

#include "ingest/kineto/decimal.h"
#include "ingest/kineto/names.h"
#include "ingest/kineto/open_bytes.h"
#include "ingest/kineto/records.h"

namespace turnpike::ingest {
namespace {

using trace::Loss;

// Calls `on_member` for each member of an object whose text is given.
template <typename OnMember>
Scan for_each_member(JsonCursor& cursor, const OnMember& on_member) {
  JsonValue key;
  JsonValue value;
  for (bool is_end = false;;) {
    if (const Scan scan = cursor.next_key(key, is_end); scan != Scan::kOk || is_end) return scan;
    if (const Scan scan = cursor.value(value); scan != Scan::kOk) return scan;
    on_member(key.text, value);
  }
}

JsonCursor cursor_over(const JsonValue& value) {
  return {value.text.data(), value.text.data() + value.text.size()};
}

// "13.0" for 13000, as CUDA numbers its versions.
std::string cuda_version(std::int64_t number) {
  return std::to_string(number / 1000) + '.' + std::to_string(number % 1000 / 10);
}

// What the keys beside the events say. They may come in any order, before the events or behind them.
class TopLevel {
 public:
  TopLevel(KinetoRecords& records, trace::Process& process) : records_(records), process_(process) {}

  void take(std::string_view key, const JsonValue& value) {
    if (key == "deviceProperties" && value.kind == JsonValue::Kind::kArray) return take_devices(value);
    if (key == "otherData" && value.kind == JsonValue::Kind::kObject) return take_writer(value);
    if (key == "distributedInfo" && value.kind == JsonValue::Kind::kObject) return take_ranks(value);
    const auto number = integer_of(value.text);
    if (!number) return;
    if (key == "baseTimeNanoseconds") records_.set_base_time(*number);
    if (key == "cuda_runtime_version" || key == "cuda_driver_version") put(key, cuda_version(*number));
    if (key == "cupti_version") put(key, std::string(value.text));
    if (key == "with_stack" && *number != 0) put("profiled_stacks", "yes");
  }

  // The file was made from a recording of ours, whose records it holds in another shape.
  bool is_our_export() const { return is_our_export_; }

 private:
  void take_writer(const JsonValue& object) {
    JsonCursor cursor = cursor_over(object);
    (void)for_each_member(cursor, [&](std::string_view key, const JsonValue& value) {
      if (key == "written_by" && value.text.starts_with("turnpike ")) is_our_export_ = true;
    });
  }

  void put(std::string_view key, std::string value) { process_.metadata[std::string(key)] = std::move(value); }

  void take_devices(const JsonValue& list) {
    JsonCursor cursor = cursor_over(list);
    cursor.advance();
    while (cursor.peek() == '{') {
      if (!take_device(cursor)) return;
      if (cursor.peek() == ',') cursor.advance();
    }
  }

  bool take_device(JsonCursor& cursor) {
    JsonValue name;
    std::int64_t id = kAbsent;
    std::int64_t multiprocessors = 0;
    std::int64_t memory_bytes = 0;
    const Scan scan = for_each_member(cursor, [&](std::string_view key, const JsonValue& value) {
      if (key == "name") name = value;
      if (key == "id") id = integer_of(value.text).value_or(kAbsent);
      if (key == "numSms") multiprocessors = integer_of(value.text).value_or(0);
      if (key == "totalGlobalMem") memory_bytes = integer_of(value.text).value_or(0);
    });
    if (scan != Scan::kOk) return false;
    if (id >= 0 && id < std::int64_t{trace::kUnknownId}) {
      records_.add_device(static_cast<std::uint32_t>(id), unescaped(name.text), multiprocessors, memory_bytes);
    }
    return true;
  }

  void take_ranks(const JsonValue& object) {
    JsonCursor cursor = cursor_over(object);
    std::string backend;
    std::string nccl_version;
    std::string group_count;
    std::string groups;
    // What can be read of it is used: the text was found whole before.
    (void)for_each_member(cursor, [&](std::string_view key, const JsonValue& value) {
      if ((key == "rank" || key == "world_size") && integer_of(value.text)) put(key, std::string(value.text));
      if (key == "backend") backend = unescaped(value.text);
      if (key == "nccl_version") nccl_version = unescaped(value.text);
      if (key == "pg_count") group_count = std::string(value.text);
      if (key == "pg_config") groups = std::string(value.text);
    });
    if (backend.empty()) return;
    // What all ranks of a job have in common. Of several groups each rank lists its own ones.
    std::string common = backend + " " + nccl_version + " " + group_count;
    if (group_count == "1") common += " " + groups;
    put("process_group", common.substr(0, kMaxGroupBytes));
  }

  static constexpr std::size_t kMaxGroupBytes = 1024;

  KinetoRecords& records_;
  trace::Process& process_;
  bool is_our_export_ = false;
};

void add_losses(trace::Process& process, const EventStream& stream, const ByteSource& source) {
  const auto add = [&](Loss loss, std::uint64_t count) {
    if (count > 0) process.losses[static_cast<std::uint32_t>(loss)] += count;
  };
  const StreamLosses& losses = stream.losses();
  add(Loss::kUnreadableEvent, losses.unreadable_events);
  add(Loss::kDamagedBytes, losses.cut_off_bytes + source.damaged_bytes());
  if (stream.has_event_list() && !losses.is_closed) add(Loss::kNotClosed, 1);
}

}  // namespace

Result<trace::Process> read_kineto(ByteSource& source, const std::string& name, trace::RecordSink& sink,
                                   const trace::Progress& progress, std::size_t window_bytes,
                                   std::size_t max_event_bytes) {
  trace::Process process;
  process.path = name;
  KinetoRecords records;
  TopLevel top_level(records, process);
  EventStream stream(source, window_bytes, max_event_bytes);
  if (progress) {
    stream.set_progress([&] { progress(source.consumed_bytes(), source.file_bytes()); });
  }
  const Status read = stream.read([&](const KinetoEvent& event) { records.add(event); },
                                  [&](std::string_view key, const JsonValue& value) { top_level.take(key, value); });
  if (!read) return Error{name + " cannot be read: " + read.error().message};
  if (top_level.is_our_export()) {
    return Error{name +
                 " was exported by Turnpike for trace viewers, and does not hold all that the run holds. Give the run "
                 "(NAME.tpk) that it was made from."};
  }
  if (!stream.has_event_list()) {
    return Error{name +
                 " is JSON, but no trace: it has no list `traceEvents`. Give the file that torch.profiler's "
                 "export_chrome_trace wrote."};
  }
  if (!records.has_known_events()) {
    return Error{name +
                 " holds no events of torch.profiler. Give the file that its export_chrome_trace wrote, or a "
                 "recording of Turnpike."};
  }
  records.finish(process, sink);
  add_losses(process, stream, source);
  return process;
}

Result<trace::Process> read_kineto(const std::filesystem::path& path, trace::RecordSink& sink,
                                   const trace::Progress& progress) {
  auto source = open_bytes(path);
  if (!source) return source.error();
  return read_kineto(**source, path.string(), sink, progress);
}

}  // namespace turnpike::ingest
