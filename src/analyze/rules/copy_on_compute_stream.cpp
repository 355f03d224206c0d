// Asynchronous copies of page-locked memory that are queued between the kernels: while they cross, the GPU computes
// nothing, though it could.
#include "analyze/rules/batch_memory.h"
#include "analyze/rules/compute.h"
#include "analyze/rules/copy_fault.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// The calls whose copies lie on a stream that computes, and how long no kernel ran beside them.
struct Queued {
  Selection calls;
  std::int64_t copy_ns = 0;
  std::int64_t exposed_ns = 0;
};

Queued queued_of(const ProcessModel& model, const Compute& compute, const SiteCalls& site, Direction direction) {
  Queued queued;
  for (const std::uint32_t call : copies_of(site, direction)) {
    bool is_queued = false;
    for (const std::uint32_t index : model.operations_of(call)) {
      const Operation& operation = model.graph().operations[index];
      if (operation.transfer == kNone || !compute.is_compute_stream(operation.device, operation.stream)) continue;
      queued.copy_ns += operation.end_ns - operation.start_ns;
      queued.exposed_ns += compute.exposed_ns(operation);
      is_queued = true;
    }
    if (is_queued) queued.calls.push_back(call);
  }
  return queued;
}

double mean_ns(const ProcessModel& model, std::int64_t total_ns) {
  return static_cast<double>(total_ns) / static_cast<double>(model.step_count());
}

std::string evidence_of(const ProcessModel& model, const CopyCount& copies, const Queued& queued) {
  const double exposed_ns = mean_ns(model, queued.exposed_ns);
  return times_a_step(model, copies.count) + ", " + mean_bytes_text(copies) + " each; they took " +
         time_a_step(model, queued.copy_ns) + ", " + time_text(exposed_ns) + " of it without a kernel beside them";
}

void find_upload(const ProcessModel& model, const Compute& compute, const SiteCalls& site,
                 std::vector<Candidate>& found) {
  if (upload_fault(model, site) != CopyFault::kQueued) return;
  const CopyCount& copies = count_copies(site, Direction::kHostToDevice);
  Queued queued = queued_of(model, compute, site, Direction::kHostToDevice);
  if (!matters(model, queued.exposed_ns)) return;
  found.push_back({.where = site.facts->place,
                   .title = "the GPU stops computing while this upload crosses",
                   .evidence = evidence_of(model, copies, queued) + one_more_batch_text(model),
                   .advice =
                       "Bring the next batch up while this one is computed: for batch in tp.prefetch(loader, device). "
                       "By hand, on a stream of its own: torch.cuda.Stream() for the copy, and "
                       "wait_stream() before the batch is used.",
                   .changes = {{Change::kPrefetch, std::move(queued.calls)}}});
}

void find_download(const ProcessModel& model, const Compute& compute, const SiteCalls& site,
                   std::vector<Candidate>& found) {
  if (download_fault(model, site) != CopyFault::kQueued) return;
  const CopyCount& copies = count_copies(site, Direction::kDeviceToHost);
  Queued queued = queued_of(model, compute, site, Direction::kDeviceToHost);
  if (!matters(model, queued.exposed_ns)) return;
  found.push_back({.where = site.facts->place,
                   .title = "the GPU stops computing while this result comes down",
                   .evidence = evidence_of(model, copies, queued),
                   .advice =
                       "Let it come down beside the next kernels: pending = tp.fetch(x), later pending.result(). By "
                       "hand, on a stream of its own: side.wait_stream(torch.cuda.current_stream()), the copy "
                       "under torch.cuda.stream(side), and x.record_stream(side).",
                   .changes = {{Change::kSideStreams, std::move(queued.calls)}}});
}

}  // namespace

void find_copy_on_compute_stream(const RuleInput& input, std::vector<Candidate>& found) {
  const Compute compute(input.model);
  if (!compute.is_known()) return;
  for (const SiteCalls& site : input.sites) {
    find_upload(input.model, compute, site, found);
    find_download(input.model, compute, site, found);
  }
}

}  // namespace turnpike::analyze
