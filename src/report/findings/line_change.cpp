#include "report/findings/line_change.h"

#include <algorithm>
#include <array>
#include <regex>
#include <set>
#include <string_view>
#include <utility>

namespace turnpike::report {
namespace {

using analyze::Finding;
using analyze::LineEdit;

// std::regex recurses for each character; and nobody reads a diff of a longer line.
constexpr std::size_t kMaxChangedBytes = 200;

// Parts of the patterns. A name is a variable, an attribute or an element: evaluating it does nothing else.
const std::string kName = R"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\w+\]|\["\w+"\]|\['\w+'\])*)";
// A device by its name: `.to(x)` may convert to the dtype of a tensor as well.
const std::string kDeviceName = R"((?:[A-Za-z_]\w*\.)*\w*(?:[Dd]ev(?:ice)?|DEV(?:ICE)?|[Gg]pu|GPU)\w*)";
const std::string kDevice =
    "(?:" + kDeviceName + R"(|"cuda(?::\d+)?"|'cuda(?::\d+)?'|torch\.device\("cuda(?::\d+)?"\)))";
const std::string kTargets = "(?:" + kName + R"((?:\s*,\s*)" + kName + R"()*\s*=\s*))";
const std::string kConversion = R"(\.(?:float|double|half|bfloat16|long|int)\(\))";
// Conversions that make a tensor larger, or leave it as large: those that make it smaller belong before the upload.
const std::string kWidening = R"(\.(?:float|double|long)\(\))";
const std::string kWideType = R"(torch\.(?:float32|float64|float|double|int64|long))";
const std::string kNonBlocking = R"((?:,\s*non_blocking\s*=\s*True)?)";
// Calls without calls inside, so that the bracket which closes them is sure.
const std::string kPlainArguments = R"([^()#"'\\]*)";
const std::string kEnd = R"(\s*(?:#.*)?)";

bool is_shaped(const std::string& line, const std::string& shape) {
  return std::regex_match(line, std::regex(shape));
}

// x.to(device), y.to(device) -> tp.to(x, device), tp.to(y, device)
std::optional<std::string> through_staging(const std::string& line) {
  const std::string call = "(" + kName + R"()\.to\(()" + kDevice + kNonBlocking + R"()\))";
  const std::string item = kName + R"(\.to\()" + kDevice + kNonBlocking + R"(\)(?:)" + kConversion + ")?";
  if (!is_shaped(line, kTargets + item + R"((?:\s*,\s*)" + item + ")*" + kEnd)) return std::nullopt;
  const auto comment = std::min(line.find('#'), line.size());
  return std::regex_replace(line.substr(0, comment), std::regex(call), "tp.to($1, $2)") + line.substr(comment);
}

// total += loss.item() -> total += loss.detach()
std::optional<std::string> without_reading(const std::string& line) {
  std::smatch parts;
  if (!std::regex_match(line, parts, std::regex("(" + kName + R"(\s*\+=\s*)" + kName + R"()\.item\(\)\s*)"))) {
    return std::nullopt;
  }
  return parts.str(1) + ".detach()  # .item() once, after the loop";
}

bool ends_with_comma(const std::string& arguments) {
  const auto last = arguments.find_last_not_of(" \t");
  return last != std::string::npos && arguments[last] == ',';
}

// torch.ones(n, n).to(device) -> torch.ones(n, n, device=device)
std::optional<std::string> made_on_device(const std::string& line) {
  std::smatch parts;
  const std::string shape = "(" + kTargets + R"(torch\.(?:ones|zeros|eye|full)\()(?!\s*\)))" + "(" + kPlainArguments +
                            R"()\)\.to\(()" + kDevice + ")" + kNonBlocking + R"(\)()" + kEnd + ")";
  if (!std::regex_match(line, parts, std::regex(shape))) return std::nullopt;
  if (parts.str(2).find("device") != std::string::npos || ends_with_comma(parts.str(2))) return std::nullopt;
  return parts.str(1) + parts.str(2) + ", device=" + parts.str(3) + ")" + parts.str(4);
}

// x.float().to(device) and x.to(device, torch.float32) -> x.to(device).float(), x.to(device).to(torch.float32)
std::optional<std::string> converted_on_device(const std::string& line) {
  std::smatch parts;
  const std::string converts_first =
      "(" + kTargets + kName + ")(" + kWidening + R"()(\.to\()" + kDevice + kNonBlocking + R"(\))()" + kEnd + ")";
  if (std::regex_match(line, parts, std::regex(converts_first))) {
    return parts.str(1) + parts.str(3) + parts.str(2) + parts.str(4);
  }
  const std::string converts_along = "(" + kTargets + kName + R"(\.to\()" + kDevice + R"()\s*,\s*(?:dtype\s*=\s*)?()" +
                                     kWideType + ")(" + kNonBlocking + R"()\)()" + kEnd + ")";
  if (!std::regex_match(line, parts, std::regex(converts_along))) return std::nullopt;
  return parts.str(1) + parts.str(3) + ").to(" + parts.str(2) + ")" + parts.str(4);
}

// DataLoader(data, 64) -> DataLoader(data, 64, num_workers=4, pin_memory=True)
std::optional<std::string> with_workers(const std::string& line, std::uint32_t workers) {
  std::smatch parts;
  const std::string shape = R"(([^()#"']*(?:\benumerate\()?\b(?:torch\.utils\.data\.)?DataLoader\()(?!\s*\)))" +
                            std::string("(") + kPlainArguments + R"()(\)\)?:?)" + kEnd + ")";
  if (!std::regex_match(line, parts, std::regex(shape))) return std::nullopt;
  if (ends_with_comma(parts.str(2))) return std::nullopt;
  for (const char* chosen : {"num_workers", "pin_memory", "*"}) {
    if (parts.str(2).find(chosen) != std::string::npos) return std::nullopt;
  }
  return parts.str(1) + parts.str(2) + ", num_workers=" + std::to_string(workers) + ", pin_memory=True" + parts.str(3);
}

std::string stripped(const std::string& line) {
  const auto from = line.find_first_not_of(" \t");
  if (from == std::string::npos) return "";
  const auto to = line.find_last_not_of(" \t\r");
  return line.substr(from, to - from + 1);
}

std::size_t indent_of(const std::string& line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

// By the kinds that leave a line behind; nullopt where the line has another shape.
std::optional<std::string> edited(const std::string& line, const LineEdit& edit) {
  switch (edit.kind) {
    case LineEdit::Kind::kStageUpload:
      return through_staging(line);
    case LineEdit::Kind::kReadLater:
      return without_reading(line);
    case LineEdit::Kind::kMakeOnDevice:
      return made_on_device(line);
    case LineEdit::Kind::kConvertOnDevice:
      return converted_on_device(line);
    case LineEdit::Kind::kLoadInWorkers:
      return with_workers(line, edit.workers);
    case LineEdit::Kind::kNone:
    case LineEdit::Kind::kRemove:
      break;
  }
  return std::nullopt;
}

// Removing the only statement of a block would be a syntax error, so the line above must be in the same block.
bool can_go(const std::string& line, const std::string& above) {
  const std::string text = stripped(above);
  if (text.empty() || text.front() == '#' || text.back() == '\\' || text.back() == ':') return false;
  return above.substr(0, indent_of(above)) == line.substr(0, indent_of(line)) &&
         is_shaped(stripped(line), R"(torch\.cuda\.synchronize\((?:)" + kName + R"()?\))" + kEnd);
}

using FileLine = std::pair<std::string, std::uint32_t>;

// The line at which the loop asks its DataLoader for a batch makes no call of its own.
std::optional<FileLine> line_of_loop(const Finding& finding) {
  if (!finding.file || !finding.line) return std::nullopt;
  return FileLine(*finding.file, *finding.line);
}

// The calls of a finding as the report has them; nullopt when they are not all of one line of one file.
std::optional<FileLine> place_of(const Finding& finding, const analyze::Report& report) {
  if (finding.edit.kind == LineEdit::Kind::kNone || finding.site.empty() || finding.library_site) return std::nullopt;
  if (finding.edit.kind == LineEdit::Kind::kLoadInWorkers) return line_of_loop(finding);
  std::set<FileLine> places;
  bool is_sure = true;
  const auto look_at = [&](const analyze::CallSite& site) {
    if (site.site != finding.site) return;
    if (!site.file || !site.line || site.library_site) {
      is_sure = false;
      return;
    }
    places.emplace(*site.file, *site.line);
    // What a library does for the line is not changed by changing the call in it.
    const std::string own = "(" + *site.file + ":" + std::to_string(*site.line) + ")";
    const bool waits = finding.edit.kind == LineEdit::Kind::kRemove;
    if (!waits && (site.stack.empty() || !site.stack.front().ends_with(own))) is_sure = false;
  };
  if (finding.edit.kind != LineEdit::Kind::kRemove) {
    for (const analyze::Site& site : report.sites) look_at(site);
  } else {
    for (const analyze::SyncSite& site : report.sync_sites) look_at(site);
  }
  if (!is_sure || places.size() != 1) return std::nullopt;
  return *places.begin();
}

}  // namespace

std::vector<std::string> imports_for(const LineChange& change) {
  if (!change.after || change.after->find("tp.") == std::string::npos) return {};
  return {"import turnpike as tp"};
}

std::optional<LineChange> rewritten(const Finding& finding, const std::string& line, const std::string& above) {
  if (line.size() > kMaxChangedBytes || above.size() > kMaxChangedBytes) return std::nullopt;
  const std::string text = stripped(line);
  if (finding.edit.kind == LineEdit::Kind::kRemove) {
    return can_go(line, above) ? std::optional(LineChange{.file = "", .before = text, .after = std::nullopt})
                               : std::nullopt;
  }
  std::optional<std::string> after = edited(text, finding.edit);
  if (!after || *after == text) return std::nullopt;
  return LineChange{.file = "", .before = text, .after = std::move(after)};
}

LineChanges line_changes(const analyze::Report& report) {
  LineChanges changes;
  for (const Finding& finding : report.findings) {
    changes.emplace_back();
    const auto place = place_of(finding, report);
    if (!place) continue;
    const auto& [file, number] = *place;
    const auto lines = report.source_text.lines(file, number - 1, number);
    if (number < 2 || lines.size() != 2) continue;
    changes.back() = rewritten(finding, lines.at(number), lines.at(number - 1));
    if (!changes.back()) continue;
    const std::string& text = lines.at(number);
    changes.back()->indent = text.substr(0, indent_of(text));
    changes.back()->file = file;
    changes.back()->line = number;
  }
  return changes;
}

}  // namespace turnpike::report
