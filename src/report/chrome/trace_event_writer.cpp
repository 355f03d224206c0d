#include "report/chrome/trace_event_writer.h"

#include <fmt/format.h>

#include <iterator>

#include "base/cleaned_text.h"
#include "base/utf8.h"

namespace turnpike::report {
namespace {

// Large enough that writing is cheap, small enough not to matter.
constexpr std::size_t kFlushBytes = 256 << 10;

void append_escaped(std::string& out, const CodePoint& point, std::string_view bytes) {
  if (!point.is_valid) {
    out += "\xEF\xBF\xBD";
  } else if (point.value == '"' || point.value == '\\') {
    out += '\\';
    out += bytes;
  } else if (!is_harmless(point.value)) {
    append_json_escape(out, point.value);
  } else {
    out += bytes;
  }
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    append_escaped(out, point, text.substr(0, point.bytes));
    text.remove_prefix(point.bytes);
  }
  out += '"';
}

// Not through signed subtraction: times of a damaged file may be anything.
std::uint64_t since(std::int64_t base_ns, std::int64_t time_ns) {
  return static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(base_ns);
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

void JsonFields::start(std::string_view key) {
  if (!text_.empty()) text_ += ',';
  append_json_string(text_, key);
  text_ += ':';
}

JsonFields& JsonFields::add(std::string_view key, std::string_view value) {
  start(key);
  append_json_string(text_, value);
  return *this;
}

JsonFields& JsonFields::add(std::string_view key, std::uint64_t value) {
  start(key);
  fmt::format_to(std::back_inserter(text_), "{}", value);
  return *this;
}

JsonFields& JsonFields::add_decimal(std::string_view key, double value) {
  start(key);
  fmt::format_to(std::back_inserter(text_), "{:.3f}", value);
  return *this;
}

JsonFields& JsonFields::add_json(std::string_view key, std::string_view json) {
  start(key);
  text_ += json;
  return *this;
}

JsonFields& JsonFields::append(std::string_view fields) {
  if (!text_.empty() && !fields.empty()) text_ += ',';
  text_ += fields;
  return *this;
}

TraceEventWriter::TraceEventWriter(Output output, std::int64_t base_ns, const JsonFields& other_data)
    : output_(std::move(output)), base_ns_(base_ns) {
  buffer_ = fmt::format("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{{}}},\n\"traceEvents\":[", other_data.text());
}

void TraceEventWriter::begin_event(char type, TraceRow row) {
  flush_when_full();
  buffer_ += is_first_ ? "\n" : ",\n";
  is_first_ = false;
  fmt::format_to(std::back_inserter(buffer_), "{{\"ph\":\"{}\",\"pid\":{},\"tid\":{}", type, row.pid, row.tid);
}

// Microseconds with three decimals from whole nanoseconds: a double would lose them.
void TraceEventWriter::add_time(const char* key, std::uint64_t time_ns) {
  fmt::format_to(std::back_inserter(buffer_), ",\"{}\":{}.{:03}", key, time_ns / 1000, time_ns % 1000);
}

void TraceEventWriter::add_named_event(char type, TraceRow row, const char* category, std::string_view name,
                                       std::int64_t time_ns) {
  begin_event(type, row);
  fmt::format_to(std::back_inserter(buffer_), ",\"cat\":\"{}\",\"name\":", category);
  append_json_string(buffer_, name);
  add_time("ts", since(base_ns_, time_ns));
}

void TraceEventWriter::add_metadata(const char* kind, TraceRow row, const JsonFields& args) {
  begin_event('M', row);
  fmt::format_to(std::back_inserter(buffer_), ",\"name\":\"{}\",\"args\":{{{}}}}}", kind, args.text());
}

void TraceEventWriter::name_process(std::uint32_t pid, std::string_view name, std::uint32_t sort_index) {
  add_metadata("process_name", {pid, 0}, JsonFields().add("name", name));
  add_metadata("process_sort_index", {pid, 0}, JsonFields().add("sort_index", std::uint64_t{sort_index}));
}

void TraceEventWriter::name_thread(TraceRow row, std::string_view name, std::uint32_t sort_index) {
  add_metadata("thread_name", row, JsonFields().add("name", name));
  add_metadata("thread_sort_index", row, JsonFields().add("sort_index", std::uint64_t{sort_index}));
}

void TraceEventWriter::slice(TraceRow row, const char* category, std::string_view name, std::int64_t start_ns,
                             std::uint64_t duration_ns, const JsonFields& args) {
  add_named_event('X', row, category, name, start_ns);
  add_time("dur", duration_ns);
  fmt::format_to(std::back_inserter(buffer_), ",\"args\":{{{}}}}}", args.text());
}

void TraceEventWriter::instant(TraceRow row, const char* category, std::string_view name, std::int64_t time_ns) {
  add_named_event('i', row, category, name, time_ns);
  buffer_ += ",\"s\":\"t\"}";
}

void TraceEventWriter::flow(const char* category, TraceRow from, std::int64_t from_ns, TraceRow to,
                            std::int64_t to_ns) {
  const std::uint64_t id = next_flow_++;
  add_named_event('s', from, category, "causes", from_ns);
  fmt::format_to(std::back_inserter(buffer_), ",\"id\":{}}}", id);
  add_named_event('f', to, category, "causes", to_ns);
  fmt::format_to(std::back_inserter(buffer_), ",\"id\":{},\"bp\":\"e\"}}", id);
}

void TraceEventWriter::flush_when_full() {
  if (buffer_.size() < kFlushBytes) return;
  output_(buffer_);
  buffer_.clear();
}

void TraceEventWriter::close() {
  buffer_ += "\n]}\n";
  output_(buffer_);
  buffer_.clear();
}

}  // namespace turnpike::report
