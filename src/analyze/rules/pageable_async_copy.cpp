// Uploads from ordinary memory, which the GPU cannot reach: the driver stages them while the host waits.
#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "analyze/cost_model.h"
#include "analyze/model/intervals.h"
#include "analyze/model/link_state.h"
#include "analyze/rules/copy_fault.h"
#include "analyze/rules/loader.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

std::string evidence_of(const ProcessModel& model, const CopyCount& copies, const Selection& calls) {
  std::string text = times_a_step(model, copies.count) + ", " + mean_bytes_text(copies) + " each";
  if (copies.device_ns > 0) {
    text += ", which cross at " + rate_text(static_cast<double>(copies.bytes) / static_cast<double>(copies.device_ns));
    const std::uint32_t device = model.graph().operations[model.operations_of(calls.front()).front()].device;
    const auto link_gbps = model.link_gbps(device, Direction::kHostToDevice);
    if (link_gbps) text += ", where the link does " + rate_text(link_gbps);
  }
  return text + "; the CPU stood still for " + time_a_step(model, copies.host_ns);
}

// Where the data of uploads come from.
struct Origin {
  bool is_loaded_here = false;   // a DataLoader without workers
  bool is_of_file = false;       // a mapped file
  bool is_of_optimizer = false;  // an optimizer on the CPU
};

// Weighted by bytes: the recorder checks only large copies, and half of a model's tensors are small. A small part is
// enough: nothing is known of a mapping that is gone when the recorder looks, and a program that loads one model after
// another unmaps each within milliseconds.
bool are_of_files(const ProcessModel& model, const std::unordered_set<std::uint32_t>& from_files,
                  const Selection& calls) {
  std::uint64_t of_files = 0;
  std::uint64_t all = 0;
  for (const std::uint32_t call : calls) {
    for (const std::uint32_t operation : model.operations_of(call)) {
      const Transfer* transfer = model.transfer_of(model.graph().operations[operation]);
      if (transfer == nullptr) continue;
      all += transfer->bytes;
      if (from_files.contains(model.call(call).correlation)) of_files += transfer->bytes;
    }
  }
  constexpr std::uint64_t kParts = 16;  // more than one of so many is enough
  return kParts * of_files > all;
}

// Whether as much came down, and an optimizer is what samples mostly find between the calls.
bool are_of_optimizer(const RuleInput& input, const Selection& calls, std::uint64_t bytes) {
  const bool has_come_down = std::any_of(input.sites.begin(), input.sites.end(), [&](const SiteCalls& site) {
    return count_copies(site, Direction::kDeviceToHost).bytes == bytes;
  });
  return has_come_down &&
         loader_in(input.model, input.model.call(calls.front()).thread, IntervalSet(pauses_before(input.model, calls)))
             .is_optimizer;
}

struct UploadAdvice {
  std::string text;
  Change change = Change::kPin;
  LineEdit edit{};
};

constexpr LineEdit kThroughStaging{LineEdit::Kind::kStageUpload};

UploadAdvice advice_for(const SiteCalls& site, const Origin& origin) {
  if (!site.facts->place.op) {
    return {"Page-lock the buffer once, with cudaMallocHost or cudaHostRegister, then use cudaMemcpyAsync."};
  }
  // If only tp.to is advised, the CPU still waits for staging. Of what a library uploads, other advice is given.
  const Change staged = site.facts->place.library_site ? Change::kPin : Change::kStageInThreads;
  if (origin.is_of_file) {
    return {"tp.to(state, device) reads the mapped file and stages it on threads of its own.", staged, kThroughStaging};
  }
  if (origin.is_of_optimizer) {
    return {
        "Keep what the optimizer updates on the CPU pinned: p = torch.empty_like(p, pin_memory=True). Once, of "
        "each tensor p on the CPU; then parameter.copy_(p, non_blocking=True)."};
  }
  if (origin.is_loaded_here) {
    return {
        "tp.to(batch, device) stages it on threads of its own. As long as the DataLoader has no workers, pinning in "
        "it takes this process more time than the copy saves.",
        staged, kThroughStaging};
  }
  return {
      "Pin it: DataLoader(..., pin_memory=True), and upload with x.to(device, non_blocking=True). A tensor that stays: "
      "x.pin_memory() once. Or tp.to(batch, device), which needs no pinning.",
      Change::kPin, kThroughStaging};
}

// The pages of a mapped file are still looked up, in groups of 64 KiB (Linux's fault_around_bytes), and that takes
// about 1.2 us a group (bench/field, mapped_model). Each thread that stages looks up its own.
constexpr double kPagesBytes = 64 << 10;
constexpr double kStagingThreads = kStagedInThreadsGbps / kHostCopyGbps;  // so many make the rate of tp.to

Reach reach_for(const ProcessModel& model, const CopyCount& copies, const Origin& origin, Change change) {
  if (!origin.is_of_file) return {};
  const double groups_a_step =
      static_cast<double>(copies.bytes) / kPagesBytes / static_cast<double>(model.step_count());
  const double threads = change == Change::kStageInThreads ? kStagingThreads : 1;
  return {.leaves_ns = groups_a_step * kLookUpNs / threads, .reason = "the file's pages are still looked up"};
}

}  // namespace

void find_pageable_async_copy(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  std::optional<bool> is_loaded_here;  // looked up for the first finding
  const std::unordered_set<std::uint32_t> from_files = copies_from_files(model.process());
  for (const SiteCalls& site : input.sites) {
    if (upload_fault(model, site) != CopyFault::kPageable) continue;
    const CopyCount& copies = count_copies(site, Direction::kHostToDevice);
    if (!matters(model, std::max(copies.host_ns, copies.device_ns))) continue;
    const Selection& calls = copies_of(site, Direction::kHostToDevice);
    if (!is_loaded_here) is_loaded_here = loads_in_main_process(model);
    const Origin origin = {.is_loaded_here = *is_loaded_here,
                           .is_of_file = are_of_files(model, from_files, calls),
                           .is_of_optimizer = are_of_optimizer(input, calls, copies.bytes)};
    const UploadAdvice advice = advice_for(site, origin);
    found.push_back({.where = site.facts->place,
                     .title = "uploads from ordinary (pageable) memory",
                     .evidence = evidence_of(model, copies, calls),
                     .advice = advice.text,
                     .edit = advice.edit,
                     .changes = {{advice.change, calls}},
                     .reach = reach_for(model, copies, origin, advice.change)});
  }
}

}  // namespace turnpike::analyze
