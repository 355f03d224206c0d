// What the fake CUPTI is told to do, by the environment of the process:
//
//   FAKE_CUPTI_FAIL=NAME:CODE,NAME=ARGUMENT:CODE,...   these functions (with this first argument) fail with this
//   CUptiResult FAKE_CUPTI_VERSION=N           what cuptiGetVersion says, and whose structures are delivered (130001)
//   FAKE_CUPTI_GROW=BYTES          activity structures are this much longer than the headers know
//   FAKE_CUPTI_UNKNOWN=N           after every Nth record stands one of a kind that no header knows
//   FAKE_CUPTI_DROP=N              every Nth record is dropped and counted
//   FAKE_CUPTI_ZERO_TIMES=N        every Nth record has no times
//   FAKE_CUPTI_REORDER=SEED        records are delivered shuffled
//   FAKE_CUPTI_DELAY_MS=N          a record can be delivered this long after its work ended; a forced flush does not
//   wait FAKE_CUPTI_PERIOD_MS=N         how often the worker thread looks for finished work (5)
//   FAKE_CUPTI_BUFFER_RECORDS=N    buffers count as full after this many records
//   FAKE_CUPTI_PER_THREAD=1        a buffer for each thread, requested on it at its first record
//   FAKE_CUPTI_KEEP_UNTIL_FULL=1   only a forced flush delivers buffers that are not full
//   FAKE_CUPTI_TSC_AFTER=N         times of records are raw ticks from the Nth record on (torch.profiler left its
//   clock) FAKE_CUPTI_RAW_CLOCK=1      CUPTI's clock is CLOCK_MONOTONIC_RAW, as in WSL2
//   FAKE_CUPTI_REPORT=FILE         writes at exit what was produced and delivered
//   FAKE_CUPTI_QUESTION_MS=N       to say what a device or a stream is called takes so long
#pragma once

#include <cupti_result.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace turnpike::fake {

struct Script {
  std::map<std::string, CUptiResult> failures;
  std::uint32_t version = 130001;
  std::size_t grow_bytes = 0;
  std::uint64_t unknown_every = 0;
  std::uint64_t drop_every = 0;
  std::uint64_t zero_times_every = 0;
  std::optional<std::uint64_t> reorder_seed;
  std::uint64_t delay_ms = 0;
  std::uint64_t period_ms = 5;
  std::size_t buffer_records = 0;
  std::uint64_t question_ms = 0;
  bool is_per_thread = false;
  bool keeps_buffers = false;
  bool keeps_until_full = false;
  bool enters_loader = false;
  std::optional<std::uint64_t> tsc_after;
  bool has_raw_clock = false;
  std::string report;

  // What the function returns instead of doing its work; CUPTI_SUCCESS: it does its work.
  CUptiResult failure(const char* function) const;
  CUptiResult failure(const char* function, std::uint64_t argument) const;
};

const Script& script();

}  // namespace turnpike::fake
