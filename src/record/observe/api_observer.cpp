// The hot path of the recorder: what runs inside each CUDA call of the program.
#include "record/observe/api_observer.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/clock.h"
#include "base/self_time.h"
#include "record/handover/loss_counters.h"
#include "record/handover/record_batch.h"
#include "record/handover/thread_handover.h"
#include "record/observe/call_listener.h"
#include "record/observe/observed.h"
#include "record/stacks/autograd.h"
#include "record/stacks/stack_table.h"
#include "record/stacks/string_table.h"

namespace turnpike::record {

using cuda::CallbackDomain;
using trace::CallKind;
using trace::Loss;

namespace {

static_assert(cuda::CallArguments{}.bytes == trace::kUnknownSize);

// "cudaMemcpyAsync_ptsz_v7000" -> "cudaMemcpyAsync". A driver function keeps its "_v2": that is part of its name.
std::string_view plain_name(CallbackDomain domain, std::string_view name) {
  if (domain == CallbackDomain::kRuntimeApi) {
    const auto version = name.rfind("_v");
    if (version != std::string_view::npos) name = name.substr(0, version);
  }
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return name;
}

// Compiled with --default-stream per-thread.
bool is_of_per_thread_stream(std::string_view name) {
  return name.find("_ptsz") != std::string_view::npos || name.find("_ptds") != std::string_view::npos;
}

// Allocations whose memory may be the host's, and may be mapped at an address later.
bool may_be_of_host(std::string_view name) {
  return name == "cuMemCreate" || name.find("FromPool") != std::string_view::npos;
}

// Calls of which only the order is asked for.
bool is_order_only(CallKind kind) {
  return kind == CallKind::kEventRecord || kind == CallKind::kStreamWait;
}

// Not launches: a stack for each of the 60 kernels of a small training step makes that step 6 to 8 % slower (H100,
// bench/overhead.py), more than everything else together. Their autograd mark says in which pass they are.
bool needs_stack(CallKind kind) {
  return !is_order_only(kind) && kind != CallKind::kLaunch;
}

// `holder`: as CUPTI calls it, with whatever bytes; empty: it does not say.
std::string held_by_another_tool(const std::string& holder) {
  std::string name = holder;
  std::replace_if(name.begin(), name.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  return "another tool is using CUPTI in this process: " +
         (name.empty() ? "Nsight Systems or Compute, a debugger, or torch.profiler, which keeps CUPTI once it ran"
                       : '"' + name + '"') +
         ". Start recording before torch.profiler does, or record the program with `turnpike record`";
}

}  // namespace

ApiObserver::ApiObserver(StringTable& strings, StackTable& stacks, LossCounters& losses, ThreadHandover& handover)
    : strings_(strings), stacks_(stacks), losses_(losses), handover_(handover), content_(handover) {}

bool ApiObserver::subscribe(const cuda::Cupti& cupti, const Options& options, std::string& error) {
  set_cupti(cupti);
  detail_ = options.detail;
  has_stacks_.store(options.has_stacks, std::memory_order_relaxed);
  content_.configure(options);
  const std::lock_guard lock(subscriber_mutex_);
  for (ContextDevice& device : devices_) device.packed.store(0, std::memory_order_relaxed);
  handover_.forget_correlations();
  std::string holder;
  const cuda::CuptiResult result = take_subscriber(holder);
  if (result == cuda::kCuptiMultipleSubscribers) {
    losses_.add(Loss::kOtherCuptiUser);
    error = held_by_another_tool(holder);
    return false;
  }
  if (result != cuda::kCuptiSuccess) {
    losses_.add(Loss::kCuptiCallFailed);
    error = std::string("CUPTI refused to be subscribed to: ") + cupti.describe(result);
    return false;
  }
  const std::uint32_t failures = enable_calls(CallbackDomain::kRuntimeApi) + enable_calls(CallbackDomain::kDriverApi);
  if (failures > 0) losses_.add(Loss::kCuptiCallFailed, failures);
  if (content_.has_managed_memory()) watch_managed_memory();  // of a recording before
  hears_of_streams_.store(cupti.enable_callback(1, subscriber_.load(), CallbackDomain::kResource,
                                                cuda::kStreamCreated) == cuda::kCuptiSuccess,
                          std::memory_order_relaxed);
  stream_age_.fetch_add(1, std::memory_order_relaxed);
  if (cupti.get_graph_node_id != nullptr) {
    for (const std::uint32_t id : {cuda::kGraphNodeCreated, cuda::kGraphNodeCloned}) {
      if (cupti.enable_callback(1, subscriber_.load(), CallbackDomain::kResource, id) != cuda::kCuptiSuccess) {
        losses_.add(Loss::kCuptiCallFailed);
      }
    }
  }
  return true;
}

// Returns how many functions could not be enabled.
std::uint32_t ApiObserver::enable_calls(CallbackDomain domain) {
  std::uint32_t failures = 0;
  std::uint32_t names = 0;
  // Functions beyond the table, which only a later CUDA has, are not heard. They are counted.
  for (std::uint32_t id = 1; id < 2 * kCallbacks; ++id) {
    const char* name = nullptr;
    if (cupti_->get_callback_name(domain, id, &name) != cuda::kCuptiSuccess || name == nullptr) continue;
    ++names;
    if (id >= kCallbacks) {
      if (is_observed(cuda::recorded_kind(domain, name), detail_)) losses_.add(Loss::kFunctionsNotHeard);
      continue;
    }
    Function function{.kind = cuda::recorded_kind(domain, name), .profiler_switch = cuda::profiler_switch_of(name)};
    const bool is_recorded = is_observed(function.kind, detail_);
    if (!is_recorded) function.kind = CallKind::kOther;
    const bool is_wanted = function.is_heard();
    if (is_wanted) {
      function.name = strings_.intern(plain_name(domain, name));
      function.is_per_thread = is_of_per_thread_stream(name);
      function.may_be_hosts = may_be_of_host(plain_name(domain, name));
    }
    functions_[index_of(domain)][id].store(function, std::memory_order_relaxed);
    if (!is_wanted) continue;
    if (cupti_->enable_callback(1, subscriber_.load(), domain, id) != cuda::kCuptiSuccess) ++failures;
  }
  // A domain without a single name: CUPTI does not tell which function is which.
  return names == 0 ? 1 : failures;
}

// Under the lock. `holder`: who has CUPTI's one place, where the recorder does not get it.
cuda::CuptiResult ApiObserver::take_subscriber(std::string& holder) {
  // It may have been taken away: cuptiFinalize of another tool ends all subscriptions.
  const auto is_valid = [this](void* held) {
    return held != nullptr && cupti_->enable_domain(0, held, CallbackDomain::kRuntimeApi) == cuda::kCuptiSuccess;
  };
  if (is_valid(subscriber_.load())) return cuda::kCuptiSuccess;
  void* subscriber = nullptr;
  const auto callback = is_self_time_counted() ? &ApiObserver::on_timed_callback : &ApiObserver::on_callback;
  const cuda::CuptiResult result = cupti_->subscribe_as_turnpike(&subscriber, callback, this, holder);
  if (result != cuda::kCuptiSuccess) return result;
  subscriber_.store(subscriber);
  has_subscribed_.store(true, std::memory_order_release);
  return result;
}

void ApiObserver::end_calls() noexcept {
  const std::lock_guard lock(subscriber_mutex_);
  void* const subscriber = subscriber_.load();
  if (subscriber == nullptr) return;
  if (is_managed_memory_watched_.exchange(false, std::memory_order_relaxed)) {
    cupti_->activity_disable(cuda::ActivityKind::kManagedMemory);
  }
  for (const CallbackDomain domain :
       {CallbackDomain::kDriverApi, CallbackDomain::kRuntimeApi, CallbackDomain::kResource}) {
    cupti_->enable_domain(0, subscriber, domain);
  }
}

void ApiObserver::on_callback(void* self, CallbackDomain domain, std::uint32_t id, const void* data) {
  static_cast<ApiObserver*>(self)->on_own_callback(domain, id, data);
}

void ApiObserver::on_timed_callback(void* self, CallbackDomain domain, std::uint32_t id, const void* data) {
  const SelfTimeSpan span;
  static_cast<ApiObserver*>(self)->on_own_callback(domain, id, data);
}

void ApiObserver::on_own_callback(CallbackDomain domain, std::uint32_t id, const void* data) noexcept {
  if (domain == CallbackDomain::kResource && id == cuda::kStreamCreated) {
    stream_age_.fetch_add(1, std::memory_order_relaxed);
  } else if (domain == CallbackDomain::kResource && (id == cuda::kGraphNodeCreated || id == cuda::kGraphNodeCloned)) {
    on_graph_node(id, *static_cast<const cuda::ResourceCallback*>(data));
  } else if ((domain == CallbackDomain::kDriverApi || domain == CallbackDomain::kRuntimeApi) && id < kCallbacks) {
    on_api(domain, id, *static_cast<const cuda::ApiCallback*>(data));
  }
}

// A driver call inside a runtime call has the same correlation id: it finds that id open and leaves no record. The
// start time waits in CUPTI's slot, so calls that nest otherwise do not disturb each other.
void ApiObserver::on_api(CallbackDomain domain, std::uint32_t id, const cuda::ApiCallback& call) noexcept {
  const Function function = functions_[index_of(domain)][id].load(std::memory_order_relaxed);
  // A switch of the profiler.
  if (function.kind == CallKind::kOther) {
    if (function.profiler_switch == cuda::ProfilerSwitch::kNone || call.site != cuda::CallbackSite::kExit) return;
    const ProfilerRange profiler_range = profiler_range_.load(std::memory_order_relaxed);
    if (profiler_range != nullptr) profiler_range(function.profiler_switch == cuda::ProfilerSwitch::kStart);
    return;
  }
  if (!is_listening_.load(std::memory_order_relaxed)) {
    if (call.site == cuda::CallbackSite::kEnter) *call.slot = 0;
    return;
  }
  ThreadBuffer* buffer = handover_.mine();
  if (buffer == nullptr) return;
  const std::uint32_t recording = buffer->recording();
  if (call.site == cuda::CallbackSite::kEnter) {
    buffer->open_recording = recording;
    const bool is_nested = buffer->open_correlation.load(std::memory_order_relaxed) == call.correlation;
    buffer->open_correlation.store(call.correlation, std::memory_order_relaxed);
    if (!is_nested) buffer->has_made_graph_node = false;
    if (!is_nested && function.kind == CallKind::kCopy) buffer->deliveries_before_copy = handover_.deliveries();
    if (function.kind == CallKind::kManagedAlloc) watch_managed_memory();
    *call.slot = is_nested ? 0 : static_cast<std::uint64_t>(realtime_ns());
  } else if (is_listening_.load(std::memory_order_acquire)) {
    // Asked after the number: while calls are heard, the device's records are on. So this call's work is delivered to
    // the recording of that number.
    on_exit(*buffer, recording, domain, id, call);
  }
}

void ApiObserver::on_exit(ThreadBuffer& buffer, std::uint32_t recording, CallbackDomain domain, std::uint32_t id,
                          const cuda::ApiCallback& call) noexcept {
  const auto start_ns = static_cast<std::int64_t>(*call.slot);
  if (start_ns == 0) return;                       // a nested call
  if (buffer.open_recording != recording) return;  // begun in the recording before
  const std::int64_t end_ns = realtime_ns();
  // A slot that holds no time of the past day was never written: the call began before we listened.
  constexpr std::int64_t kDay = 86'400'000'000'000;
  if (start_ns < 0 || start_ns > end_ns || end_ns - start_ns > kDay) return;
  const Function function = functions_[index_of(domain)][id].load(std::memory_order_relaxed);
  auto record = make_record<trace::CallRecord>(trace::RecordKind::kCall);
  record.thread = buffer.thread;
  record.start_ns = start_ns;
  record.end_ns = end_ns;
  record.correlation = call.correlation;
  record.name = function.name;
  record.kind = function.kind;
  record.api = domain == CallbackDomain::kDriverApi ? trace::Api::kDriver : trace::Api::kRuntime;
  record.is_captured = buffer.has_made_graph_node ? 1 : 0;
  if (call.return_value != nullptr) std::memcpy(&record.result, call.return_value, sizeof(record.result));
  record.context = call.context == nullptr ? trace::kUnknownId : call.context_id;
  record.device = device_of(call.context, call.context_id);
  record.stream = trace::kUnknownId;
  cuda::CallArguments arguments;
  cuda::read_arguments(domain, id, call.parameters, record.result == 0, arguments);
  record.bytes = arguments.bytes;
  record.dst = arguments.dst;
  record.src = arguments.src;
  record.object = arguments.object;
  // Device work brings its stream's id with it; the others have to ask for it.
  note_host_memory(function);
  const bool has_no_device_work = function.kind == CallKind::kSynchronize || is_order_only(function.kind);
  if (has_no_device_work && arguments.has_stream && call.context != nullptr) {
    record.stream = stream_id_of(buffer, call, arguments.stream, function.is_per_thread);
  }
  if (has_stacks_.load(std::memory_order_relaxed) && needs_stack(function.kind)) record.stack = stacks_.capture();
  if (!is_order_only(function.kind)) {
    const AutogradMark mark = autograd_mark();
    record.autograd_role = mark.role;
    record.autograd_sequence = mark.sequence;
  }
  handover_.push(buffer, recording, &record, sizeof(record));
  if (record.result == 0) tell_listener(record, arguments, call.function_name);
  if (record.result == 0 && record.is_captured == 0) look_at_content(buffer, function, arguments, record);
}

// What the calls of this kind do to memory that the host can reach.
void ApiObserver::note_host_memory(const Function& function) noexcept {
  switch (function.kind) {
    case CallKind::kHostAlloc:
    case CallKind::kHostFree:
    case CallKind::kHostRegister:
    case CallKind::kHostUnregister:
    case CallKind::kManagedAlloc:
      return content_.note_host_memory_changed();
    case CallKind::kDeviceFree:  // managed memory is freed like that of a device
      if (content_.may_have_managed_memory()) content_.note_host_memory_changed();
      return;
    case CallKind::kDeviceAlloc:
      if (function.may_be_hosts) content_.note_unheard_host_memory();
      return;
    default:
      return;
  }
}

void ApiObserver::look_at_content(ThreadBuffer& buffer, const Function& function, const cuda::CallArguments& arguments,
                                  const trace::CallRecord& record) noexcept {
  void* stream = arguments.stream;
  if (stream == nullptr && function.is_per_thread) stream = cuda::kPerThreadStream;
  if (function.kind == CallKind::kCopy) {
    content_.on_copy(buffer, arguments, record, stream);
    const bool has_bytes = arguments.bytes != 0 && arguments.bytes != trace::kUnknownSize;
    buffer.last_copy = {stream, record.context, buffer.deliveries_before_copy, has_bytes};
  }
  if (function.kind == CallKind::kSynchronize) {
    content_.on_synchronize(buffer, arguments, record, stream);
    note_done_copy(buffer, arguments, record, stream);
  }
}

// A thread that waits for the stream or the context of its last copy proves that the copy is done. Then CUPTI must have
// a record of it, unless the copy had no bytes. A wait for an event proves nothing: the event may lie before the copy.
void ApiObserver::note_done_copy(ThreadBuffer& buffer, const cuda::CallArguments& arguments,
                                 const trace::CallRecord& wait, void* stream) noexcept {
  LastCopy& last = buffer.last_copy;
  if (!last.is_under_way || arguments.object != 0 || last.context != wait.context) return;
  if (arguments.has_stream && last.stream != stream) return;
  last.is_under_way = false;
  handover_.note_done_copy(last.deliveries);
}

void ApiObserver::on_graph_node(std::uint32_t id, const cuda::ResourceCallback& resource) noexcept {
  if (!is_listening_.load(std::memory_order_relaxed) || resource.descriptor == nullptr) return;
  const auto& graph = *static_cast<const cuda::GraphCallback*>(resource.descriptor);
  auto record = make_record<trace::GraphNodeRecord>(trace::RecordKind::kGraphNode);
  if (graph.node == nullptr || cupti_->get_graph_node_id(graph.node, &record.node) != cuda::kCuptiSuccess) return;
  if (id == cuda::kGraphNodeCloned) {
    if (graph.original_node == nullptr) return;
    if (cupti_->get_graph_node_id(graph.original_node, &record.cloned_from) != cuda::kCuptiSuccess) return;
  } else if (has_stacks_.load(std::memory_order_relaxed)) {
    record.stack = stacks_.capture();
  }
  ThreadBuffer* buffer = handover_.mine();
  if (buffer == nullptr) return;
  if (id == cuda::kGraphNodeCreated) buffer->has_made_graph_node = true;
  handover_.push(*buffer, &record, sizeof(record));
}

// Asked for only when a program allocates managed memory: the counters cost those that do not.
void ApiObserver::watch_managed_memory() noexcept {
  if (is_managed_memory_watched_.exchange(true, std::memory_order_relaxed)) return;
  content_.note_managed_memory();
  if (cupti_->configure_managed_memory_counters() != cuda::kCuptiSuccess ||
      cupti_->activity_enable(cuda::ActivityKind::kManagedMemory) != cuda::kCuptiSuccess) {
    losses_.add(Loss::kCuptiCallFailed);
  }
}

// Whoever uses a new stream got it from the thread that made it, and with it the age.
std::uint32_t ApiObserver::stream_id_of(ThreadBuffer& buffer, const cuda::ApiCallback& call, void* stream,
                                        bool is_per_thread) noexcept {
  const StreamIds::Stream wanted{stream, call.context_id, is_per_thread};
  const bool can_know = hears_of_streams_.load(std::memory_order_relaxed);
  if (can_know) {
    const std::uint32_t* known = buffer.stream_ids.find(wanted, stream_age_.load(std::memory_order_relaxed));
    if (known != nullptr) return *known;
  }
  std::uint32_t id = trace::kUnknownId;
  if (cupti_->get_stream_id(call.context, stream, is_per_thread ? 1 : 0, &id) != cuda::kCuptiSuccess) {
    return trace::kUnknownId;
  }
  if (can_know) buffer.stream_ids.add(wanted, id);
  return id;
}

std::uint32_t ApiObserver::device_of(void* context, std::uint32_t context_id) noexcept {
  if (context == nullptr) return trace::kUnknownId;
  auto& known = devices_[context_id % devices_.size()].packed;
  const std::uint64_t packed = known.load(std::memory_order_relaxed);
  const auto device_plus_one = static_cast<std::uint32_t>(packed);
  if (device_plus_one != 0 && packed >> 32 == context_id) return device_plus_one - 1;
  std::uint32_t device = 0;
  if (cupti_->get_device_id(context, &device) != cuda::kCuptiSuccess) return trace::kUnknownId;
  known.store(std::uint64_t{context_id} << 32 | (device + 1), std::memory_order_relaxed);
  std::uint32_t stream = 0;
  if (cupti_->get_stream_id(context, nullptr, 0, &stream) == cuda::kCuptiSuccess) {
    auto record = make_record<trace::StreamRecord>(trace::RecordKind::kStream);
    record.device = device;
    record.context = context_id;
    record.stream = stream;
    record.is_default = 1;
    if (ThreadBuffer* buffer = handover_.mine(); buffer != nullptr) handover_.push(*buffer, &record, sizeof(record));
  }
  return device;
}

}  // namespace turnpike::record
