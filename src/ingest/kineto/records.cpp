// Sorts events into what they are of, and joins them when all are known.
#include "ingest/kineto/records.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "ingest/kineto/names.h"
#include "ingest/sample_pitch.h"
#include "trace/call_kind.h"
#include "trace/make_record.h"

namespace turnpike::ingest {
namespace {

using trace::CallKind;
using trace::Loss;

constexpr std::string_view kEvaluateNode = "autograd::engine::evaluate_function";
// Annotations by PyTorch itself, which tell the phase where Python was not traced.
constexpr std::string_view kPhaseAnnotations[] = {"Optimizer.", "enumerate(DataLoader)"};

bool names_phase(std::string_view name) {
  return std::any_of(std::begin(kPhaseAnnotations), std::end(kPhaseAnnotations),
                     [=](std::string_view start) { return name.starts_with(start); });
}

// Thread ids beyond 32 bits are addresses of threads: their lower half tells them apart.
std::uint32_t thread_id(std::int64_t tid) {
  return static_cast<std::uint32_t>(tid);
}

std::uint32_t id_or_unknown(std::int64_t value) {
  return value >= 0 && value < std::int64_t{trace::kUnknownId} ? static_cast<std::uint32_t>(value) : trace::kUnknownId;
}

std::int64_t first_present(std::int64_t first, std::int64_t second) {
  return first != kAbsent ? first : second;
}

std::uint32_t device_of(const KinetoEvent& event) {
  const auto named = first_present(event.argument(Argument::kDevice), event.argument(Argument::kInDevice));
  return id_or_unknown(first_present(named, event.pid));
}

// Annotations of a synchronisation with no stream carry -1.
std::uint32_t stream_of(const KinetoEvent& event) {
  return id_or_unknown(first_present(event.argument(Argument::kStream), event.tid));
}

std::uint32_t context_of(const KinetoEvent& event) {
  return id_or_unknown(first_present(event.argument(Argument::kContext), event.argument(Argument::kInContext)));
}

std::uint64_t unsigned_or(std::int64_t value, std::uint64_t otherwise) {
  return value < 0 ? otherwise : static_cast<std::uint64_t>(value);
}

// kUnknownTime when it is not known or beyond the clock.
std::int64_t sum_or_unknown(std::int64_t start_ns, std::int64_t duration_ns) {
  std::int64_t sum = 0;
  const bool is_known = start_ns != trace::kUnknownTime && duration_ns != trace::kUnknownTime;
  const bool is_inside = is_known && !__builtin_add_overflow(start_ns, duration_ns, &sum);
  return is_inside && trace::is_possible_time(sum) ? sum : trace::kUnknownTime;
}

std::int64_t end_of(const KinetoEvent& event) {
  return sum_or_unknown(event.start_ns, event.duration_ns);
}

// Whether the time of something on the host is known, which is of no use otherwise.
bool has_host_times(const KinetoEvent& event) {
  return event.tid != kAbsent && end_of(event) != trace::kUnknownTime && event.duration_ns >= 0;
}

struct Extent {
  std::int64_t start_ns;
  std::int64_t end_ns;
  double length_ns() const { return static_cast<double>(end_ns) - static_cast<double>(start_ns); }
};

// Needs a span.
Extent extent_of(const std::vector<HostSpan>& spans) {
  Extent extent{spans.front().start_ns, spans.front().end_ns};
  for (const HostSpan& span : spans) {
    extent.start_ns = std::min(extent.start_ns, span.start_ns);
    extent.end_ns = std::max(extent.end_ns, span.end_ns);
  }
  return extent;
}

// The moments of a thread at which it is asked what is open.
class SampleTimes {
 public:
  SampleTimes(Extent extent, std::int64_t pitch_ns)
      : next_ns_(extent.start_ns), end_ns_(extent.end_ns), pitch_ns_(pitch_ns) {}

  bool is_before(std::int64_t time_ns) const { return !is_over_ && next_ns_ < time_ns; }
  bool is_over() const { return is_over_; }
  std::int64_t next_ns() const { return next_ns_; }
  void advance() {
    const auto left_ns = static_cast<std::uint64_t>(end_ns_) - static_cast<std::uint64_t>(next_ns_);
    is_over_ = left_ns <= static_cast<std::uint64_t>(pitch_ns_);
    if (!is_over_) next_ns_ += pitch_ns_;
  }

