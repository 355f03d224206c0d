// One process on its way into the sums of a run: each call and each transfer is visited once and handed to its row with
// what it cost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/model/activity.h"
#include "analyze/model/forward_line.h"
#include "analyze/model/memory_use.h"
#include "analyze/model/stacks.h"
#include "analyze/model/steps.h"
#include "analyze/model/threads.h"
#include "analyze/model/timeline.h"
#include "analyze/sums/idle.h"
#include "analyze/sums/run_sums.h"
#include "trace/process.h"

namespace turnpike::analyze {

class ProcessAnalysis {
 public:
  // Keeps references to all three. `like`: the steps of an earlier part of the process; read only here.
  ProcessAnalysis(RunSums& sums, const trace::Process& process, const Timeline& timeline, const Steps* like = nullptr);

  // nullopt: there are no steps.
  const std::optional<FoundSteps>& steps() const { return steps_; }
  // Both of the whole process; valid as long as this object.
  Stacks& stacks() { return stacks_; }
  const Activity& activity() const { return activity_; }
  // Adds the transfers and synchronisations of the process to the sums; once.
  void add_to_sums();

  // nullopt: nothing of it was recorded. `span_start_ns`: what its times count from.
  std::optional<MemoryUse> memory(std::int64_t span_start_ns) {
    return memory_use_of(timeline_, stacks_, span_start_ns);
  }
  // What the devices waited for, which the waits in these calls explain; once, after add_to_sums(), where kernels are
  // known. `span`: what the verdict is about. Refers to this object.
  IdleTimes idle_times(Interval span);
  // When the host waited for batches, or made them (loading.h).
  const std::vector<Interval>& loading();
  // What findings are looked for in. Refers to this object.
  ProcessModel model(std::optional<FoundSteps> steps, const LinkRates& rates);

 private:
  // What names a row, in numbers that are quick to compare.
  struct RowKey {
    std::uint32_t facts;
    std::uint32_t forward_facts;
    std::uint32_t direction_and_kinds;
    friend bool operator==(const RowKey&, const RowKey&) = default;
  };
  struct RowKeyHash {
    std::size_t operator()(const RowKey& key) const;
  };

  // Where the cost of a transfer or a synchronisation is added.
  struct Rows {
    std::uint32_t site;
    std::uint32_t path;
  };

  std::optional<FoundSteps> find_own_steps(const Steps* like);
  void add_transfers();
  void add_synchronisations();
  HostActivity host_activity();
  // The first call of the host that starts then or later.
  std::uint32_t first_call_from(std::int64_t start_ns) const;
  void add_caused_by(std::uint32_t call_index, std::span<const Transfer* const> transfers);
  void add_transfer(const Transfer& transfer, TransferCost cost);
  void add_synchronisation(std::uint32_t call_index);
  // How long, and how long idle, the host was held by the transfers of a call and the synchronisation paired with it.
  TransferCost host_cost_of(const Call& call, const Call* synchronisation, std::span<const Transfer* const> transfers);
  // Those found for each transfer.
  const Rows& rows_of(const Transfer& transfer) const {
    return rows_of_transfer_[static_cast<std::size_t>(&transfer - timeline_.transfers.data())];
  }
  // `facts`: of the transfer.
  Rows find_rows(const Transfer& transfer, std::uint32_t facts);
  Rows rows_of_synchronisation(const Call& call);
  // Of the way to the calls of `facts`.
  std::uint32_t node_of(const StackFacts& facts);
  std::uint32_t path_row_of(std::uint32_t facts, std::uint32_t forward_facts, const Call* call,
                            std::optional<Direction> direction);
  // The place described by `facts`, for work that `call` requested (nullptr: unknown). `forward_facts` describes the
  // forward call of a backward one, and is kNone for others.
  CallSite call_site(std::uint32_t facts, std::uint32_t forward_facts, const Call* call) const;
  // The facts of the forward call behind a backward one; kNone.
  std::uint32_t forward_facts_of(const Call& call);
  std::optional<std::int64_t> idle_ns(std::uint32_t device, const Call& call) const;
  void note_wait(std::vector<HostWait>& waits, const Call& call) const;
  // When a transfer was asked for, if in a whole step.
  std::optional<std::int64_t> time_in_steps(const Transfer& transfer) const;
  Interval steps_window() const { return steps_ ? steps_->window : Interval{0, 0}; }

  RunSums& sums_;
  const trace::Process& process_;
  const Timeline& timeline_;
  Stacks stacks_;
  ForwardLines forward_lines_;
  Activity activity_;
  std::vector<std::uint32_t> paired_;  // by call: its synchronisation
  Threads host_threads_;
  std::vector<std::uint32_t> order_;  // of the transfers, by call
  std::vector<Rows> rows_of_transfer_;
  std::unordered_map<RowKey, Rows, RowKeyHash> row_cache_;
  std::unordered_map<std::uint64_t, Rows> sync_row_cache_;             // by facts and forward facts
  std::unordered_map<std::uint32_t, std::uint32_t> node_cache_;        // by facts
  std::unordered_map<std::uint32_t, std::uint32_t> path_frame_cache_;  // by frame: as the table of paths numbers it
  std::optional<FoundSteps> steps_;                                    // after the rows, from which they are found
  std::unordered_set<std::uint32_t> synchronisations_of_transfers_;
  LinesOfRows lines_of_transfers_;         // by row of sums_.sites
  LinesOfRows lines_of_synchronisations_;  // by row of sums_.sync_sites
  std::vector<HostWait> copy_waits_;
  std::optional<std::vector<Interval>> loading_;
  std::vector<HostWait> untimed_waits_;  // of copies without times
  std::vector<HostWait> sync_waits_;
};

}  // namespace turnpike::analyze
