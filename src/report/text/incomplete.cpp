#include "report/text/incomplete.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "base/units.h"
#include "report/text/page.h"
#include "trace/losses.h"

namespace turnpike::report {
namespace {

constexpr const char* kTooLow = "; figures are too low";

struct Phrase {
  std::string_view loss;
  std::string_view one;
  std::string_view many;
};

// In the order in which they are told.
constexpr Phrase kPhrases[] = {
    {analyze::kUnreadableFile, "1 file cannot be read", "{} files cannot be read"},
    {analyze::kUnrecordedProcess, "1 process could not be recorded", "{} processes could not be recorded"},
    {"not_closed", "1 file has no end", "{} files have no end"},
    {"damaged_bytes", "1 byte is damaged or cut off", "{} bytes are damaged or cut off"},
    {"missing_segment", "1 piece is missing", "{} pieces are missing"},
    {"unreadable_event", "1 event makes no sense", "{} events make no sense"},
    {"count_mismatch", "1 record is missing", "{} records are missing"},
};

}  // namespace

std::string incomplete_reason(const std::map<std::string, std::uint64_t>& losses) {
  std::vector<std::string> parts;
  for (const Phrase& phrase : kPhrases) {
    const auto found = losses.find(std::string(phrase.loss));
    if (found == losses.end() || found->second == 0) continue;
    parts.push_back(found->second == 1 ? std::string(phrase.one)
                                       : fmt::format(fmt::runtime(phrase.many), found->second));
  }
  return parts.empty() ? "" : joined(parts, ", ") + kTooLow;
}

std::string incomplete_sentence(const analyze::InputRemarks& inputs) {
  return inputs.is_incomplete() ? "INCOMPLETE: " + incomplete_reason(inputs.unread) : "";
}

std::string incomplete_head(const analyze::InputRemarks& inputs, std::size_t width, bool has_colour) {
  if (!inputs.is_incomplete()) return "";
  Page page(std::max(width, kMinPageWidth), has_colour);
  page.paragraph("", incomplete_sentence(inputs) + ".", Style::kWarning);
  return page.text();
}

std::string lost_records_sentence(const std::map<std::string, std::uint64_t>& losses) {
  std::uint64_t records = 0;
  for (const auto& [name, count] : losses) {
    const trace::LossInfo* const info = trace::find_loss(name);
    if (info != nullptr && info->effect == trace::LossEffect::kTooLow) records += count;
  }
  if (records == 0) return "";
  return (records == 1 ? "1 record was lost" : count_text(records) + " records were lost") + kTooLow;
}

std::string none_words(const analyze::Report& report, const char* none) {
  if (report.source.inputs.is_incomplete()) return "unknown: the recording is incomplete";
  return report.source.unusable.empty() ? none : "unknown: nothing was recorded of a process";
}

}  // namespace turnpike::report
