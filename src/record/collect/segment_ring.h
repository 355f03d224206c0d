// The files of a recording that keeps only the last of a program: one of definitions, and segments of records beside
// it, of which the old ones are deleted. And copies of them, kept as runs of their own.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "trace/format.h"
#include "trace/writer.h"

namespace turnpike::record {

// Collector's thread only. Segments that have ended are never written again, so that a kept run shares them by hard
// links, and takes room of its own only for what the ring has deleted since.
class SegmentRing {
 public:
  struct Limits {
    std::int64_t last_ns = 0;
    std::uint64_t max_bytes = 0;  // of the segments on the disk; 0: of none
  };

  // `path` is the file of definitions, `header` what it begins with. Opens the first segment. False: errno says why.
  bool start(const std::string& path, const trace::FileHeader& header, const Limits& limits);
  // The recording has ended, or is another process's: the files stay.
  void close() noexcept;
  bool is_on() const noexcept { return limits_.last_ns > 0; }

  trace::Writer& segment() noexcept { return writers_[current_]; }
  const std::string& segment_path() const noexcept { return paths_[current_]; }
  // Whether the segment that is written has its time, or its size.
  bool is_due(std::int64_t now_realtime_ns) const noexcept;
  // Opens the next segment beside it. False: it could not be opened; errno says why.
  bool open_next(std::int64_t now_realtime_ns, std::int64_t now_monotonic_ns, std::uint32_t next_correlation) noexcept;
  // Closes the segment, which has its end by now, and goes on with the next.
  void turn_to_next() noexcept;
  // Deletes segments whose time is over, or for which there is no room.
  void delete_old(std::int64_t now_realtime_ns) noexcept;

  // Copies what has ended into the directory `run`, which exists: segments, and of the definitions the first
  // `definition_bytes`, followed by `metadata`. 0, or an errno: then nothing of it is left there.
  int keep(const std::string& run, std::uint64_t definition_bytes, const std::vector<std::byte>& metadata) const;

  // Of all segments that ever were: what was written, and what the disk did not take.
  std::uint64_t written_bytes() const noexcept { return all_bytes_ + writers_[current_].written_bytes(); }
  std::uint64_t lost_bytes() const noexcept { return lost_bytes_ + writers_[current_].lost_bytes(); }

 private:
  struct Ended {
    std::string path;
    std::int64_t end_realtime_ns;
    std::uint64_t bytes;
  };

  std::string path_of(std::uint64_t number) const;
  bool open(std::size_t which, std::uint64_t number, const trace::FileHeader& header) noexcept;

  Limits limits_;
  std::string path_;
  trace::FileHeader header_{};
  // The segment that is written, and while they change the next one.
  trace::Writer writers_[2];
  std::string paths_[2];
  std::int64_t starts_ns_[2] = {};
  std::size_t current_ = 0;
  std::uint64_t number_ = 0;
  std::deque<Ended> ended_;
  std::uint64_t ended_bytes_ = 0;
  std::uint64_t all_bytes_ = 0;
  std::uint64_t lost_bytes_ = 0;
};

}  // namespace turnpike::record
