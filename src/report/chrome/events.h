// The second reading of a file for trace viewers: every record becomes its events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "report/chrome/index.h"
#include "report/chrome/layout.h"
#include "report/chrome/trace_event_writer.h"
#include "trace/record_sink.h"

namespace turnpike::report {

class ChromeEvents final : public trace::RecordSink {
 public:
  // All outlive this. `number`: of the file, as the layout counts them.
  ChromeEvents(const ChromeIndex& index, const ChromeLayout& layout, std::size_t number, TraceEventWriter& writer)
      : index_(index), layout_(layout), number_(number), writer_(writer) {}

  // What the devices waited for, which is no record.
  void draw_idle();
  void on(const trace::CallRecord& call) override;
  void on(const trace::MemcpyRecord& copy) override;
  void on(const trace::MemsetRecord& memset) override;
  void on(const trace::KernelRecord& kernel) override;
  void on(const trace::RangeRecord& range) override;
  void on(const trace::MigrationRecord& migration) override;

 private:
  struct Slice {
    const char* category;
    std::string name;
    JsonFields args;
  };

  // Counts the record. nullopt: it cannot be drawn.
  template <typename Record>
  std::optional<TraceRow> next_row(const Record& record);
  template <typename Record>
  std::optional<TraceRow> draw(const Record& record, const Slice& slice);
  template <typename Record>
  void draw_work(const Record& record, Slice slice);
  TraceRow row_of(const Cause& cause) const;
  // The fields "site", "function", "op", "phase", "stack" of a stack, put together once.
  const std::string& place_fields(std::uint32_t stack, bool is_backward);
  const std::string& kernel_name(std::uint32_t name);

  const ChromeIndex& index_;
  const ChromeLayout& layout_;
  std::size_t number_;
  TraceEventWriter& writer_;
  std::uint32_t next_ordinal_ = 0;
  std::unordered_map<std::uint64_t, std::string> places_;
  std::unordered_map<std::uint32_t, std::string> kernel_names_;
};

}  // namespace turnpike::report
