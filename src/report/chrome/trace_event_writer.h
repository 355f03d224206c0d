// Writes the Trace Event Format (JSON) that chrome://tracing and ui.perfetto.dev open, as a stream.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace turnpike::report {

// The inside of a JSON object, put together field by field. Text is escaped; bytes that are not UTF-8 become U+FFFD.
class JsonFields {
 public:
  JsonFields& add(std::string_view key, std::string_view value);
  JsonFields& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  JsonFields& add(std::string_view key, std::uint64_t value);
  JsonFields& add_decimal(std::string_view key, double value);  // three decimals
  JsonFields& add_json(std::string_view key, std::string_view json);
  // Fields that were put together before.
  JsonFields& append(std::string_view fields);
  const std::string& text() const { return text_; }

 private:
  void start(std::string_view key);
  std::string text_;
};

// With its quotes.
std::string json_string(std::string_view text);

// Where an event is drawn: a process and one of its rows.
struct TraceRow {
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
};

// Every time is in nanoseconds of the same clock; `base_ns` becomes 0.
class TraceEventWriter {
 public:
  // Receives the text piece by piece, some hundred kilobytes each.
  using Output = std::function<void(std::string_view)>;

  // `other_data` (may be empty): fields of the file's otherData.
  TraceEventWriter(Output output, std::int64_t base_ns, const JsonFields& other_data);
  TraceEventWriter(const TraceEventWriter&) = delete;
  TraceEventWriter& operator=(const TraceEventWriter&) = delete;

  void name_process(std::uint32_t pid, std::string_view name, std::uint32_t sort_index);
  void name_thread(TraceRow row, std::string_view name, std::uint32_t sort_index);
  void slice(TraceRow row, const char* category, std::string_view name, std::int64_t start_ns,
             std::uint64_t duration_ns, const JsonFields& args);
  void instant(TraceRow row, const char* category, std::string_view name, std::int64_t time_ns);
  // An arrow from the slice that starts at `from_ns` to the one that starts at `to_ns`.
  void flow(const char* category, TraceRow from, std::int64_t from_ns, TraceRow to, std::int64_t to_ns);
  // Ends the file. Nothing may follow.
  void close();

 private:
  void begin_event(char type, TraceRow row);
  void add_named_event(char type, TraceRow row, const char* category, std::string_view name, std::int64_t time_ns);
  void add_time(const char* key, std::uint64_t time_ns);
  void add_metadata(const char* kind, TraceRow row, const JsonFields& args);
  void flush_when_full();

  Output output_;
  std::int64_t base_ns_;
  std::string buffer_;
  std::uint64_t next_flow_ = 1;
  bool is_first_ = true;
};

}  // namespace turnpike::report