 private:
  std::int64_t next_ns_;
  std::int64_t end_ns_;
  std::int64_t pitch_ns_;
  bool is_over_ = false;
};

}  // namespace

void KinetoRecords::add(const KinetoEvent& event) {
  if (event.category == Category::kMetadata) return add_thread_name(event);
  if (event.category == Category::kOther) return;
  ++known_count_;
  if (event.category == Category::kForwardBackward) return add_node_start(event);
  if (event.phase != 'X') return;
  switch (event.category) {
    case Category::kOperator:
    case Category::kPython:
      return add_span(event);
    case Category::kAnnotation:
      return add_annotation(event);
    case Category::kRuntimeCall:
    case Category::kDriverCall:
      return add_call(event);
    case Category::kSynchronisation:
      return add_synchronisation(event);
    case Category::kMemcpy:
      return add_memcpy(event);
    case Category::kMemset:
      return add_memset(event);
    case Category::kKernel:
      return add_kernel(event);
    case Category::kOther:
    case Category::kMetadata:
    case Category::kForwardBackward:
      return;
  }
}

void KinetoRecords::add_device(std::uint32_t device, std::string_view name, std::int64_t multiprocessors,
                               std::int64_t memory_bytes) {
  auto record = trace::make_record<trace::DeviceRecord>(trace::RecordKind::kDevice);
  record.device = device;
  record.name = string_of({.kind = JsonValue::Kind::kString, .text = name});
  record.multiprocessors = static_cast<std::uint32_t>(std::clamp<std::int64_t>(multiprocessors, 0, 1 << 20));
  record.memory_bytes = unsigned_or(memory_bytes, 0);
  record.numa_node = trace::kUnknownNode;
  devices_.push_back(record);
}

KinetoRecords::Thread& KinetoRecords::thread_of(const KinetoEvent& event) {
  const std::uint32_t id = thread_id(event.tid);
  if (last_thread_ == nullptr || last_thread_id_ != id) {
    last_thread_ = &threads_[id];
    last_thread_id_ = id;
  }
  if (pid_ == kAbsent) pid_ = event.pid;
  return *last_thread_;
}

std::uint32_t KinetoRecords::string_of(const JsonValue& name) {
  const std::uint32_t number = name.has_escapes ? names_.number_of(unescaped(name.text)) : names_.number_of(name.text);
  if (is_string_.size() <= number) is_string_.resize(std::size_t{number} + number / 2 + 1);
  is_string_[number] = true;
  return number;
}

std::uint32_t KinetoRecords::frame_of(const JsonValue& name, bool is_operator) {
  const std::string_view text = is_operator ? name.text : without_address(name.text);
  const std::uint32_t number = name.has_escapes ? names_.number_of(unescaped(text)) : names_.number_of(text);
  auto& frames = is_operator ? operator_frame_of_name_ : frame_of_name_;
  if (frames.size() <= number) frames.resize(std::size_t{number} + number / 2 + 1);
  if (frames[number] != 0) return frames[number];
  trace::Frame frame{.kind = trace::FrameKind::kOperator, .function = names_.text(number), .file = {}};
  if (!is_operator) {
    const PythonName python = parse_python_name(names_.text(number));
    frame.kind = python.is_python ? trace::FrameKind::kPython : trace::FrameKind::kNative;
    frame.function = python.function;
    frame.file = python.file;
    frame.first_line = python.first_line;
  }
  frames_.push_back(std::move(frame));
  return frames[number] = static_cast<std::uint32_t>(frames_.size());
}

std::uint32_t KinetoRecords::mark_of(const KinetoEvent& event) {
  const std::int64_t sequence = event.argument(Argument::kSequence);
  const bool is_backward = event.argument(Argument::kForwardThread) > 0 || event.name.text.starts_with(kEvaluateNode);
  if (sequence < 0 && !is_backward) return kNoMark;
  const AutogradMark mark{
      .role = is_backward ? trace::AutogradRole::kBackward : trace::AutogradRole::kForward,
      .sequence = unsigned_or(sequence, std::numeric_limits<std::uint64_t>::max())};  // a node that no operator made
  const bool is_repeated =
      !marks_.empty() && marks_.back().role == mark.role && marks_.back().sequence == mark.sequence;
  if (!is_repeated) marks_.push_back(mark);
  return static_cast<std::uint32_t>(marks_.size() - 1);
}

void KinetoRecords::add_span(const KinetoEvent& event) {
  if (!has_host_times(event)) return count_loss(Loss::kUnreadableEvent);
  const bool is_operator = event.category != Category::kPython;
  thread_of(event).spans.push_back({.start_ns = event.start_ns,
                                    .end_ns = end_of(event),
                                    .frame = frame_of(event.name, is_operator),
                                    .mark = event.category == Category::kOperator ? mark_of(event) : kNoMark});
}

void KinetoRecords::add_annotation(const KinetoEvent& event) {
  if (!has_host_times(event)) return count_loss(Loss::kUnreadableEvent);
  if (names_phase(event.name.text)) add_span(event);
  auto record = trace::make_record<trace::RangeRecord>(trace::RecordKind::kRange);
  record.thread = thread_id(event.tid);
  record.end_thread = record.thread;
  record.name = string_of(event.name);
  record.start_ns = event.start_ns;
  record.end_ns = end_of(event);
  record.domain = trace::kNoId;
  ranges_.push_back(record);
}

// Calls without one get numbers that no other event has: 0 would join them to device work without one.
std::uint32_t KinetoRecords::correlation_of(const KinetoEvent& event) {
  const std::int64_t correlation = event.argument(Argument::kCorrelation);
  const auto number = static_cast<std::uint32_t>(correlation);
  return correlation > 0 && number != 0 ? number : --next_unknown_correlation_;
}

void KinetoRecords::add_call(const KinetoEvent& event) {
  if (!has_host_times(event)) return count_loss(Loss::kUnreadableEvent);
  callers_.insert(event.pid);
  const std::uint32_t correlation = correlation_of(event);
  if (event.name.text.ends_with("StreamBeginCapture")) captures_.emplace_back(event.start_ns, 1);
  if (event.name.text.ends_with("StreamEndCapture")) captures_.emplace_back(end_of(event), -1);
  thread_of(event).calls.push_back(
      {.start_ns = event.start_ns,
       .end_ns = end_of(event),
       .thread = thread_id(event.tid),
       .correlation = correlation,
       .name = string_of(event.name),
       .kind = trace::call_kind_of(event.name.text),
       .api = event.category == Category::kDriverCall ? trace::Api::kDriver : trace::Api::kRuntime});
  const std::int64_t size_bytes = event.argument(Argument::kSize);
  if (size_bytes >= 0) extras_[correlation].bytes = static_cast<std::uint64_t>(size_bytes);
}

// Device-side records of synchronisations, which say what the call does not: whom it waited for.
void KinetoRecords::add_synchronisation(const KinetoEvent& event) {
  const std::int64_t correlation = event.argument(Argument::kCorrelation);
  if (correlation <= 0) return;
  CallExtra& extra = extras_[static_cast<std::uint32_t>(correlation)];
  extra.stream = id_or_unknown(event.argument(Argument::kStream));
  extra.context = context_of(event);
  extra.device = device_of(event);
  const std::int64_t record = event.argument(Argument::kWaitOnRecord);
  if (record <= 0) return;
  // The file names no events. The call that recorded one stands for it, on both sides of the wait.
  extra.object = static_cast<std::uint64_t>(record);
  CallExtra& recording = extras_[static_cast<std::uint32_t>(record)];
  recording.object = static_cast<std::uint64_t>(record);
  // The recording call's own event does not say which stream it stands for.
  recording.stream = id_or_unknown(event.argument(Argument::kWaitOnStream));
  recording.device = extra.device;
}

void KinetoRecords::add_node_start(const KinetoEvent& event) {
  const bool is_start = event.phase == 's' && event.tid != kAbsent && event.start_ns != trace::kUnknownTime;
  if (is_start) thread_of(event).node_starts_ns.push_back(event.start_ns);
}

void KinetoRecords::add_thread_name(const KinetoEvent& event) {
  if (event.name.text != "thread_name" || event.tid == kAbsent || event.text.text.empty()) return;
  const JsonValue name{
      .kind = JsonValue::Kind::kString, .has_escapes = event.text.has_escapes, .text = thread_name_of(event.text.text)};
  thread_names_.push_back({.pid = event.pid, .thread = thread_id(event.tid), .name = string_of(name)});
}

template <typename Record>
void KinetoRecords::set_device_fields(Record& record, const KinetoEvent& event, CallKind kind) {
  const std::int64_t correlation = event.argument(Argument::kCorrelation);
  record.device = device_of(event);
  record.start_ns = event.start_ns;
  record.end_ns = end_of(event);
  record.correlation = correlation > 0 ? static_cast<std::uint32_t>(correlation) : 0;
  record.context = context_of(event);
  record.stream = stream_of(event);
  record.graph_node = unsigned_or(event.argument(Argument::kGraphNode), 0);
  if (!event.has_times()) count_loss(Loss::kInvalidDeviceTimes);
  if (record.correlation != 0) work_.push_back({record.correlation, kind});
}

std::uint64_t KinetoRecords::size_of(const KinetoEvent& event) const {
  const auto bytes = first_present(event.argument(Argument::kBytes), event.argument(Argument::kSize));
  return unsigned_or(bytes, trace::kUnknownSize);
}

void KinetoRecords::add_memcpy(const KinetoEvent& event) {
  auto record = trace::make_record<trace::MemcpyRecord>(trace::RecordKind::kMemcpy);
  set_device_fields(record, event, CallKind::kCopy);
  const CopyName name = parse_copy_name(event.name.text);
  record.bytes = size_of(event);
  record.copy_kind = name.copy_kind;
  record.src_kind = name.src_kind;
  record.dst_kind = name.dst_kind;
  record.src_device = id_or_unknown(event.argument(Argument::kFromDevice));
  record.dst_device = id_or_unknown(event.argument(Argument::kToDevice));
  record.graph = static_cast<std::uint32_t>(unsigned_or(event.argument(Argument::kGraph), 0));
  record.copy_count = 1;
  copies_.push_back(record);
}

void KinetoRecords::add_memset(const KinetoEvent& event) {
  auto record = trace::make_record<trace::MemsetRecord>(trace::RecordKind::kMemset);
  set_device_fields(record, event, CallKind::kMemset);
  record.bytes = size_of(event);
  record.memory_kind = parse_memset_name(event.name.text);
  memsets_.push_back(record);
}

void KinetoRecords::add_kernel(const KinetoEvent& event) {
  auto record = trace::make_record<trace::KernelRecord>(trace::RecordKind::kKernel);
  set_device_fields(record, event, CallKind::kLaunch);
  record.name = string_of(event.name);
  record.graph = static_cast<std::uint32_t>(unsigned_or(event.argument(Argument::kGraph), 0));
  kernels_.push_back(record);
}

std::int64_t KinetoRecords::at_base(std::int64_t time_ns) const {
  return sum_or_unknown(time_ns, base_ns_);
}

bool KinetoRecords::is_capturing(std::int64_t time_ns) const {
  const auto behind =
      std::lower_bound(captures_.begin(), captures_.end(), time_ns,
                       [](const std::pair<std::int64_t, int>& one, std::int64_t ns) { return one.first < ns; });
  return behind != captures_.begin() && (behind - 1)->second > 0;
}

void KinetoRecords::finish(trace::Process& process, trace::RecordSink& sink) {
  std::sort(captures_.begin(), captures_.end());
  name_calls_by_effect();
  settle_copies();
  if (callers_.size() > 1) process.metadata["calling_processes"] = std::to_string(callers_.size());
  process.pid = static_cast<std::uint32_t>(std::max<std::int64_t>(pid_, 0));
  for (const ThreadName& named : thread_names_) {
    if (named.pid != pid_) continue;  // rows of devices, whose threads are streams
    auto record = trace::make_record<trace::ThreadRecord>(trace::RecordKind::kThread);
    record.thread = named.thread;
    record.name = named.name;
    sink.on(record);
  }
  emit_device_work(sink);
  std::vector<std::uint32_t> ids;
  for (const auto& [id, thread] : threads_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  const std::int64_t pitch_ns = sample_pitch_ns();
  for (const std::uint32_t id : ids) {
    emit_thread(id, threads_[id], pitch_ns, sink);
    threads_[id] = {};
  }
  write_definitions(process);
}

// What a call of an unknown name is for shows in what it caused. Those that caused nothing only ask or set something:
// the recorder leaves them out too.
void KinetoRecords::name_calls_by_effect() {
  const auto is_lower = [](const DeviceWork& a, const DeviceWork& b) { return a.correlation < b.correlation; };
  if (!std::is_sorted(work_.begin(), work_.end(), is_lower)) std::sort(work_.begin(), work_.end(), is_lower);
  for (auto& [id, thread] : threads_) {
    std::erase_if(thread.calls, [&](Call& call) {
      if (call.kind != CallKind::kOther) return false;
      const auto work =
          std::lower_bound(work_.begin(), work_.end(), DeviceWork{call.correlation, CallKind::kOther}, is_lower);
      if (work == work_.end() || work->correlation != call.correlation) return true;
      call.kind = work->kind;
      return false;
    });
  }
  work_ = {};
}

// What stands at the call of a copy: whether it is asynchronous (in its name, the only place where the file tells) and,
// in AMD's files, its size.
void KinetoRecords::settle_copies() {
  std::unordered_map<std::uint32_t, bool> is_async;
  is_async.reserve(copies_.size());
  for (const auto& [id, thread] : threads_) {
    for (const Call& call : thread.calls) {
      if (call.kind == CallKind::kCopy) is_async[call.correlation] = trace::names_async_copy(names_.text(call.name));
    }
  }
  const auto settle_size = [this](auto& record) {
    if (record.bytes != trace::kUnknownSize) return;
    const auto extra = extras_.find(record.correlation);
    if (extra != extras_.end()) record.bytes = extra->second.bytes;
    if (record.bytes != trace::kUnknownSize) return;
    // A size that is added up has no unknown: the loss says that it is missing.
    record.bytes = 0;
    count_loss(Loss::kUnknownCopySize);
  };
  for (trace::MemcpyRecord& copy : copies_) {
    const auto call = is_async.find(copy.correlation);
    copy.is_async = call != is_async.end() && call->second ? 1 : 0;
    settle_size(copy);
  }
  for (trace::MemsetRecord& memset : memsets_) settle_size(memset);
}

// A trace names all GPUs of its machine. Where some did work, the others have nothing to do with the program.
void KinetoRecords::emit_devices(trace::RecordSink& sink) const {
  std::set<std::uint32_t> at_work;
  for (const trace::MemcpyRecord& copy : copies_) at_work.insert({copy.device, copy.src_device, copy.dst_device});
  for (const trace::MemsetRecord& memset : memsets_) at_work.insert(memset.device);
  for (const trace::KernelRecord& kernel : kernels_) at_work.insert(kernel.device);
  at_work.erase(trace::kUnknownId);
  for (const trace::DeviceRecord& device : devices_) {
    if (at_work.empty() || at_work.contains(device.device)) sink.on(device);
  }
}

void KinetoRecords::emit_device_work(trace::RecordSink& sink) {
  const auto emit = [&](auto& records) {
    for (auto& record : records) {
      record.start_ns = at_base(record.start_ns);
      record.end_ns = at_base(record.end_ns);
      sink.on(record);
    }
    records = {};
  };
  emit_devices(sink);
  emit(ranges_);
  emit(copies_);
  emit(memsets_);
  emit(kernels_);
}

void KinetoRecords::drop_calls_inside_of_others(Thread& thread) const {
  const Call* outer = nullptr;
  std::erase_if(thread.calls, [&](const Call& call) {
    const bool is_inside = outer != nullptr && call.api == trace::Api::kDriver &&
                           call.correlation == outer->correlation && call.end_ns <= outer->end_ns;
    if (call.api == trace::Api::kRuntime) outer = &call;
    return is_inside;
  });
}

// The number that the next node of the thread will get is one higher inside of an operator that made one.
void KinetoRecords::apply_node_starts(Thread& thread) {
  std::sort(thread.node_starts_ns.begin(), thread.node_starts_ns.end());
  for (HostSpan& span : thread.spans) {
    if (span.mark == kNoMark || marks_[span.mark].role != trace::AutogradRole::kForward) continue;
    if (!std::binary_search(thread.node_starts_ns.begin(), thread.node_starts_ns.end(), span.start_ns)) continue;
    marks_.push_back({.role = trace::AutogradRole::kForward, .sequence = marks_[span.mark].sequence + 1});
    span.mark = static_cast<std::uint32_t>(marks_.size() - 1);
  }
  thread.node_starts_ns = {};
}

std::int64_t KinetoRecords::sample_pitch_ns() const {
  double total_ns = 0;
  for (const auto& [id, thread] : threads_) {
    if (!thread.spans.empty()) total_ns += extent_of(thread.spans).length_ns();
  }
  return ingest::sample_pitch_ns(total_ns);
}

void KinetoRecords::emit_thread(std::uint32_t id, Thread& thread, std::int64_t pitch_ns, trace::RecordSink& sink) {
  std::sort(thread.calls.begin(), thread.calls.end(), [](const Call& a, const Call& b) {
    return std::tie(a.start_ns, b.end_ns, a.correlation) < std::tie(b.start_ns, a.end_ns, b.correlation);
  });
  drop_calls_inside_of_others(thread);
  sort_spans(thread.spans);
  apply_node_starts(thread);
  OpenSpans open(thread.spans, marks_, tree_);
  const bool has_spans = !thread.spans.empty();
  SampleTimes samples(has_spans ? extent_of(thread.spans) : Extent{0, 0}, pitch_ns);
  const auto emit_samples_before = [&](std::int64_t time_ns) {
    for (; has_spans && samples.is_before(time_ns); samples.advance()) {
      open.move_to(samples.next_ns());
      auto record = trace::make_record<trace::SampleRecord>(trace::RecordKind::kSample);
      record.thread = id;
      record.time_ns = at_base(samples.next_ns());
      record.stack = open.stack();
      if (record.stack != trace::kNoId) sink.on(record);
    }
  };
  for (const Call& call : thread.calls) {
    emit_samples_before(call.start_ns);
    open.move_to(call.start_ns);
    emit_call(id, call, open, sink);
  }
  emit_samples_before(std::numeric_limits<std::int64_t>::max());
}

void KinetoRecords::emit_call(std::uint32_t thread, const Call& call, OpenSpans& open, trace::RecordSink& sink) {
  auto record = trace::make_record<trace::CallRecord>(trace::RecordKind::kCall);
  record.thread = thread;
  record.start_ns = at_base(call.start_ns);
  record.end_ns = at_base(call.end_ns);
  record.correlation = call.correlation;
  record.stack = open.stack();
  record.name = call.name;
  record.kind = call.kind;
  record.api = call.api;
  record.is_captured = is_capturing(call.start_ns) ? 1 : 0;
  const auto found = extras_.find(call.correlation);
  const CallExtra extra = found == extras_.end() ? CallExtra{} : found->second;
  record.context = extra.context;
  record.stream = extra.stream;
  record.device = extra.device;
  record.bytes = extra.bytes;
  record.object = extra.object;
  if (const AutogradMark* mark = open.mark()) {
    record.autograd_role = mark->role;
    record.autograd_sequence = mark->sequence;
  }
  sink.on(record);
}

void KinetoRecords::write_definitions(trace::Process& process) {
  const std::uint64_t truncated_count = tree_.write_to(process);
  if (truncated_count > 0) count_loss(Loss::kStackTruncated, truncated_count);
  for (std::uint32_t id = 1; id <= frames_.size(); ++id) process.frames[id] = std::move(frames_[id - 1]);
  for (std::uint32_t number = 1; number < is_string_.size(); ++number) {
    if (is_string_[number]) process.strings[number] = names_.text(number);
  }
  for (const auto& [loss, count] : losses_) process.losses[loss] += count;
}

}  // namespace turnpike::ingest
