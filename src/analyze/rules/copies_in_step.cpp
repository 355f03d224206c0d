// A tensor that could be made once, before the loop, is made on the CPU in each step and uploaded. Data that is not
// made anew is repeated_upload's.
#include "analyze/rules/content.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

constexpr std::size_t kFewUploads = 3;
// What is larger than weights, masks and indices are, is a batch rather.
constexpr std::uint64_t kConstantBytes = 64u << 10;

bool is_the_same_each_time(const Repeats& uploads) {
  return uploads.is_by_content && uploads.distinct == 1 && uploads.repeats.size() >= kFewUploads;
}

// Where no content was recorded: as few bytes each time, made by torch.tensor().
bool may_be_the_same(const ProcessModel& model, const Repeats& uploads) {
  if (uploads.is_by_content || uploads.uploads.size() < kFewUploads) return false;
  if (model.call(uploads.uploads.front()).bytes > kConstantBytes) return false;
  for (const std::uint32_t call : uploads.uploads) {
    if (model.call(call).bytes != model.call(uploads.uploads.front()).bytes) return false;
    if (!is_of_python_values(model, call)) return false;
  }
  return true;
}

std::string evidence_of(const ProcessModel& model, const SiteCalls& site, const Repeats& uploads) {
  const auto each = static_cast<double>(uploads.bytes) / static_cast<double>(uploads.uploads.size());
  const std::string same = uploads.is_by_content
                               ? "always the same data" + doubt_of_sample(uploads.is_sampled) + ", made anew each time"
                               : "made by torch.tensor(...) (whether its values change was not recorded)";
  return times_a_step(model, uploads.uploads.size()) + ", " + bytes_text(each) + " each, " + same +
         "; the CPU stood still for " + time_a_step(model, count_copies(site, Direction::kHostToDevice).host_ns);
}

}  // namespace

void find_copies_in_step(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  const UploadHistory history(model);
  for (const SiteCalls& site : input.sites) {
    const Repeats uploads = history.repeats_at(site);
    if (!uploads.is_built_anew || !is_regular(model, uploads.uploads)) continue;
    const bool is_same = is_the_same_each_time(uploads);
    if (!is_same && !may_be_the_same(model, uploads)) continue;
    const std::string condition = is_same ? "Make" : "If it stays the same, make";
    found.push_back(
        {.where = site.facts->place,
         .severity = is_same ? Severity::kWarning : Severity::kInfo,
         .title = (is_same ? "makes the same tensor on the CPU " : "makes a tensor with torch.tensor(...) ") +
                  (each_step_text(model) + std::string(", and uploads it")),
         .evidence = evidence_of(model, site, uploads),
         .advice = condition + " it once, on the GPU: weights = torch.tensor([...], device=device). That is, "
                               "before the loop; a mask: torch.ones(n, n, device=device).tril().",
         .edit = {LineEdit::Kind::kMakeOnDevice},
         .changes = {{Change::kHoistUpload, is_same ? uploads.repeats : uploads.uploads}}});
  }
}

}  // namespace turnpike::analyze
