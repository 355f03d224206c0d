// Uploads that PyTorch can only make from a copy: it first gathers what is not contiguous, or converts the type, into
// new ordinary memory on the host. Even a page-locked source is worth nothing then. Or the program does the same in a
// line of its own before.
#include <algorithm>
#include <map>
#include <utility>

#include "analyze/model/thread_samples.h"
#include "analyze/rules/copy_fault.h"
#include "analyze/rules/rules.h"
#include "trace/frames.h"

namespace turnpike::analyze {
namespace {

// What the host did between its last call and each of these, in which the copy on the host was made.
std::int64_t gaps_before_ns(const ProcessModel& model, const Selection& calls) {
  const Graph& graph = model.graph();
  std::int64_t sum_ns = 0;
  for (const std::uint32_t call : calls) {
    const std::uint32_t before = graph.previous_call[call];
    if (before == kNone) continue;
    const std::int64_t gap_ns = graph.measured_ns[graph.call_start(call)] - graph.measured_ns[graph.call_end(before)];
    sum_ns += std::max<std::int64_t>(gap_ns, 0);
  }
  return sum_ns;
}

bool has_waits_behind(const ProcessModel& model, const Selection& calls) {
  return std::any_of(calls.begin(), calls.end(),
                     [&](std::uint32_t call) { return model.synchronisation_of(call) != kNone; });
}

// Samples of where the host was between the calls before some uploads and these.
struct SeenBefore {
  std::uint64_t count = 0;
  std::uint64_t copying_count = 0;  // of these, in aten::_to_copy
  struct AtSite {
    Where where;
    std::uint64_t count = 0;
  };
  std::map<std::string, AtSite> copying;  // by site
};

// aten::to, float(), half() and their like, when they make a new tensor.
bool is_in_to_copy(const trace::Process& process, std::uint32_t stack_id) {
  const auto frames = trace::frames_of(process, stack_id);
  return std::any_of(frames.begin(), frames.end(), [](const trace::Frame* frame) {
    return frame->kind == trace::FrameKind::kOperator && frame->function == "aten::_to_copy";
  });
}

SeenBefore look_before(const ProcessModel& model, const Selection& calls) {
  const Graph& graph = model.graph();
  SeenBefore seen;
  for (const std::uint32_t call : calls) {
    const std::uint32_t before = graph.previous_call[call];
    if (before == kNone) continue;
    const Interval pause{model.call(before).end_ns, model.call(call).start_ns};
    for (const trace::SampleRecord& sample : samples_in(model.timeline(), model.call(call).thread, pause)) {
      ++seen.count;
      if (!is_in_to_copy(model.process(), sample.stack)) continue;
      ++seen.copying_count;
      const Place& place = model.place_of_stack(sample.stack);
      ++seen.copying.try_emplace(place.site, SeenBefore::AtSite{without_library(place)}).first->second.count;
    }
  }
  return seen;
}

// An upload begins with a moment in the operator that makes it, which a sample may hit: it must be seen there in every
// second upload, and often enough to be no chance.
bool is_copied_before(const SeenBefore& seen, const Selection& calls) {
  constexpr std::uint64_t kOften = 3;
  return seen.copying_count >= kOften && 2 * seen.copying_count >= calls.size();
}

// A new tensor that the program makes on the host, in a line of its own, of what goes up next.
void find_copied_before(const ProcessModel& model, const SiteCalls& site, std::vector<Candidate>& found) {
  const Selection& calls = copies_of(site, Direction::kHostToDevice);
  const SeenBefore seen = look_before(model, calls);
  if (!is_copied_before(seen, calls)) return;
  const std::int64_t before_ns = gaps_before_ns(model, calls);
  const double share = static_cast<double>(seen.copying_count) / static_cast<double>(seen.count);
  const auto copying_ns = static_cast<std::int64_t>(share * static_cast<double>(before_ns));
  if (!matters(model, copying_ns)) return;
  const auto most = std::max_element(seen.copying.begin(), seen.copying.end(),
                                     [](const auto& a, const auto& b) { return a.second.count < b.second.count; });
  const CopyCount& copies = count_copies(site, Direction::kHostToDevice);
  found.push_back(
      {.where = most->second.where,
       .title = "a new tensor is made on the CPU before it goes up",
       .evidence = times_a_step(model, copies.count) + ", " + mean_bytes_text(copies) + " each, go up at " +
                   site.facts->place.site + " from ordinary memory; before that the CPU spent about " +
                   time_a_step(model, copying_ns) + " in aten::to (in " + std::to_string(seen.copying_count) + " of " +
                   std::to_string(seen.count) + " samples). Whether the type changed there is not recorded",
       .advice = "If that changes the type, change it on the GPU: x.to(device, non_blocking=True).float(). Upload "
                 "the data as it is stored. Or tp.to(x, device, dtype=torch.float32).",
       .edit = {LineEdit::Kind::kConvertOnDevice},
       .changes = {{Change::kSkipHostCopy, calls}}});
}

}  // namespace

void find_strided_or_converting_copy(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  for (const SiteCalls& site : input.sites) {
    const CopyFault fault = upload_fault(model, site);
    if (fault == CopyFault::kPageable) find_copied_before(model, site, found);
    if (fault != CopyFault::kRearranged) continue;
    const CopyCount& copies = count_copies(site, Direction::kHostToDevice);
    const Selection& calls = copies_of(site, Direction::kHostToDevice);
    const std::int64_t before_ns = gaps_before_ns(model, calls);
    // PyTorch converts on the host only where it also waits: without a wait the source was strided.
    const bool is_strided = !has_waits_behind(model, calls);
    const bool is_rate_known = is_link_known(model, calls, Direction::kHostToDevice);
    found.push_back(
        {.where = site.facts->place,
         .title = is_strided ? "the data is gathered into a copy on the CPU before it goes up"
                             : "the data is gathered or converted into a copy on the CPU before it goes up",
         .evidence =
             times_a_step(model, copies.count) + ", " + mean_bytes_text(copies) +
             " each from a temporary copy in ordinary memory; the CPU spent " + time_a_step(model, before_ns) +
             " before the uploads and stood still for " + time_a_step(model, copies.host_ns) + " in them" +
             (is_rate_known ? ""
                            : "; the gain leaves out that they would be faster, as the rate of the link is unknown"),
         .advice =
             is_strided
                 ? "Upload the whole and slice on the GPU: x.to(device, non_blocking=True)[:, ::2]. Or make it "
                   "contiguous once, before the loop: x = x[:, ::2].contiguous().pin_memory()."
                 : "Upload it as it is stored and change it on the GPU: x.to(device, non_blocking=True).to(dtype). "
                   "Slice or transpose there, too. Or tp.to(x, device, dtype=dtype).",
         .edit = {LineEdit::Kind::kConvertOnDevice},
         .changes = {{Change::kSkipHostCopy, calls}, {is_rate_known ? Change::kPin : Change::kNonBlocking, calls}}});
  }
}

}  // namespace turnpike::analyze
