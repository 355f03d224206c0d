// The first of the two readings that the export for trace viewers takes: which rows there are, and which call caused
// what.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/chrome/idle_lanes.h"
#include "report/chrome/rows.h"
#include "trace/process.h"
#include "trace/record_sink.h"

namespace turnpike::report {

enum class TrackKind : std::uint8_t { kThread, kRanges, kIdle, kStream, kMigrations };

// What is drawn on rows of its own.
struct Track {
  TrackKind kind;
  std::uint32_t owner;   // a thread, or a device
  std::uint32_t stream;  // of kStream; else 0
  friend auto operator<=>(const Track&, const Track&) = default;
};

// The call that device work leads back to.
struct Cause {
  std::uint32_t correlation;
  std::uint32_t ordinal;
  std::uint32_t track : 31;
  std::uint32_t is_backward : 1;  // made by a thread of autograd's backward pass
  std::uint32_t stack;
  std::int64_t start_ns;
};

// Takes the records of one file; then finish(); then the questions. Memory: 48 bytes a record, half of it until
// finish(), and 32 bytes a stretch in which a device waited. Records are known by their ordinal among those that have
// times, in the order of the file.
class ChromeIndex final : public trace::RecordSink {
 public:
  void on(const trace::CallRecord& call) override;
  void on(const trace::MemcpyRecord& copy) override;
  void on(const trace::MemsetRecord& memset) override;
  void on(const trace::KernelRecord& kernel) override;
  void on(const trace::RangeRecord& range) override;
  void on(const trace::MigrationRecord& migration) override;
  void on(const trace::DeviceRecord& device) override;
  void on(const trace::ThreadRecord& thread) override;
  void on(const trace::StreamRecord& stream) override;
  void on(const trace::GraphNodeRecord& node) override;

  void finish(trace::Process process, IdleLanes idle = {});

  const trace::Process& process() const { return process_; }
  std::optional<std::int64_t> first_ns() const { return first_ns_; }
  // Records of the kinds that are drawn.
  std::uint32_t record_count() const { return next_ordinal_; }
  // Of these, the ones that cannot be drawn because CUPTI could not give their times.
  std::uint64_t untimed_count() const { return untimed_count_; }
  const std::map<Track, std::uint32_t>& tracks() const { return tracks_; }
  const RowLanes& lanes() const { return lanes_; }
  const IdleLanes& idle() const { return idle_; }
  // nullptr: the file holds no such call.
  const Cause* cause_of(std::uint32_t correlation) const;
  // Of the line that captured a node of a graph; trace::kNoId when that is not known.
  std::uint32_t stack_of_node(std::uint64_t node) const;

  std::string device_name(std::uint32_t device) const;
  std::string thread_name(std::uint32_t thread) const;
  std::string stream_name(std::uint32_t device, std::uint32_t stream) const;

 private:
  struct StreamNames {
    std::uint32_t name;
    bool is_default;
  };
  struct GraphNode {
    std::uint32_t stack;
    std::uint64_t cloned_from;
  };

  void add(const Track& track, std::int64_t start_ns, std::int64_t end_ns);
  std::uint32_t track_number(const Track& track);

  trace::Process process_;
  std::map<Track, std::uint32_t> tracks_;
  std::vector<RowItem> items_;
  std::vector<Cause> causes_;  // by correlation after finish()
  RowLanes lanes_;
  IdleLanes idle_;
  std::optional<std::int64_t> first_ns_;
  std::uint32_t next_ordinal_ = 0;
  std::uint64_t untimed_count_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> device_names_;
  std::unordered_map<std::uint32_t, std::uint32_t> thread_names_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, StreamNames> stream_names_;
  std::unordered_map<std::uint64_t, GraphNode> graph_nodes_;
};

// Where a record is drawn.
Track track_of(const trace::CallRecord& call);
Track track_of(const trace::MemcpyRecord& copy);
Track track_of(const trace::MemsetRecord& memset);
Track track_of(const trace::KernelRecord& kernel);
Track track_of(const trace::RangeRecord& range);
Track track_of(const trace::MigrationRecord& migration);
Track idle_track(std::uint32_t device);

// Whether a record can be drawn.
bool has_times(std::int64_t start_ns, std::int64_t end_ns);

}  // namespace turnpike::report
