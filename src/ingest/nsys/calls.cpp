// Joins CUPTI_ACTIVITY_KIND_RUNTIME, which holds the calls of both interfaces, with the tables of synchronisations and
// events.
#include "ingest/nsys/calls.h"

#include <algorithm>

#include "trace/call_kind.h"
#include "trace/make_record.h"

namespace turnpike::ingest {
namespace {

constexpr std::int64_t kRuntimeClass = 0;
constexpr std::int64_t kDriverClass = 1;

std::uint32_t correlation_of(std::optional<std::int64_t> value) {
  const std::uint32_t id = id_or_unknown(value);
  return id == trace::kUnknownId ? 0 : id;
}

}  // namespace

void NsysCalls::read() {
  read_targets("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION");
  read_targets("CUPTI_ACTIVITY_KIND_CUDA_EVENT");
  export_.scan("CUPTI_ACTIVITY_KIND_RUNTIME",
               {"start", "end", "globalTid", "nameId", "correlationId", "eventClass", "returnValue", "callchainId"}, 4,
               [this](SqliteRow& row) { read_call(row); });
  give_driver_calls();
  targets_ = {};
}

void NsysCalls::give_driver_calls() {
  if (!driver_calls_.empty()) std::sort(runtime_calls_.begin(), runtime_calls_.end());
  for (const Call& call : driver_calls_) {
    const InProcess key{call.process->key, call.record.correlation};
    if (!std::binary_search(runtime_calls_.begin(), runtime_calls_.end(), key)) give(call);
  }
  driver_calls_ = {};
  runtime_calls_ = {};
}

// Both tables have the same columns. Their deviceId is not asked for: Nsight Systems writes 0 there for every device.
void NsysCalls::read_targets(const char* table) {
  export_.scan(table, {"correlationId", "globalPid", "contextId", "streamId", "eventId"}, 2, [this](SqliteRow& row) {
    const auto correlation = row.integer(0);
    const auto process = row.integer(1);
    const Target target{.context = id_or_unknown(row.integer(2)),
                        .stream = id_or_unknown(row.integer(3)),
                        .event = id_or_unknown(row.integer(4))};
    if (!row.is_readable() || !correlation || !process) return;
    targets_[{process_of(*process), correlation_of(correlation)}] = target;
  });
}

const NsysCalls::Function& NsysCalls::function(std::int64_t string_id) {
  const auto [entry, is_new] = functions_.try_emplace(string_id);
  if (is_new) {
    NsysNames& names = export_.names;
    const std::string_view name = without_api_version(names.text(names.of_string_id(string_id)));
    entry->second = {.name = names.intern(name),
                     .kind = trace::call_kind_of(name),
                     .is_async_copy = trace::names_async_copy(name),
                     .is_of_driver = name.starts_with("cu") && !name.starts_with("cuda")};
  }
  return entry->second;
}

void NsysCalls::read_call(SqliteRow& row) {
  const auto span = export_.span(row, 0, 1);
  const std::int64_t global_thread = row.needed_integer(2);
  const std::int64_t name_id = row.needed_integer(3);
  const std::uint32_t correlation = correlation_of(row.integer(4));
  const auto event_class = row.integer(5);
  const std::int64_t result = row.integer(6).value_or(0);
  const auto callchain = row.integer(7);
  if (!row.is_readable() || !span) return;
  // Classes beside the two are no calls of the CUDA API.
  if (event_class && *event_class != kRuntimeClass && *event_class != kDriverClass) return;

  const Function& called = function(name_id);
  const ProcessKey key = process_of(global_thread);
  NsysProcess& process = export_.processes.get(key);
  const OperatorsAt operators = ranges_.operators_at(global_thread, span->start_ns);
  const auto target = targets_.find({key, correlation});
  const bool has_target = target != targets_.end() && correlation != 0;

  auto record = trace::make_record<trace::CallRecord>(trace::RecordKind::kCall);
  record.thread = thread_of(global_thread);
  record.start_ns = span->start_ns;
  record.end_ns = span->end_ns;
  record.correlation = correlation;
  record.stack = stacks_.stack_of(process, callchain, operators.chain);
  record.name = process.use(called.name);
  record.kind = called.kind;
  const bool is_of_driver = event_class ? *event_class == kDriverClass : called.is_of_driver;
  record.api = is_of_driver ? trace::Api::kDriver : trace::Api::kRuntime;
  record.autograd_role = operators.role;
  record.autograd_sequence = operators.sequence;
  record.result = static_cast<std::int32_t>(result);
  record.context = has_target ? target->second.context : trace::kUnknownId;
  record.stream = has_target ? target->second.stream : trace::kUnknownId;
  record.device = trace::kUnknownId;
  record.bytes = trace::kUnknownSize;
  record.object = has_target && target->second.event != trace::kUnknownId ? target->second.event : 0;
  const Call call{&process, called.kind == trace::CallKind::kCopy && called.is_async_copy, record};
  if (is_of_driver) {
    driver_calls_.push_back(call);
  } else {
    runtime_calls_.push_back({key, correlation});
    give(call);
  }
}

void NsysCalls::give(const Call& call) {
  if (call.is_async_copy) async_copies_.insert({call.process->key, call.record.correlation});
  call.process->sink.on(call.record);
}

bool NsysCalls::is_async(ProcessKey process, std::uint32_t correlation) const {
  return async_copies_.contains({process, correlation});
}

}  // namespace turnpike::ingest
