// A value is read back from the GPU (.item(), .cpu(), nonzero, a boolean index, print), so the host waits for all work
// that was queued before it, and the GPU then waits for the host.
#include <algorithm>
#include <array>
#include <string_view>

#include "analyze/cost_model.h"
#include "analyze/rules/copy_fault.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

// Operators whose result has a size that only the GPU knows.
constexpr std::array<std::string_view, 11> kSizedByData = {
    "aten::nonzero",       "aten::index",      "aten::index_put_", "aten::_index_put_impl_",
    "aten::masked_select", "aten::unique_dim", "aten::_unique2",   "aten::unique_consecutive",
    "aten::nonzero_numpy", "aten::bincount",   "aten::argwhere"};

// What is read is more than one number: no loss, but sizes or indices, say.
constexpr double kMostBytesOfANumber = 8;

// With so many in a step they are worth to be read together.
constexpr double kManyPerStep = 8;

bool is_sized_by_data(const std::string& op) {
  return std::find(kSizedByData.begin(), kSizedByData.end(), op) != kSizedByData.end();
}

struct ReadAdvice {
  std::string text;
  double costs_ns = 0;  // of a step: what the advice may take itself
  LineEdit edit{};
};

// `bytes`: of one copy.
ReadAdvice advice_for(const std::string& op, double times_a_step, double bytes) {
  if (is_sized_by_data(op)) {
    return {
        "Keep the shape: torch.where(mask, x, 0), or multiply by the mask. Else the CPU needs to know how many "
        "elements there are. Or take the indices where they are made, on the CPU."};
  }
  if (op == "aten::repeat_interleave") {
    return {
        "Say the length of the result: torch.repeat_interleave(x, n, output_size=total). Else the CPU needs to know "
        "it."};
  }
  if (op == "aten::is_nonzero") {
    return {
        "Decide on the GPU with torch.where(condition, a, b), or only in every hundredth step. An `if` or `while` "
        "on a tensor needs its value on the CPU."};
  }
  if (bytes > kMostBytesOfANumber) {
    return {
        "Read it later: pending = tp.fetch(x) now, pending.result() when the CPU needs it. Where sizes follow from it "
        "that the next work needs, take them where they are made, on the CPU.",
        times_a_step * kFetchNs};
  }
  if (times_a_step >= kManyPerStep) {
    return {
        "Keep the values on the GPU and read them together, once: torch.stack(values).tolist(). Or read them "
        "without waiting: pending = tp.fetch(torch.stack(values)), later pending.result().",
        kFetchStackedNs};
  }
  return {
      "Keep the value on the GPU (total += loss.detach()) and read it every hundredth step. Or read it without "
      "waiting: value = tp.fetch(loss), later value.item().",
      times_a_step * kFetchNs,
      {LineEdit::Kind::kReadLater}};
}

}  // namespace

void find_implicit_sync(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  for (const SiteCalls& site : input.sites) {
    if (download_fault(model, site) != CopyFault::kValue) continue;
    if (!is_recurring(model, copies_of(site, Direction::kDeviceToHost))) continue;
    const CopyCount& copies = count_copies(site, Direction::kDeviceToHost);
    const std::string op = site.facts->place.op.value_or("a copy to the CPU");
    const double times = static_cast<double>(copies.count) / static_cast<double>(model.step_count());
    const ReadAdvice advice =
        advice_for(op, times, static_cast<double>(copies.bytes) / static_cast<double>(copies.count));
    // Of what a library reads, other advice is given.
    const double costs_ns = site.facts->place.library_site ? 0 : advice.costs_ns;
    found.push_back({.where = site.facts->place,
                     .title = op + " makes the CPU wait for the GPU",
                     .evidence = times_a_step(model, copies.count) + ", for " + mean_bytes_text(copies) +
                                 "; the CPU waited for " + time_a_step(model, copies.host_ns),
                     .advice = advice.text,
                     .edit = advice.edit,
                     .changes = {{Change::kRemoveSync, copies_of(site, Direction::kDeviceToHost)}},
                     .reach = {.costs_ns = costs_ns}});
  }
}

}  // namespace turnpike::analyze
