// Large copies of pinned memory that reach far less than the link can do, and links that are less than their cards.
#include <algorithm>
#include <cmath>
#include <string>

#include "analyze/rules/large_copies.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// Of what the link does. Copies both ways at once slow each other down by less.
constexpr double kSlowShare = 0.7;

// What the link's rate comes from, where it was not measured.
std::string source_text(const ProcessModel& model, std::uint32_t device, Direction direction) {
  const KnownRate* rate = model.link_rate(device, direction);
  if (rate == nullptr || rate->basis.empty()) return "";
  return " (computed: " + rate->basis + ")";
}

// `where` names the device if the site copies with several.
void find(const ProcessModel& model, const SiteCalls& site, Direction direction, std::uint32_t device,
          LargeCopies copies, const std::string& where, std::vector<Candidate>& found) {
  const auto share = copies.share_of_link();
  if (!share || *share >= kSlowShare) return;
  if (copies.are_far()) return;  // wrong_numa_node tells why
  const std::string percent = std::to_string(std::lround(100 * *share));
  found.push_back(
      {.where = site.facts->place,
       .title = "this copy reaches only " + percent + " % of the link's speed" + where,
       .evidence = times_a_step(model, copies.count) + ", " +
                   bytes_text(static_cast<double>(copies.bytes) / static_cast<double>(copies.count)) + " each at " +
                   rate_text(copies.gbps()) + " of " + rate_text(copies.link_gbps()) +
                   source_text(model, device, direction) + "; the copies took " + time_a_step(model, copies.device_ns),
       .advice =
           copies.are_in_rows
               ? "Copy the rows in one piece, without gaps: tensor.contiguous() once, before the loop. Now it goes "
                 "row by row. In C++, use cudaMemcpyAsync; take the part that is needed on the GPU."
               : "Run it beside its GPU: numactl --cpunodebind=N --membind=N (nvidia-smi topo -m names N). See what "
                 "else uses the link then; `turnpike bench link` says what it can do.",
       .changes = {{Change::kFullLinkSpeed, std::move(copies.calls)}}});
}

// What the copies of a call took that went over the link of a device.
std::int64_t link_time_of(const ProcessModel& model, std::uint32_t call, std::uint32_t device) {
  std::int64_t sum_ns = 0;
  for (const std::uint32_t operation : model.operations_of(call)) {
    const Transfer* transfer = model.transfer_of(model.graph().operations[operation]);
    if (transfer == nullptr || transfer->device != device) continue;
    if (transfer->direction != Direction::kHostToDevice && transfer->direction != Direction::kDeviceToHost) continue;
    sum_ns += transfer->duration_ns();
  }
  return sum_ns;
}

// One finding for all such GPUs: it is about no line.
void find_reduced_links(const ProcessModel& model, std::vector<Candidate>& found) {
  std::string title;
  std::string evidence;
  Selection calls;
  for (const auto& record : model.timeline().devices) {
    const Link* link = model.link(record.device);
    if (link == nullptr || link->share_of_card >= 1) continue;
    std::int64_t copies_ns = 0;
    for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
      const auto copy_ns = link_time_of(model, call, record.device);
      if (copy_ns > 0) calls.push_back(call);
      copies_ns += copy_ns;
    }
    const std::string gpu = "GPU " + std::to_string(record.device);
    title += (title.empty() ? "" : "; ") + ("the link of " + gpu) + " is " + link->pcie + ", and the card has " +
             link->card_pcie;
    evidence += (evidence.empty() ? "" : "; ") + gpu + ": copies over the link took " + time_a_step(model, copies_ns);
  }
  if (calls.empty()) return;
  std::sort(calls.begin(), calls.end());
  found.push_back(
      {.where = {},
       .title = std::move(title),
       .evidence = evidence + ". The generation is the highest seen while copies ran: an idle GPU lowers it",
       .advice = "Move the card, or ask for another machine: the slot, a riser or settings hold the link back. "
                 "In `sudo lspci -vv`, LnkSta of the bridge that does says \"downgraded\".",
       .changes = {{Change::kFullLinkWidth, std::move(calls)}}});
}

}  // namespace

void find_slow_link(const RuleInput& input, std::vector<Candidate>& found) {
  const HostNodes nodes(input.model.process());
  for (const SiteCalls& site : input.sites) {
    for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
      auto by_device = large_copies_of(input.model, nodes, site, direction, trace::MemoryKind::kPinned);
      for (auto& [device, copies] : by_device) {
        const std::string where = by_device.size() > 1 ? " (GPU " + std::to_string(device) + ")" : "";
        find(input.model, site, direction, device, std::move(copies), where, found);
      }
    }
  }
  find_reduced_links(input.model, found);
}

}  // namespace turnpike::analyze
