// The host beside the devices: is it ahead of them, and which of its threads is the limit.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/units.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

// A launch that is so far ahead of its kernel did not hold the device up.
constexpr std::int64_t kAheadNs = 20'000;
constexpr std::size_t kMaxThreads = 3;

const char* lead_meaning(const analyze::Spread& lead) {
  if (lead.median_ns < kAheadNs) return "the GPU takes work as soon as it is issued, and then waits";
  return lead.p10_ns < kAheadNs ? "the CPU is ahead of the GPU, but not always" : "the CPU is ahead of the GPU";
}

std::string lead_text(const analyze::Spread& lead) {
  // The call that launches goes on for a while after the GPU has its work.
  if (lead.median_ns < 0) {
    return fmt::format("A kernel starts {} before its launch returns (median; {} to {} for most): {}.",
                       duration_text(-lead.median_ns), duration_text(-lead.p90_ns), duration_text(-lead.p10_ns),
                       lead_meaning(lead));
  }
  return fmt::format("A kernel starts {} after its launch returned (median; {} to {} for most): {}.",
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
    text += fmt::format("; seen most at {}", cleaned(fmt::format("{}", fmt::join(thread.busiest_lines, ", "))));
  }
  return text + ".";
}

}  // namespace

void print_host(const analyze::Verdict& verdict, Page& page) {
  if (verdict.launch_lead) page.paragraph("  ", lead_text(*verdict.launch_lead));
  for (std::size_t i = 0; i < std::min(verdict.threads.size(), kMaxThreads); ++i) {
    page.paragraph("  ", thread_text(verdict.threads[i]));
  }
  if (verdict.steps_by_bound.size() > 1) {
    std::string text = "Step by step:";
    for (const auto& [bound, count] : verdict.steps_by_bound) {
      text += fmt::format(" {} {}-bound,", count, analyze::name_of(bound));
    }
    text.back() = '.';
    page.paragraph("  ", text);
  }
}

}  // namespace turnpike::report
