// The head of the first screen: the run, its program, its machine, and what the recording lacks.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "report/text/incomplete.h"
#include "report/text/screen_parts.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

// Of a sentence in the head: --losses has the whole.
constexpr std::size_t kHeadSentenceLines = 2;
constexpr std::size_t kMostModels = 2;

std::string run_text(const std::vector<std::string>& paths, std::size_t width) {
  if (paths.empty()) return "TURNPIKE REPORT";
  const std::string more = paths.size() > 1 ? fmt::format(" and {} more", paths.size() - 1) : "";
  return shortened_start(cleaned(paths.front()), width - more.size()) + more;
}

// "2 x NVIDIA H100 80GB HBM3", by model.
std::string devices_text(const analyze::Report& report) {
  std::vector<std::pair<std::string, std::size_t>> models;
  for (const analyze::Device& device : report.source.devices) {
    const std::string name = device.name.empty() ? "GPU of unknown model" : cleaned(device.name);
    const auto same =
        std::find_if(models.begin(), models.end(), [&](const auto& model) { return model.first == name; });
    if (same == models.end()) {
      models.emplace_back(name, 1);
    } else {
      ++same->second;
    }
  }
  if (models.empty() && analyze::used_gpu(report)) return "GPU not named in the recording";
  if (models.empty()) return "no GPU: " + none_words(report, "none was used");
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(models.size(), kMostModels); ++i) {
    parts.push_back(fmt::format("{} x {}", models[i].second, shortened_end(models[i].first, 36)));
  }
  if (models.size() > kMostModels) parts.push_back(fmt::format("{} other models", models.size() - kMostModels));
  return joined(parts, ", ");
}

std::string recorded_text(const analyze::Report& report) {
  const bool is_unknown = report.span_ns == 0 && report.source.inputs.is_incomplete();
  std::string text = (is_unknown ? std::string(kUnknownText) : duration_text(report.span_ns)) + " recorded";
  if (report.source.process_count > 1) text += fmt::format(" of {} processes", report.source.process_count);
  if (report.steps) return text + fmt::format(", {} steps", count_text(report.steps->count));
  return text + ", " + none_words(report, "no steps found");
}

void print_kept(const analyze::KeptWindow& kept, Page& page) {
  if (kept.last_ns >= kept.of_ns) return;
  page.paragraph("",
                 fmt::format("Of {} recorded, only the last {} were kept.", duration_text(kept.of_ns),
                             duration_text(kept.last_ns)),
                 Style::kWarning, kHeadSentenceLines);
}

// The first of several sentences, and how many there are besides.
void print_first(const std::vector<std::string>& sentences, const std::string& before, Page& page) {
  if (sentences.empty()) return;
  const std::string more = sentences.size() > 1 ? fmt::format(" And {} more: --losses.", sentences.size() - 1) : "";
  page.paragraph("", before + cleaned(sentences.front()) + more, Style::kWarning, kHeadSentenceLines);
}

}  // namespace

void print_screen_head(const analyze::Report& report, Page& page) {
  const analyze::Source& source = report.source;
  const std::string run = run_text(source.paths, page.width() / 2);
  page.line(run, Style::kHeading);
  if (!source.program.empty()) page.line(shortened_middle(cleaned(source.program), page.width()));
  page.paragraph("", devices_text(report) + "; " + recorded_text(report), Style::kPlain, kHeadSentenceLines);
  for (const std::string& sentence : {incomplete_sentence(source.inputs), lost_records_sentence(report.losses)}) {
    if (!sentence.empty()) page.paragraph("", sentence + ": --losses.", Style::kWarning, kHeadSentenceLines);
  }
  if (source.kept) print_kept(*source.kept, page);
  print_first(source.inputs.unreadable, "not read: ", page);
  print_first(source.unusable, "A process could not be recorded: ", page);
  print_first(source.inputs.notes, "", page);
}

}  // namespace turnpike::report
