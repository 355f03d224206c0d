// Many small copies in each step, of one line or of lines beside each other: issuing them takes longer than the bytes
// take to cross.
#include <utility>

#include "analyze/rules/copy_fault.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

std::string evidence_of(const ProcessModel& model, const SiteCalls& site, Direction direction) {
  const CopyCount& copies = count_copies(site, direction);
  std::string text = times_a_step(model, copies.count) + ", " + mean_bytes_text(copies) + " each";
  const double bytes_per_step = static_cast<double>(copies.bytes) / static_cast<double>(model.step_count());
  const std::uint32_t first = copies_of(site, direction).front();
  const std::uint32_t device = model.graph().operations[model.operations_of(first).front()].device;
  const auto link_ns = model.link_time_ns(device, direction, static_cast<std::uint64_t>(bytes_per_step));
  text += "; the copies took " + time_a_step(model, copies.device_ns);
  if (link_ns) text += " (in one piece: " + time_text(static_cast<double>(*link_ns)) + ")";
  if (copies.host_ns > 0) text += ", and the CPU stood still for " + time_a_step(model, copies.host_ns);
  return text;
}

Candidate candidate_of(const ProcessModel& model, const SiteCalls& site, Direction direction) {
  const bool is_up = direction == Direction::kHostToDevice;
  return {.where = site.facts->place,
          .title = is_up ? "many small uploads where one would do" : "many small downloads where one would do",
          .evidence = evidence_of(model, site, direction),
          .advice =
              is_up ? "Pack them on the CPU and upload once: torch.stack(parts).to(device).unbind(). Or torch.cat and "
                      "split; or tp.to(parts, device), which packs any list or dict by itself."
                    : "Pack them on the GPU and download once: torch.stack(parts).cpu(), or torch.cat. Or "
                      "tp.fetch(torch.stack(parts)), which does not wait.",
          .changes = {{Change::kMergeCopies, copies_of(site, direction)}}};
}

void find(const ProcessModel& model, const SiteCalls& site, Direction direction, std::vector<Candidate>& found) {
  const bool is_up = direction == Direction::kHostToDevice;
  if (is_up ? site.is_up_grouped : site.is_down_grouped) return;  // told with its neighbours
  const CopyFault fault = is_up ? upload_fault(model, site) : download_fault(model, site);
  if (fault == CopyFault::kManySmall) found.push_back(candidate_of(model, site, direction));
}

// Told at the first of the lines.
void find(const ProcessModel& model, const CopyGroup& group, std::vector<Candidate>& found) {
  SiteCalls lines{group.places.front(), group.calls};
  find_copies(model, lines);
  Candidate candidate = candidate_of(model, lines, group.direction);
  const std::string& last = group.places.back()->place.site;
  candidate.evidence = std::to_string(group.places.size()) + " places that follow each other, up to " + last +
                       ", with nothing launched in between; " + candidate.evidence;
  found.push_back(std::move(candidate));
}

}  // namespace

void find_many_small_copies(const RuleInput& input, std::vector<Candidate>& found) {
  for (const SiteCalls& site : input.sites) {
    find(input.model, site, Direction::kHostToDevice, found);
    find(input.model, site, Direction::kDeviceToHost, found);
  }
  for (const CopyGroup& group : input.copy_groups) find(input.model, group, found);
}

}  // namespace turnpike::analyze
