// The host beside the devices: is it ahead of them, and which of its threads is the limit.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "report/text/bound_words.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

// A launch that is so far ahead of its kernel did not hold the device up.
constexpr std::int64_t kAheadNs = 20'000;
constexpr std::size_t kMaxThreads = 3;

const char* lead_meaning(const analyze::Spread& lead) {
  if (lead.median_ns < kAheadNs) return "the queue is nearly empty, and the GPU waits for work";
  return lead.p10_ns < kAheadNs ? "the queue is empty now and then" : "the CPU is ahead of the GPU";
}

std::string lead_text(const analyze::Spread& lead) {
  // The call that launches goes on for a while after the GPU has its work.
  if (lead.median_ns < 0) {
    return fmt::format("Kernels start {} before their launch returns (median; {} to {} for most): {}.",
                       duration_text(-lead.median_ns), duration_text(-lead.p90_ns), duration_text(-lead.p10_ns),
                       lead_meaning(lead));
  }
  return fmt::format("Kernels start {} after their launch (median; {} to {} for most): {}.",
                     duration_text(lead.median_ns), duration_text(lead.p10_ns), duration_text(lead.p90_ns),
                     lead_meaning(lead));
}

std::string thread_name(const analyze::HostThread& thread) {
  if (thread.role == analyze::ThreadRole::kMain) return "the main thread";
  if (thread.role == analyze::ThreadRole::kAutograd) return "the autograd thread (loss.backward() runs there)";
  return thread.name.empty() ? fmt::format("thread {}", thread.thread) : "thread " + cleaned(thread.name);
}

std::string thread_text(const analyze::HostThread& thread) {
  std::string text =
      fmt::format("{}: {} of the time in Python and PyTorch, {} in CUDA calls, {} waiting in them", thread_name(thread),
                  percent_text(thread.between_pct), percent_text(thread.calls_pct), percent_text(thread.waits_pct));
  if (thread.operator_pct) {
    text += fmt::format("; when sampled it was in PyTorch's operators in {}", percent_text(thread.operator_pct));
  }
  if (!thread.busiest_lines.empty()) {
    text += fmt::format("; mostly at {}", cleaned(fmt::format("{}", fmt::join(thread.busiest_lines, ", "))));
  }
  return text + ".";
}

// "Of 938 steps looked at alone, 900 are transfer-bound and 38 sync-bound."
std::string steps_text(const std::map<analyze::Bound, std::uint64_t>& steps_by_bound) {
  std::vector<std::pair<std::uint64_t, analyze::Bound>> counts;
  std::uint64_t all = 0;
  for (const auto& [bound, count] : steps_by_bound) {
    counts.emplace_back(count, bound);
    all += count;
  }
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format("Of {} steps, each looked at alone, ", all);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    text += i == 0 ? "" : i + 1 == counts.size() ? " and " : ", ";
    text += fmt::format("{} are {}", counts[i].first, words_of_bound(counts[i].second));
  }
  return text + ".";
}

}  // namespace

void print_host(const analyze::Verdict& verdict, Page& page) {
  if (!verdict.launch_lead && verdict.threads.empty() && verdict.steps_by_bound.size() < 2) return;
  page.blank();
  page.line("THREADS", Style::kHeading);
  if (verdict.launch_lead) page.paragraph("  ", lead_text(*verdict.launch_lead));
  for (std::size_t i = 0; i < std::min(verdict.threads.size(), kMaxThreads); ++i) {
    page.paragraph("  ", thread_text(verdict.threads[i]));
  }
  if (verdict.steps_by_bound.size() > 1) page.paragraph("  ", steps_text(verdict.steps_by_bound));
}

}  // namespace turnpike::report
