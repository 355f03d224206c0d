#include "report/findings/finding_data.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

#include "base/sha256.h"

namespace turnpike::report {
namespace {

std::string_view name_of_file(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Where neither file nor line is known, the site tells places apart. Line numbers are left out: they move.
std::string told_apart_by(const analyze::Finding& finding, const SourceText& source) {
  if (!finding.file) return finding.site;
  std::string text(name_of_file(*finding.file));
  if (finding.line) text += '\n' + source.line(*finding.file, *finding.line).value_or("");
  return text;
}

std::string id_of(const analyze::Finding& finding, const SourceText& source) {
  const auto hash =
      sha256(told_apart_by(finding, source) + '\n' + finding.function.value_or("") + '\n' + finding.op.value_or(""));
  return fmt::format("{}-{:02x}{:02x}{:02x}{:02x}", finding.rule, hash[0], hash[1], hash[2], hash[3]);
}

std::optional<CodeLine> place_in(const Repository* repository, const analyze::Finding& finding) {
  if (repository == nullptr || !finding.file || !finding.line) return std::nullopt;
  auto path = repository->relative(*finding.file);
  return path ? std::optional(CodeLine{std::move(*path), *finding.line}) : std::nullopt;
}

}  // namespace

std::vector<FindingData> data_of_findings(const analyze::Report& report, const Repository* repository) {
  std::vector<FindingData> data;
  std::map<std::string, int> count_of_id;
  LineChanges changes = line_changes(report);
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const analyze::Finding& finding = report.findings[i];
    std::string id = id_of(finding, report.source_text);
    if (const int count = ++count_of_id[id]; count > 1) id += fmt::format("-{}", count);
    data.push_back({std::move(id), place_in(repository, finding), std::move(changes[i])});
  }
  return data;
}

}  // namespace turnpike::report
