// One transfer's staged part on its way: which chunks are begun, under way and over.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "move/mark.h"
#include "move/plan.h"
#include "move/ring.h"

namespace turnpike::move {

enum class Direction { kUp, kDown };

struct Job {
  Job(Direction way, Device& on, CUstream_st* in, Plan what, bool beside, std::string for_what)
      : direction(way), device(on), stream(in), plan(std::move(what)), label(std::move(for_what)), is_ahead(beside) {}

  const Direction direction;
  Device& device;
  CUstream_st* const stream;
  const Plan plan;
  const std::string label;  // of the ranges that the copies are issued in

  // What follows is guarded by the stager's lock.

  // A chunk in a slot. Threads share it, grain by grain.
  struct Load {
    Slot* slot = nullptr;
    std::size_t chunk = 0;
    std::size_t size_bytes = 0;
    std::size_t next = 0;      // the first byte that no thread has taken
    std::size_t finished = 0;  // bytes

    bool is_taken() const { return next == size_bytes; }
    bool is_finished() const { return finished == size_bytes; }
    // What no thread has taken will be taken by none.
    void cut() { size_bytes = next; }
  };
  using Loads = std::list<Load>;
  Loads gathering;                 // of an upload: only the last has something that is not taken
  std::vector<Load> staged;        // gathered, and no thread issues them yet
  std::vector<Load> batch;         // those that a thread issues: its alone while is_issuing
  Loads landings;                  // of a download: issued, and not taken
  Loads handing;                   // taken, and not finished
  bool is_ahead;                   // nobody waits for it yet
  Store store = Store::kPlain;     // as the settings say at its submission, as the next; as it is from then on
  std::size_t most_gatherers = 1;  // where items are dense
  bool is_shared = false;          // threads carry it, too
  bool is_issuing = false;         // a thread is; one is enough, several would only wait for a lock of the driver
  std::size_t next = 0;            // the first chunk that is not begun
  std::size_t gatherers = 0;       // threads that bring grains into slots now
  bool is_cancelled = false;
  std::shared_ptr<Mark> done;    // behind the last copy; nullptr until all are issued
  Status status;                 // the first failure
  std::int64_t started_ns = 0;   // steady clock
  std::int64_t finished_ns = 0;  // 0 until is_over()

  bool is_begun() const { return is_cancelled || next == plan.chunks.size(); }
  // Every copy that will be issued is. Without a mark only after a failure.
  bool is_issued() const { return has_issued() && (done != nullptr || !status); }
  bool has_issued() const { return is_begun() && gathering.empty() && staged.empty() && !is_issuing; }
  bool is_over() const { return is_issued() && landings.empty() && handing.empty(); }
};

}  // namespace turnpike::move
