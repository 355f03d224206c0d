// All that is known of one process when its findings are looked for: its records, what its stacks say, and the graph of
// its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/graph/graph.h"
#include "analyze/graph/links.h"
#include "analyze/graph/run_graph.h"
#include "analyze/model/stacks.h"
#include "analyze/model/steps.h"
#include "analyze/model/threads.h"
#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::analyze {

class ProcessModel {
 public:
  // Keeps references to all but `rates`. `steps`: nullopt for the whole run.
  ProcessModel(const trace::Process& process, const Timeline& timeline, Stacks& stacks,
               const std::vector<std::uint32_t>& synchronisation_of_copy, std::optional<FoundSteps> steps,
               const LinkRates& rates);

  const trace::Process& process() const { return process_; }
  const Timeline& timeline() const { return timeline_; }
  const Graph& graph() const { return run_->graph; }
  // The same with what its re-timing needs, for who keeps it longer than the model.
  const std::shared_ptr<const RunGraph>& run() const { return run_; }
  const std::optional<FoundSteps>& steps() const { return steps_; }
  // The steps that the graph holds; 1 for a whole run.
  std::size_t step_count() const;

  // What a step takes (the whole run, without steps): as measured, and re-timed without any change.
  double measured_step_ns(Pauses pauses = Pauses::kLeftOut) const { return run_->step(pauses).measured_ns; }
  double retimed_step_ns() const { return run_->step(Pauses::kLeftOut).retimed_ns; }
  // By how much the dependencies alone, with the lags that are typical of their kinds, miss the measured step: 0.1 is
  // 10 %. Builds the graph a second time.
  double unexplained_share() const;
  // The call at an index of the graph's.
  const Call& call(std::uint32_t index) const { return timeline_.calls[graph().calls[index]]; }
  const Transfer* transfer_of(const Operation& operation) const;
  const StackFacts& facts_of_call(std::uint32_t index) const;
  const StackFacts& facts(const Call& call) const { return stacks_.facts(stacks_.of_call(call)); }
  // Of a sample.
  const Place& place_of_stack(std::uint32_t stack) const { return stacks_.facts(stacks_.of_stack(stack)).place; }
  // The operations that a call of the graph asked for.
  std::span<const std::uint32_t> operations_of(std::uint32_t call) const { return operations_of_call_[call]; }
  // The synchronisation by which an operator of PyTorch waits for the copy of this call; kNone. Indices of the graph's.
  std::uint32_t synchronisation_of(std::uint32_t call) const;
  std::uint32_t step_of(std::uint32_t call) const;
  // Whether a thread was busy with backward passes in the stretch of the graph.
  bool is_autograd_thread(std::uint32_t thread) const { return autograd_threads_.contains(thread); }
  // Where the host did nothing but get the next batch ready; see batch_gaps.h. None without steps.
  std::vector<Interval> batch_gaps() const;
  // Of page-locked memory; see links.h.
  std::optional<double> link_gbps(std::uint32_t device, Direction direction) const;
  // The same with its source; nullptr where it is not known.
  const KnownRate* link_rate(std::uint32_t device, Direction direction) const;
  // nullptr: nothing is known of it.
  const Link* link(std::uint32_t device) const;
  // What a copy of page-locked memory takes (Link::copy_ns, and its start); nullopt when the link's rate is not known.
  std::optional<std::int64_t> link_time_ns(std::uint32_t device, Direction direction, std::uint64_t bytes) const;

 private:
  const trace::Process& process_;
  const Timeline& timeline_;
  Stacks& stacks_;
  const std::vector<std::uint32_t>& synchronisation_of_copy_;
  std::optional<FoundSteps> steps_;
  std::map<std::uint32_t, Link> links_;
  std::shared_ptr<const RunGraph> run_;
  OperationsByCall operations_of_call_;
  std::vector<std::uint32_t> graph_call_of_;  // by call of the timeline
  Threads autograd_threads_;
};

}  // namespace turnpike::analyze
