// Rolls up a long recording window by window, so that memory does not grow with its length.
//
// A trace is read twice. A survey tells how far its records are from the order of time and reads its definitions, which
// may stand behind the records that need them. Then windows are cut where no earlier record can come any more. Each is
// analysed with what lies around it: as much as records may be late, and at least five seconds.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/model/timeline.h"
#include "report/rollup/rollup.h"
#include "trace/format.h"
#include "trace/process.h"
#include "trace/record_sink.h"

namespace turnpike::report::rollup {

struct WindowLimits {
  // Calls, device records and ranges in memory. More if so many come within a few margins, and up to kMostForSteps
  // times as many until there are enough steps to tell what one is.
  std::size_t records = 1'000'000;
  std::int64_t margin_ns = 5'000'000'000;  // at least
};

inline constexpr std::size_t kMostForSteps = 4;

// Keeps the records of a process, up to `limit` of them. Beyond that it only notes how late they come.
class Survey final : public trace::RecordSink {
 public:
  explicit Survey(std::size_t limit) : limit_(limit), loader_(std::make_unique<analyze::TimelineLoader>()) {}

  void on(const trace::CallRecord& record) override;
  void on(const trace::MemcpyRecord& record) override { take_in_time(record); }
  void on(const trace::MemsetRecord& record) override { take_in_time(record); }
  void on(const trace::KernelRecord& record) override { take_in_time(record); }
  void on(const trace::MigrationRecord& record) override { take_in_time(record); }
  void on(const trace::RangeRecord& record) override;
  void on(const trace::DeviceRecord& record) override { take(record); }
  void on(const trace::ThreadRecord& record) override { take(record); }
  void on(const trace::StreamRecord& record) override { take(record); }
  void on(const trace::GraphNodeRecord& record) override { take(record); }

  // Whether all records are here.
  bool is_whole() const { return loader_ != nullptr; }
  // Needs is_whole(). Empties the survey.
  analyze::Timeline take_timeline() { return loader_->take(); }
  // What windows of this process need around them.
  std::int64_t margin_ns(const trace::Process& process, const WindowLimits& limits) const;

 private:
  template <typename Record>
  void take(const Record& record) {
    if (loader_) loader_->on(record);
  }
  template <typename Record>
  void take_in_time(const Record& record);
  void count();
  std::int64_t lateness_ns(std::int64_t start_ns) const;

  std::size_t limit_;
  std::size_t count_ = 0;
  std::unique_ptr<analyze::TimelineLoader> loader_;
  std::int64_t newest_ns_ = std::numeric_limits<std::int64_t>::min();  // start of a call
  std::int64_t most_late_ns_ = 0;
  std::unordered_map<std::uint32_t, std::int64_t> most_late_range_ns_;  // by name
};

// Receives the records of a process that was surveyed.
class Windows final : public trace::RecordSink {
 public:
  // Keeps a reference to the process. `margin_ns`: of its survey.
  Windows(const trace::Process& process, std::int64_t margin_ns, const WindowLimits& limits);

  void on(const trace::CallRecord& record) override;
  void on(const trace::MemcpyRecord& record) override { hold(memcpys_, record); }
  void on(const trace::MemsetRecord& record) override { hold(memsets_, record); }
  void on(const trace::KernelRecord& record) override { hold(kernels_, record); }
  void on(const trace::MigrationRecord& record) override { hold(migrations_, record); }
  void on(const trace::RangeRecord& record) override { hold(ranges_, record); }
  void on(const trace::DeviceRecord& record) override { devices_.push_back(record); }
  void on(const trace::ThreadRecord& record) override { threads_.insert_or_assign(record.thread, record); }
  void on(const trace::StreamRecord& record) override { streams_.push_back(record); }
  void on(const trace::GraphNodeRecord& record) override { graph_nodes_.insert_or_assign(record.node, record); }

  // As RollUp::finish().
  std::string finish(const std::string& run);
  // How many windows there were.
  int count() const { return count_; }

 private:
  template <typename Record>
  void hold(std::vector<Record>& held, const Record& record) {
    held.push_back(record);
    ++held_count_;
  }
  analyze::Timeline timeline() const;
  void cut(const analyze::Timeline& timeline, std::int64_t end_ns, bool is_last);
  void drop_before(std::int64_t time_ns);

  RollUp rollup_;
  std::int64_t margin_ns_;
  std::size_t limit_;
  std::size_t cut_at_;
  std::size_t held_count_ = 0;
  int count_ = 0;
  std::int64_t start_ns_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t newest_ns_ = std::numeric_limits<std::int64_t>::min();
  std::vector<trace::CallRecord> calls_;
  std::vector<trace::MemcpyRecord> memcpys_;
  std::vector<trace::MemsetRecord> memsets_;
  std::vector<trace::KernelRecord> kernels_;
  std::vector<trace::MigrationRecord> migrations_;
  std::vector<trace::RangeRecord> ranges_;
  std::vector<trace::DeviceRecord> devices_;
  std::map<std::uint32_t, trace::ThreadRecord> threads_;
  std::vector<trace::StreamRecord> streams_;
  std::map<std::uint64_t, trace::GraphNodeRecord> graph_nodes_;
};

}  // namespace turnpike::report::rollup
