#include "report/chrome/events.h"

#include <algorithm>

#include "analyze/model/direction.h"
#include "analyze/model/place.h"
#include "base/demangle.h"
#include "trace/frames.h"

namespace turnpike::report {
namespace {

std::uint64_t duration_of(std::int64_t start_ns, std::int64_t end_ns) {
  return end_ns <= start_ns ? 0 : static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(start_ns);
}

std::string kind_text(trace::MemoryKind kind) {
  return analyze::name_of(kind).value_or("unknown");
}

std::string copy_name(const trace::MemcpyRecord& copy) {
  const auto direction = analyze::direction_of(copy);
  const std::string way = direction ? analyze::name_of(*direction) : "of unknown direction";
  return "copy " + way + " (" + kind_text(copy.src_kind) + " > " + kind_text(copy.dst_kind) + ")";
}

void add_known(JsonFields& fields, const char* key, std::uint32_t id) {
  if (id != trace::kUnknownId) fields.add(key, std::uint64_t{id});
}

void add_size(JsonFields& fields, std::uint64_t bytes, std::uint64_t duration_ns) {
  fields.add("bytes", bytes);
  if (duration_ns > 0) fields.add_decimal("gb_per_s", static_cast<double>(bytes) / static_cast<double>(duration_ns));
}

template <typename Record>
void add_work_ids(JsonFields& fields, const Record& record) {
  fields.add("correlation", std::uint64_t{record.correlation});
  add_known(fields, "stream", record.stream);
  if (record.graph_node != 0) fields.add("graph_node", record.graph_node);
}

const char* migration_name(trace::MigrationKind kind) {
  switch (kind) {
    case trace::MigrationKind::kHostToDevice:
      return "migration h2d";
    case trace::MigrationKind::kDeviceToHost:
      return "migration d2h";
    case trace::MigrationKind::kDeviceToDevice:
      return "migration d2d";
    case trace::MigrationKind::kFault:
      return "page fault";
  }
  return "migration";
}

std::string stack_json(const std::vector<std::string>& stack) {
  std::string json = "[";
  for (const std::string& frame : stack) json += (json.size() > 1 ? "," : "") + json_string(frame);
  return json + "]";
}

JsonFields fields_of(const analyze::Where& place, const std::vector<std::string>& stack) {
  JsonFields fields;
  if (!place.site.empty()) fields.add("site", place.site);
  if (place.function) fields.add("function", *place.function);
  if (place.op) fields.add("op", *place.op);
  if (place.phase) fields.add("phase", analyze::name_of(*place.phase));
  if (!stack.empty()) fields.add_json("stack", stack_json(stack));
  return fields;
}

}  // namespace

template <typename Record>
std::optional<TraceRow> ChromeEvents::next_row(const Record& record) {
  const std::uint32_t ordinal = next_ordinal_++;
  // Appended since the first reading, or without times.
  if (ordinal >= index_.record_count() || !has_times(record.start_ns, record.end_ns)) return std::nullopt;
  return layout_.row(number_, index_.tracks().at(track_of(record)), index_.lanes().lane_of(ordinal));
}

template <typename Record>
std::optional<TraceRow> ChromeEvents::draw(const Record& record, const Slice& slice) {
  const auto row = next_row(record);
  if (row) {
    const std::uint64_t duration_ns = duration_of(record.start_ns, record.end_ns);
    writer_.slice(*row, slice.category, slice.name, record.start_ns, duration_ns, slice.args);
  }
  return row;
}

template <typename Record>
void ChromeEvents::draw_work(const Record& record, Slice slice) {
  const Cause* cause = index_.cause_of(record.correlation);
  std::uint32_t stack = record.graph_node == 0 ? trace::kNoId : index_.stack_of_node(record.graph_node);
  bool is_backward = false;
  if (stack == trace::kNoId && cause != nullptr) {
    stack = cause->stack;
    is_backward = cause->is_backward != 0;
  }
  add_work_ids(slice.args, record);
  slice.args.append(place_fields(stack, is_backward));
  const auto row = draw(record, slice);
  if (row && cause != nullptr) writer_.flow(slice.category, row_of(*cause), cause->start_ns, *row, record.start_ns);
}

TraceRow ChromeEvents::row_of(const Cause& cause) const {
  return layout_.row(number_, cause.track, index_.lanes().lane_of(cause.ordinal));
}

const std::string& ChromeEvents::place_fields(std::uint32_t stack, bool is_backward) {
  const auto [found, is_new] = places_.try_emplace(std::uint64_t{stack} << 1 | (is_backward ? 1 : 0));
  if (is_new && stack != trace::kNoId) {
    const analyze::Place place = analyze::place_of(trace::frames_of(index_.process(), stack), is_backward, "");
    found->second = fields_of(place, place.stack).text();
  }
  return found->second;
}

const std::string& ChromeEvents::kernel_name(std::uint32_t name) {
  const auto [found, is_new] = kernel_names_.try_emplace(name);
  if (is_new) found->second = demangled(index_.process().string(name));
  if (found->second.empty()) found->second = "kernel without a name";
  return found->second;
}

void ChromeEvents::draw_idle() {
  std::vector<std::string> places;
  for (const analyze::CallSite& place : index_.idle().places) places.push_back(fields_of(place, place.stack).text());
  for (const auto& [device, slices] : index_.idle().of_device) {
    const TraceRow row = layout_.row(number_, index_.tracks().at(idle_track(device)), 0);
    for (const IdleSlice& slice : slices) {
      JsonFields args;
      if (slice.correlation != 0) args.add("correlation", std::uint64_t{slice.correlation});
      if (slice.place != analyze::kNone) args.append(places[slice.place]);
      writer_.slice(row, "idle", analyze::name_of(slice.cause), slice.time.start_ns,
                    duration_of(slice.time.start_ns, slice.time.end_ns), args);
    }
  }
}

void ChromeEvents::on(const trace::CallRecord& call) {
  JsonFields args;
  args.add("correlation", std::uint64_t{call.correlation});
  if (call.bytes != trace::kUnknownSize) args.add("bytes", call.bytes);
  add_known(args, "device", call.device);
  add_known(args, "stream", call.stream);
  if (call.result != 0) args.add("error", std::to_string(call.result));
  args.append(place_fields(call.stack, call.autograd_role == trace::AutogradRole::kBackward));
  const std::string& name = index_.process().string(call.name);
  draw(call, {"cuda_api", name.empty() ? "call without a name" : name, args});
}

void ChromeEvents::on(const trace::MemcpyRecord& copy) {
  JsonFields args;
  add_size(args, copy.bytes, duration_of(copy.start_ns, copy.end_ns));
  args.add("from", kind_text(copy.src_kind)).add("to", kind_text(copy.dst_kind));
  args.add("async", copy.is_async != 0 ? "yes" : "no");
  add_known(args, "from_device", copy.src_device);
  add_known(args, "to_device", copy.dst_device);
  if (copy.copy_count != 1) args.add("copies", std::uint64_t{copy.copy_count});
  draw_work(copy, {"copy", copy_name(copy), std::move(args)});
}

void ChromeEvents::on(const trace::MemsetRecord& memset) {
  JsonFields args;
  add_size(args, memset.bytes, duration_of(memset.start_ns, memset.end_ns));
  args.add("value", std::uint64_t{memset.value}).add("memory", kind_text(memset.memory_kind));
  draw_work(memset, {"memset", "memset (" + kind_text(memset.memory_kind) + ")", std::move(args)});
}

void ChromeEvents::on(const trace::KernelRecord& kernel) {
  draw_work(kernel, {"kernel", kernel_name(kernel.name), {}});
}

void ChromeEvents::on(const trace::RangeRecord& range) {
  const std::string& name = index_.process().string(range.name);
  if (range.start_ns == range.end_ns) {
    if (const auto row = next_row(range)) writer_.instant(*row, "nvtx", name, range.start_ns);
    return;
  }
  JsonFields args;
  if (range.domain != trace::kNoId) args.add("domain", index_.process().string(range.domain));
  if (range.end_thread != range.thread) args.add("ended_by", index_.thread_name(range.end_thread));
  draw(range, {"nvtx", name, args});
}

void ChromeEvents::on(const trace::MigrationRecord& migration) {
  JsonFields args;
  add_size(args, migration.bytes, duration_of(migration.start_ns, migration.end_ns));
  draw(migration, {"managed", migration_name(migration.kind), args});
}

}  // namespace turnpike::report
