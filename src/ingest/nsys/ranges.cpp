// Tells operators from ranges of the program, and finds those around a moment.
#include "ingest/nsys/ranges.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <tuple>

#include "ingest/nsys/enums.h"
#include "ingest/sample_pitch.h"
#include "trace/make_record.h"

namespace turnpike::ingest {
namespace {

enum class EventType { kOther, kRange, kMark, kDomain, kThreadName };

NsysEnum<EventType> read_event_types(NsysExport& from) {
  return {from,
          "ENUM_NSYS_EVENT_TYPE",
          {{"NvtxMark", "NvtxMark", 34, EventType::kMark},
           {"NvtxThread", "NvtxThread", 39, EventType::kThreadName},
           {"NvtxPushPopRange", "NvtxPushPopRange", 59, EventType::kRange},
           {"NvtxStartEndRange", "NvtxStartEndRange", 60, EventType::kRange},
           {"NvtxtMark", "NvtxtMark", 65, EventType::kMark},
           {"NvtxtPushPopRange", "NvtxtPushPopRange", 70, EventType::kRange},
           {"NvtxtStartEndRange", "NvtxtStartEndRange", 71, EventType::kRange},
           {"NvtxDomainCreate", "NvtxDomainCreate", 75, EventType::kDomain}},
          EventType::kOther};
}

constexpr std::string_view kEvaluateFunction = "autograd::engine::evaluate_function: ";

// "aten::copy_", and not "FSDP::pre_forward (layer 1)", which is a range that a library put there.
bool is_operator(std::string_view name) {
  const auto colons = name.find("::");
  if (colons == 0 || colons == std::string_view::npos || std::isupper(static_cast<unsigned char>(name[0])) != 0) {
    return false;
  }
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  const std::string_view space = name.substr(0, colons);
  const std::string_view rest = name.substr(colons + 2);
  return !rest.empty() && std::all_of(space.begin(), space.end(), is_part) &&
         std::all_of(rest.begin(), rest.end(), is_part);
}

// A step of the backward pass ("autograd::engine::evaluate_function: MulBackward0", and in it "MulBackward0"): only
// these have a number without being operators.
bool is_autograd_node(const TorchName& torch) {
  return torch.name.starts_with(kEvaluateFunction) ||
         (torch.sequence && torch.name.find(':') == std::string_view::npos &&
          torch.name.find("Backward") != std::string_view::npos);
}

// When the last of them ended; they are sorted by start.
template <typename Operators>
std::int64_t end_of(const Operators& operators) {
  return std::max_element(operators.begin(), operators.end(),
                          [](const auto& a, const auto& b) { return a.end_ns < b.end_ns; })
      ->end_ns;
}

}  // namespace

std::optional<TorchName> torch_name(std::string_view text) {
  constexpr std::string_view kSequence = ", seq = ";
  const auto sequence_at = text.find(kSequence);
  const auto name_end = std::min(sequence_at, text.find(", op_id = "));
  if (name_end == std::string_view::npos || name_end == 0) return std::nullopt;
  TorchName name{text.substr(0, name_end), std::nullopt};
  if (sequence_at == std::string_view::npos) return name;
  const std::string_view digits = text.substr(sequence_at + kSequence.size());
  std::uint64_t sequence = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), sequence).ec == std::errc{}) {
    name.sequence = sequence;
  }
  return name;
}

std::uint32_t NsysRanges::Event::name(NsysNames& names) const {
  if (text) return names.intern(*text);
  return text_id ? names.of_string_id(*text_id) : trace::kNoId;
}

void NsysRanges::read() {
  const NsysEnum<EventType> types = read_event_types(export_);
  export_.scan("NVTX_EVENTS",
               {"start", "eventType", "globalTid", "end", "text", "textId", "endGlobalTid", "domainId", "color"}, 3,
               [&](SqliteRow& row) {
                 const EventType type = types.of(row.needed_integer(1));
                 if (type == EventType::kOther) return;
                 Event event{.start_ns = export_.time_ns(row, row.needed_integer(0)).value_or(0),
                             .end_ns = export_.time_ns(row, row.integer(3)),
                             .start_thread = row.needed_integer(2),
                             .end_thread = row.integer(6),
                             .domain = static_cast<std::uint64_t>(row.integer(7).value_or(0)),
                             .color = static_cast<std::uint32_t>(row.integer(8).value_or(0)),
                             .text = row.text(4),
                             .text_id = row.integer(5)};
                 if (event.end_ns && *event.end_ns < event.start_ns) row.set_unreadable();
                 if (!row.is_readable()) return;
                 switch (type) {
                   case EventType::kMark:
                     event.end_ns = event.start_ns;
                     return keep_range(event);
                   case EventType::kRange:
                     return keep_range(event);
                   case EventType::kDomain:
                     domains_[{process_of(event.start_thread), event.domain}] = event.name(export_.names);
                     return;
                   case EventType::kThreadName:
                     thread_names_.push_back({event.start_thread, event.name(export_.names)});
                     return;
                   case EventType::kOther:
                     return;
                 }
               });
  for (auto& [thread, operators] : operators_) nest(operators);
}

void NsysRanges::keep_range(const Event& event) {
  // A range that had not ended when the recording did has no end: nothing can be said of it.
  if (!event.end_ns) return;
  const std::string_view text = event.text ? *event.text : export_.names.text(event.name(export_.names));
  const auto torch = torch_name(text);
  if (torch && (is_operator(torch->name) || is_autograd_node(*torch)) && event.end_ns > event.start_ns) {
    operators_[event.start_thread].push_back(operator_from(event, *torch));
    return;
  }
  // A range of the program that went through PyTorch has its numbers behind the name: each would be a name of its own.
  const std::uint32_t name = torch ? export_.names.intern(torch->name) : event.name(export_.names);
  ranges_.push_back({event.start_ns, *event.end_ns, event.start_thread, event.end_thread.value_or(event.start_thread),
                     event.domain, name, event.color});
}

