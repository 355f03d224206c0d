#include "report/text/terminal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "report/text/first_screen.h"
#include "report/text/incomplete.h"
#include "report/text/loss_sentence.h"
#include "report/text/screen_parts.h"
#include "report/text/step_words.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

std::string device_text(const analyze::Device& device) {
  const std::string name = device.name.empty() ? "unknown model" : device.name;
  const std::string memory = device.memory_bytes == 0 ? "" : fmt::format(" ({})", size_text(device.memory_bytes));
  return fmt::format("GPU {}: {}{}", device.id, name, memory);
}

std::string device_list(const analyze::Report& report) {
  std::vector<std::string> parts;
  for (const analyze::Device& device : report.source.devices) parts.push_back(device_text(device));
  if (!parts.empty()) return joined(parts, ", ");
  return analyze::used_gpu(report) ? "not named in the recording" : none_words(report, "none was used");
}

std::string detail_text(const std::string& detail) {
  if (detail == analyze::kFullDetail) return ", everything (--detail full)";
  if (detail == analyze::kTransfersDetail) return ", transfers without kernels (--detail transfers)";
  return detail.empty() ? "" : ", detail " + detail;
}

std::string recorded_text(const analyze::Report& report) {
  const std::size_t processes = report.source.process_count;
  const bool is_unknown = report.span_ns == 0 && report.source.inputs.is_incomplete();
  return fmt::format("{} in {} process{}{}", is_unknown ? "?" : duration_text(report.span_ns), processes,
                     processes == 1 ? "" : "es", detail_text(report.source.detail));
}

std::string steps_line(const analyze::Report& report) {
  return report.steps ? steps_text(*report.steps) : none_words(report, "none found");
}

std::string versions_text(const std::map<std::string, std::string>& versions) {
  std::vector<std::string> parts;
  for (const auto& [name, version] : versions) parts.push_back(name + " " + version);
  return joined(parts, ", ");
}

void print_kept(const analyze::KeptWindow& kept, Page& page) {
  const bool is_all = kept.last_ns >= kept.of_ns;
  page.paragraph("  kept      ", is_all ? fmt::format("all {} of the recording (--last)", duration_text(kept.of_ns))
                                        : fmt::format("the last {} of {}: what was before is not in the report",
                                                      duration_text(kept.last_ns), duration_text(kept.of_ns)));
  for (const std::string& reason : kept.because) page.paragraph("            ", "because " + cleaned(reason));
}

}  // namespace

void print_header(const analyze::Report& report, Page& page) {
  const analyze::Source& source = report.source;
  page.line("TURNPIKE REPORT", Style::kHeading);
  for (const std::string& sentence :
       {incomplete_sentence(report.source.inputs), lost_records_sentence(report.losses)}) {
    if (!sentence.empty()) page.paragraph("  ", sentence + ". See LOSSES.", Style::kWarning);
  }
  page.line("  run       " + shortened_middle(cleaned(joined(source.paths, ", ")), page.width() - 12));
  if (!source.program.empty()) {
    page.line("  program   " + shortened_middle(cleaned(source.program), page.width() - 12));
  }
  page.paragraph("  device    ", device_list(report));
  page.paragraph("  recorded  ", recorded_text(report));
  if (source.kept) print_kept(*source.kept, page);
  page.paragraph("  steps     ", steps_line(report));
  if (!source.versions.empty()) page.paragraph("  versions  ", versions_text(source.versions));
  for (const std::string& note : source.inputs.notes) page.paragraph("  note      ", cleaned(note), Style::kWarning);
}

void print_losses(const analyze::Report& report, Page& page) {
  page.blank();
  page.line("LOSSES", Style::kHeading);
  if (report.losses.empty() && report.source.unusable.empty()) page.line("  nothing was lost");
  for (const std::string& reason : report.source.unusable) {
    page.paragraph("  ", "a process could not be recorded: " + reason, Style::kWarning);
  }
  for (const auto& [name, count] : report.losses) {
    const std::string meaning = loss_sentence(name, report.source);
    const std::string sentence = meaning.empty() ? "" : ": " + meaning;
    page.paragraph("  ", fmt::format("{} x {}{}", count_text(count), name, sentence), Style::kWarning);
  }
  for (const std::string& sentence : report.source.inputs.unreadable) {
    page.paragraph("  not read: ", cleaned(sentence), Style::kWarning);
  }
}

namespace {

void print_section(const analyze::Report& report, Section section, const Sections& sections, std::size_t top,
                   Page& page) {
  switch (section) {
    case Section::kFindings:
      return print_findings(report, page);
    case Section::kThreads:
      print_host(report.verdict, page);
      return print_ranges(report, page);
    case Section::kTransfers:
      print_totals(report, page);
      return print_sites(report, top, page);
    case Section::kSyncs:
      return print_syncs(report, top, page);
    case Section::kMemory:
      return print_memory(report, page);
    case Section::kLosses:
      return print_losses(report, page);
    case Section::kExplanations:
      return print_explanations(report, sections, page);
  }
}

void print_whole_head(const analyze::Report& report, Page& page) {
  print_header(report, page);
  page.blank();
  print_screen_verdict(report, page);
  print_screen_time(report, page);
}

}  // namespace

std::string to_text(const analyze::Report& report, const TextOptions& options, const Sections& sections) {
  Page page(std::max(options.width, kMinPageWidth), options.has_colour);
  if (sections.empty() || sections == Sections{Section::kExplanations}) {
    print_first_screen(report, page);
  } else if (sections == every_section()) {
    print_whole_head(report, page);
  } else {
    print_screen_head(report, page);
  }
  for (const Section section : sections) print_section(report, section, sections, options.top, page);
  return page.text();
}

}  // namespace turnpike::report
