// What a stream of the simulated driver holds: its operations, first in, first out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cuda/driver.h"
#include "simulated/accesses.h"
#include "simulated/clock.h"

namespace turnpike::simulated {

enum class Kind { kUpload, kDownload, kPeerCopy, kKernel, kMarker, kHold };

struct Operation {
  Kind kind = Kind::kMarker;
  std::string what;             // for sentences
  Position position;            // set when it is issued
  std::vector<Position> after;  // of other streams, that must be done before
  std::size_t steps_left = 0;   // that others may do between its start and its end

  // Of copies.
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t size_bytes = 0;
  bool breaks_a_byte = false;              // a pair of devices between which bytes arrive wrong
  Range host_side;                         // of uploads and downloads
  std::optional<std::uint64_t> host_hash;  // of the bytes there, from the issue until the host knows that it is done
  // Of a download of so few aligned bytes that they are written in one piece: the word around them, as it is until
  // then.
  std::optional<std::uint64_t> word_before;
  Clock clock;                // what the host knows when it sees them: the copy, and what comes before it
  std::size_t patience = 0;   // looks that find nothing new, without the device going on
  bool is_overtaken = false;  // once done, a later operation may write the host side before the host knows

  std::function<void()> body;                               // of kernels
  std::vector<std::pair<std::byte*, std::size_t>> scratch;  // what a kernel overwrites: without meaning until its end

  bool is_started = false;
  bool is_released = false;  // of holds
};

struct Stream {
  CUstream_st* handle = nullptr;  // nullptr: the legacy default stream of its device
  std::size_t index = 0;
  int device = 0;
  bool is_blocking = true;  // in order with the legacy default stream
  bool is_destroyed = false;
  bool is_captured = false;
  bool is_the_tests = false;

  Clock clock;  // what comes before the next operation
  std::uint64_t issued = 0;
  std::uint64_t done = 0;
  std::deque<std::shared_ptr<Operation>> queue;

  // How it lags behind by choice.
  bool is_laggard = false;      // goes on only when the host waits or asks
  bool is_asleep = false;       // the same, until the next time that it does
  std::uint64_t resume_at = 0;  // not before all streams together have done so many steps

  std::thread thread;
};

struct Event {
  CUevent_st* handle = nullptr;
  int device = 0;
  bool has_time = false;
  bool is_destroyed = false;
  bool is_the_tests = false;
  bool is_recorded = false;
  Position position;  // of the last record
  Clock clock;
  std::size_t patience = 0;  // queries that are answered without the device going on
  std::shared_ptr<std::uint64_t> time_ns;
};

}  // namespace turnpike::simulated