NsysRanges::Operator NsysRanges::operator_from(const Event& event, const TorchName& torch) {
  Operator made{.start_ns = event.start_ns,
                .end_ns = *event.end_ns,
                .sequence = torch.sequence.value_or(0),
                .name = trace::kNoId,
                .around = kNone,
                .chain = 0,
                .role = trace::AutogradRole::kUnknown};
  if (is_autograd_node(torch)) {
    if (torch.name.starts_with(kEvaluateFunction) && torch.sequence) made.role = trace::AutogradRole::kBackward;
  } else {
    made.name = export_.names.intern(torch.name);
    if (torch.sequence) made.role = trace::AutogradRole::kForward;
  }
  return made;
}

// An operator names the number that the next node of autograd gets. Most make that node themselves, before they call
// CUDA: then the next number is one higher. One that did not is followed by another operator with the same number.
void NsysRanges::count_own_nodes(std::vector<Operator>& operators) {
  std::unordered_map<std::uint64_t, std::int64_t> last_start_ns;
  for (const Operator& entry : operators) {
    if (entry.role == trace::AutogradRole::kForward) last_start_ns[entry.sequence] = entry.start_ns;
  }
  for (Operator& entry : operators) {
    if (entry.role == trace::AutogradRole::kForward && last_start_ns[entry.sequence] < entry.end_ns) ++entry.sequence;
  }
}

// Operators of a thread lie inside of one another: each takes over what is known of those around it.
void NsysRanges::nest(std::vector<Operator>& operators) {
  std::sort(operators.begin(), operators.end(), [](const Operator& a, const Operator& b) {
    return std::tie(a.start_ns, b.end_ns) < std::tie(b.start_ns, a.end_ns);
  });
  count_own_nodes(operators);
  std::uint32_t around = kNone;
  for (std::uint32_t index = 0; index < operators.size(); ++index) {
    Operator& inner = operators[index];
    while (around != kNone && operators[around].end_ns <= inner.start_ns) around = operators[around].around;
    inner.around = around;
    if (around != kNone) {
      const Operator& outer = operators[around];
      inner.chain = outer.chain;
      if (outer.role == trace::AutogradRole::kBackward || inner.role == trace::AutogradRole::kUnknown) {
        inner.role = outer.role;
        inner.sequence = outer.sequence;
      }
    }
    if (inner.name != trace::kNoId) inner.chain = stacks_.inside(inner.chain, inner.name);
    around = index;
  }
}

OperatorsAt NsysRanges::operators_at(std::int64_t global_thread, std::int64_t time_ns) const {
  const auto found = operators_.find(global_thread);
  if (found == operators_.end()) return {};
  const std::vector<Operator>& operators = found->second;
  const auto after = std::partition_point(operators.begin(), operators.end(),
                                          [=](const Operator& entry) { return entry.start_ns <= time_ns; });
  auto at = static_cast<std::uint32_t>(after - operators.begin()) - 1;
  while (at != kNone && operators[at].end_ns <= time_ns) at = operators[at].around;
  if (at == kNone) return {};
  return {operators[at].chain, operators[at].role, operators[at].sequence};
}

void NsysRanges::give() {
  for (const Range& range : ranges_) {
    const ProcessKey key = process_of(range.start_thread);
    NsysProcess* process = export_.processes.find(key);
    if (process == nullptr) continue;
    auto record = trace::make_record<trace::RangeRecord>(trace::RecordKind::kRange);
    record.thread = thread_of(range.start_thread);
    record.end_thread = thread_of(range.end_thread);
    record.name = process->use(range.name);
    record.start_ns = range.start_ns;
    record.end_ns = range.end_ns;
    const auto domain = domains_.find({key, range.domain});
    record.domain = domain == domains_.end() ? trace::kNoId : process->use(domain->second);
    record.color = range.color;
    process->sink.on(record);
  }
  ranges_ = {};
}

std::int64_t NsysRanges::sample_pitch_ns() const {
  double total_ns = 0;
  for (const auto& [thread, operators] : operators_) {
    total_ns += static_cast<double>(end_of(operators) - operators.front().start_ns);
  }
  return ingest::sample_pitch_ns(total_ns);
}

void NsysRanges::give_samples() const {
  const std::int64_t pitch_ns = sample_pitch_ns();
  for (const auto& [thread, operators] : operators_) {
    NsysProcess* process = export_.processes.find(process_of(thread));
    if (process == nullptr) continue;
    // In the middle of each stretch, so that the first is no special moment.
    const std::int64_t end_ns = end_of(operators);
    for (std::int64_t time_ns = operators.front().start_ns + pitch_ns / 2; time_ns < end_ns; time_ns += pitch_ns) {
      const OperatorsAt at = operators_at(thread, time_ns);
      if (at.chain == 0) continue;
      auto record = trace::make_record<trace::SampleRecord>(trace::RecordKind::kSample);
      record.thread = thread_of(thread);
      record.time_ns = time_ns;
      record.stack = stacks_.stack_of(*process, std::nullopt, at.chain);
      process->sink.on(record);
    }
  }
}

void NsysRanges::give_thread_names() const {
  for (const auto& [thread, name] : thread_names_) {
    NsysProcess* process = export_.processes.find(process_of(thread));
    if (process == nullptr) continue;
    auto record = trace::make_record<trace::ThreadRecord>(trace::RecordKind::kThread);
    record.thread = thread_of(thread);
    record.name = process->use(name);
    process->sink.on(record);
  }
}

}  // namespace turnpike::ingest
