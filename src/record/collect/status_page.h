// The page of counters that `turnpike record` shares with the processes it records.
#pragma once

#include "record/handover/loss_counters.h"
#include "record/handover/record_batch.h"
#include "record/session.h"

namespace turnpike::record {

// Collector's thread only, but for note_unusable. Without a page everything is a no-op.
class StatusPage {
 public:
  // Maps the file that TURNPIKE_STATUS names, once per process.
  void open() noexcept;
  void note_process() noexcept;
  void note_unusable() noexcept;
  // Adds what has changed since the last update: `now` counts from the start of the recording.
  void update(const TurnpikeStatus& now) noexcept;
  // A new recording begins: its counts start from 0.
  void restart() noexcept { last_ = {}; }

  // The numbers of kept runs, which the processes of a run share; without a page, this process's own.
  std::uint64_t keep_number() const noexcept;
  void raise_keep_number(std::uint64_t number) noexcept;
  // Takes one of `most` runs that triggers may keep. False: all are taken.
  bool take_trigger(std::uint64_t most) noexcept;

 private:
  TurnpikeStatus& shared() const noexcept { return page_ == nullptr ? own_ : *page_; }

  TurnpikeStatus* page_ = nullptr;
  mutable TurnpikeStatus own_{};
  TurnpikeStatus last_{};
};

// This process's counters in the form of session.h.
TurnpikeStatus to_status(const RecordCounts& counts, const LossCounters& losses, std::uint64_t written_bytes) noexcept;

}  // namespace turnpike::record
