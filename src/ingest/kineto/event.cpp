// The keys of events, and the categories of torch.profiler.
#include "ingest/kineto/event.h"

#include <algorithm>

#include "ingest/kineto/decimal.h"

namespace turnpike::ingest {
namespace {

struct NamedCategory {
  std::string_view name;
  Category category;
};

constexpr NamedCategory kCategories[] = {
    {"python_function", Category::kPython},
    {"cpu_op", Category::kOperator},
    {"Operator", Category::kOperator},  // PyTorch before 1.12
    {"user_annotation", Category::kAnnotation},
    {"cuda_runtime", Category::kRuntimeCall},
    {"Runtime", Category::kRuntimeCall},
    {"cuda_driver", Category::kDriverCall},
    {"kernel", Category::kKernel},
    {"Kernel", Category::kKernel},
    {"gpu_memcpy", Category::kMemcpy},
    {"Memcpy", Category::kMemcpy},
    {"gpu_memset", Category::kMemset},
    {"Memset", Category::kMemset},
    {"cuda_sync", Category::kSynchronisation},
    {"fwdbwd", Category::kForwardBackward},
    {"forward_backward", Category::kForwardBackward},
};

// Of the other devices: xpu_runtime, privateuse1_runtime, xpu_driver, ...
Category category_of(std::string_view name) {
  for (const NamedCategory& known : kCategories) {
    if (known.name == name) return known.category;
  }
  if (name.ends_with("_runtime")) return Category::kRuntimeCall;
  if (name.ends_with("_driver")) return Category::kDriverCall;
  return Category::kOther;
}

constexpr Argument kNoArgument = Argument::kCount;

Argument argument_of(std::string_view key) {
  const auto is = [&](std::string_view name, Argument argument) { return key == name ? argument : kNoArgument; };
  switch (key.size()) {
    case 4:
      return is("size", Argument::kSize);
    case 5:
      return is("bytes", Argument::kBytes);
    case 6:
      return key == "device" ? Argument::kDevice : is("stream", Argument::kStream);
    case 7:
      return is("context", Argument::kContext);
    case 8:
      return key == "inDevice"   ? Argument::kInDevice
             : key == "toDevice" ? Argument::kToDevice
                                 : is("graph id", Argument::kGraph);
    case 9:
      return is("inContext", Argument::kInContext);
    case 10:
      return is("fromDevice", Argument::kFromDevice);
    case 11:
      return is("correlation", Argument::kCorrelation);
    case 13:
      return key == "Fwd thread id" ? Argument::kForwardThread : is("graph node id", Argument::kGraphNode);
    case 14:
      return is("wait_on_stream", Argument::kWaitOnStream);
    case 15:
      return is("Sequence number", Argument::kSequence);
    case 33:
      return is("wait_on_cuda_event_record_corr_id", Argument::kWaitOnRecord);
    default:
      return kNoArgument;
  }
}

std::int64_t integer_or_absent(const JsonValue& value) {
  if (value.kind != JsonValue::Kind::kScalar && value.kind != JsonValue::Kind::kString) return kAbsent;
  return integer_of(value.text).value_or(kAbsent);
}

std::int64_t time_of(const JsonValue& value) {
  if (value.kind != JsonValue::Kind::kScalar) return trace::kUnknownTime;
  const auto time_ns = nanoseconds_of(value.text);
  return time_ns && trace::is_possible_time(*time_ns) ? *time_ns : trace::kUnknownTime;
}

bool is_text_argument(std::string_view key) {
  return key == "name" || key == "labels" || key == "cuda_sync_kind";
}

Scan read_arguments(JsonCursor& cursor, KinetoEvent& event) {
  JsonValue key;
  JsonValue value;
  for (bool is_end = false;;) {
    if (const Scan scan = cursor.next_key(key, is_end); scan != Scan::kOk || is_end) return scan;
    if (const Scan scan = cursor.value(value); scan != Scan::kOk) return scan;
    const Argument argument = argument_of(key.text);
    if (argument != kNoArgument) {
      event.arguments[static_cast<std::size_t>(argument)] = integer_or_absent(value);
    } else if (value.kind == JsonValue::Kind::kString && is_text_argument(key.text)) {
      event.text = value;
    }
  }
}

// Most events of a trace are of these, and nothing is taken from their arguments.
bool has_arguments_of_use(Category category) {
  return category != Category::kPython && category != Category::kAnnotation && category != Category::kForwardBackward;
}

void take_field(KinetoEvent& event, std::string_view key, const JsonValue& value) {
  if (key == "ts") {
    event.start_ns = time_of(value);
  } else if (key == "dur") {
    event.duration_ns = time_of(value);
  } else if (key == "pid") {
    event.pid = integer_or_absent(value);
  } else if (key == "tid") {
    event.tid = integer_or_absent(value);
  } else if (value.kind != JsonValue::Kind::kString) {
    return;
  } else if (key == "name") {
    event.name = value;
  } else if (key == "ph") {
    event.phase = value.text.size() == 1 ? value.text.front() : '\0';
  } else if (key == "cat") {
    event.has_category = true;
    event.category = category_of(value.text);
  }
}

void clear(KinetoEvent& event) {
  event = KinetoEvent{};
  event.arguments.fill(kAbsent);
}

}  // namespace

Scan read_event(JsonCursor& cursor, KinetoEvent& event) {
  clear(event);
  JsonValue key;
  JsonValue value;
  for (bool is_end = false;;) {
    if (const Scan scan = cursor.next_key(key, is_end); scan != Scan::kOk) return scan;
    if (is_end) break;
    // The category stands before the arguments in every file of torch.profiler: known, it saves looking at them.
    const bool are_arguments =
        key.text == "args" && cursor.peek() == '{' && (!event.has_category || has_arguments_of_use(event.category));
    const Scan scan = are_arguments ? read_arguments(cursor, event) : cursor.value(value);
    if (scan != Scan::kOk) return scan;
    if (!are_arguments) take_field(event, key.text, value);
  }
  if (event.phase == 'M') event.category = Category::kMetadata;
  return Scan::kOk;
}

}  // namespace turnpike::ingest
