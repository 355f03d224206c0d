// Weights that are uploaded straight from a mapped file: the driver waits for the disk, page by page.
#include <algorithm>
#include <map>
#include <unordered_set>
#include <vector>

#include "analyze/model/link_state.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// A shorter wait is not worth a finding.
constexpr std::int64_t kMinLoadNs = 250'000'000;
// Smaller copies spend a part of their time on starting, and fewer bytes say little of a rate.
constexpr std::uint64_t kLargeLoadBytes = 1u << 20;
constexpr std::uint64_t kTellingLoadBytes = 64u << 20;
// Of the link: what the driver reaches from ordinary memory that is there (0.14 of it on an H100 with PCIe 5).
constexpr double kUsualShare = 0.1;
// Of that rate. Files that are in memory already are copied at about two thirds of it.
constexpr double kSlowLoadShare = 0.5;

struct Uploads {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t host_ns = 0;
  std::int64_t before_steps_ns = 0;
  std::uint32_t device = 0;
  bool is_of_python = false;
  Where where{};

  double gbps() const { return static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(host_ns, 1)); }
};

using LoadPlace = std::pair<std::string, std::optional<std::string>>;

bool is_large_upload(const Transfer& transfer, const Call& call) {
  return transfer.direction == Direction::kHostToDevice && transfer.src_kind == trace::MemoryKind::kPageable &&
         transfer.bytes >= kLargeLoadBytes && call.has_times();
}

void add(Uploads& uploads, const Transfer& transfer, const Call& call) {
  ++uploads.count;
  uploads.bytes += transfer.bytes;
  uploads.host_ns += call.duration_ns();
  uploads.device = transfer.device;
}

// What the driver does from ordinary memory: as measured by other uploads of this process, else by the link.
std::optional<double> usual_gbps(const ProcessModel& model, const Uploads& others, std::uint32_t device) {
  if (others.bytes >= kTellingLoadBytes) return others.gbps();
  const auto link_gbps = model.link_gbps(device, Direction::kHostToDevice);
  return link_gbps ? std::optional(kUsualShare * *link_gbps) : std::nullopt;
}

std::string evidence_of(const Uploads& uploads, double usual_gbps, bool is_measured) {
  std::string text = std::to_string(uploads.count) + " uploads of mapped files, " + size_text(uploads.bytes) + " at " +
                     rate_text(uploads.gbps()) + "; ordinary memory goes up at " +
                     (is_measured ? rate_text(usual_gbps) + " in this program" : "some " + rate_text(usual_gbps)) +
                     "; the CPU stood still for " + time_text(static_cast<double>(uploads.host_ns));
  if (uploads.before_steps_ns > 0) {
    text += ", " + time_text(static_cast<double>(uploads.before_steps_ns)) + " of it before the first step";
  }
  return text;
}

}  // namespace

void find_slow_load(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  const std::unordered_set<std::uint32_t> from_files = copies_from_files(model.process());
  if (from_files.empty()) return;
  const Timeline& timeline = model.timeline();
  std::map<LoadPlace, Uploads> by_place;
  Uploads others;
  for (const Transfer& transfer : timeline.transfers) {
    if (transfer.call == kNone || !is_large_upload(transfer, timeline.calls[transfer.call])) continue;
    const Call& call = timeline.calls[transfer.call];
    if (!from_files.contains(call.correlation)) {
      add(others, transfer, call);
      continue;
    }
    const StackFacts& facts = model.facts(call);
    Uploads& uploads = by_place[{facts.place.site, facts.place.library_site}];
    add(uploads, transfer, call);
    uploads.is_of_python = facts.place.op.has_value();
    uploads.where = facts.place;
    const bool is_before_steps = model.steps() && call.end_ns <= model.steps()->starts_ns.front();
    if (is_before_steps) uploads.before_steps_ns += call.duration_ns();
  }
  for (const auto& [place, uploads] : by_place) {
    const auto usual = usual_gbps(model, others, uploads.device);
    if (!usual || uploads.host_ns < kMinLoadNs || uploads.gbps() >= kSlowLoadShare * *usual) continue;
    found.push_back(
        {.where = uploads.where,
         .title = "loads from a mapped file, and each upload waits for the disk page by page",
         .evidence = evidence_of(uploads, *usual, others.bytes >= kTellingLoadBytes),
         .advice = std::string("Let the system read the file ahead: os.posix_fadvise(fd, 0, 0, "
                               "os.POSIX_FADV_WILLNEED). ") +
                   (uploads.is_of_python ? "Then state = tp.to(state, device) reads it with several threads."
                                         : "Then copy from it with several threads into page-locked memory."),
         .changes = {}});
  }
}

}  // namespace turnpike::analyze
