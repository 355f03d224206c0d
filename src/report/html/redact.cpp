#include "report/html/redact.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace turnpike::report::html {
namespace {

constexpr std::array<std::string_view, 2> kPackages = {"/site-packages/", "/dist-packages/"};

bool is_absolute(std::string_view path) {
  return path.starts_with('/');
}

std::optional<std::string_view> in_packages(std::string_view path) {
  for (const std::string_view folder : kPackages) {
    if (const auto at = path.rfind(folder); at != std::string_view::npos) return path.substr(at + folder.size());
  }
  return std::nullopt;
}

std::string_view folder_of(std::string_view path) {
  return path.substr(0, path.rfind('/') + 1);
}

std::string_view name_of(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

// Whole folders only.
std::string common_folder(std::string_view a, std::string_view b) {
  const auto differ =
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin());
  const auto size = static_cast<std::size_t>(differ.first - a.begin());
  return std::string(folder_of(a.substr(0, size)));
}

std::string without(std::string_view text, std::string_view part) {
  std::string out;
  for (auto at = part.empty() ? std::string_view::npos : text.find(part); at != std::string_view::npos;
       at = text.find(part)) {
    out += text.substr(0, at);
    text.remove_prefix(at + part.size());
  }
  return out.append(text);
}

// "function (file:line)": the file may hold spaces.
std::string shortened_frame(const Redactor& redactor, const std::string& frame) {
  const auto open = frame.find(" (/");
  const auto colon = frame.rfind(':');
  if (open == std::string::npos || colon == std::string::npos || colon < open) return redactor.text(frame);
  const auto file = std::string_view(frame).substr(open + 2, colon - open - 2);
  return redactor.text(frame.substr(0, open)) + " (" + redactor.path(file) + frame.substr(colon);
}

// A path in a text starts behind one of these and ends before one.
bool is_border(char c) {
  return static_cast<unsigned char>(c) <= ' ' ||
         std::string_view("\"'()[]{}<>=,;:|\x1f").find(c) != std::string_view::npos;
}

}  // namespace

Redactor Redactor::for_reports(std::initializer_list<const analyze::Report*> reports) {
  Redactor redactor;
  redactor.is_active_ = true;
  std::optional<std::string> root;
  const auto learn = [&](const analyze::Where& where) {
    if (!where.file || !is_absolute(*where.file) || in_packages(*where.file)) return;
    root = common_folder(root.value_or(std::string(folder_of(*where.file))), folder_of(*where.file));
  };
  for (const analyze::Report* report : reports) {
    for (const analyze::Site& site : report->sites) learn(site);
    for (const analyze::SyncSite& site : report->sync_sites) learn(site);
    for (const analyze::IdleSite& site : report->idle) learn(site);
  }
  // "/" and "/home/" tell nothing apart: what lies below them is as private as they are.
  const bool is_deep = root && std::count(root->begin(), root->end(), '/') > 2;
  if (is_deep) redactor.root_ = *root;
  return redactor;
}

std::string Redactor::path(std::string_view path) const {
  if (!is_active_ || !is_absolute(path)) return std::string(path);
  if (const auto of_package = in_packages(path)) return std::string(*of_package);
  if (!root_.empty() && path.starts_with(root_) && path.size() > root_.size()) {
    return std::string(path.substr(root_.size()));
  }
  const std::string_view name = name_of(path);
  return std::string(name.empty() || name == "/" ? path : name);
}

std::string Redactor::text(std::string_view given) const {
  if (!is_active_) return std::string(given);
  // First as a whole: it may hold spaces, where a path in a text would seem to end.
  const std::string below_root = without(given, root_);
  std::string_view text = below_root;
  std::string out;
  while (!text.empty()) {
    const auto end = std::find_if(text.begin(), text.end(), is_border);
    const auto word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    out += path(word);
    text.remove_prefix(word.size());
    if (text.empty()) break;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

void Redactor::apply(std::vector<std::string>& stack) const {
  if (!is_active_) return;
  for (std::string& frame : stack) frame = shortened_frame(*this, frame);
}

void Redactor::apply(analyze::Where& where) const {
  where.site = text(where.site);
  if (where.file) where.file = path(*where.file);
  for (auto* site : {&where.forward_site, &where.library_site}) {
    if (*site) *site = text(**site);
  }
}

void Redactor::apply(analyze::CallSite& site) const {
  apply(static_cast<analyze::Where&>(site));
  apply(site.stack);
}

void Redactor::apply(analyze::Finding& finding) const {
  if (finding.library_site) finding.library_site = text(*finding.library_site);
  if (finding.file) finding.file = path(*finding.file);
  for (std::string* one : {&finding.title, &finding.site, &finding.evidence, &finding.advice}) *one = text(*one);
}

void Redactor::apply(analyze::Comparison& comparison) const {
  if (!is_active_) return;
  for (analyze::ItemChange& change : comparison.items) {
    if (change.before) apply(static_cast<analyze::CallSite&>(*change.before));
    if (change.after) apply(static_cast<analyze::CallSite&>(*change.after));
  }
  for (analyze::FindingChange& change : comparison.findings) {
    if (change.before) apply(*change.before);
    if (change.after) apply(*change.after);
  }
  // This doubt names the machines.
  constexpr std::string_view kMachines = "The machines differ";
  for (std::string& doubt : comparison.doubts) {
    doubt = doubt.starts_with(kMachines) ? std::string(kMachines) + "." : text(doubt);
  }
}

void Redactor::apply(analyze::Report& report) const {
  if (!is_active_) return;
  const auto shorten = [this](std::string& one) { one = text(one); };
  const auto shorten_all = [&](std::vector<std::string>& texts) { std::for_each(texts.begin(), texts.end(), shorten); };
  for (analyze::Site& site : report.sites) apply(static_cast<analyze::CallSite&>(site));
  for (analyze::SyncSite& site : report.sync_sites) apply(static_cast<analyze::CallSite&>(site));
  for (analyze::IdleSite& site : report.idle) apply(static_cast<analyze::Where&>(site));
  for (analyze::LineTime& line : report.lines) line.file = path(line.file);
  for (analyze::PathFrame& frame : report.paths.frames) {
    shorten(frame.site);
    frame.file = path(frame.file);
  }
  for (analyze::Finding& finding : report.findings) apply(finding);
  if (report.memory) {
    for (analyze::MemorySite& site : report.memory->sites) shorten(site.site);
  }
  for (analyze::RangeVerdict& range : report.ranges) shorten(range.name);
  for (analyze::HostThread& thread : report.verdict.threads) shorten_all(thread.busiest_lines);
  shorten(report.verdict.why);
  shorten(report.source.program);
  for (auto* texts :
       {&report.source.paths, &report.source.unusable, &report.source.inputs.unreadable, &report.source.inputs.notes}) {
    shorten_all(*texts);
  }
  for (auto& [key, value] : report.source.versions) shorten(value);
  report.source.hosts.clear();
  for (analyze::Identity& identity : report.source.identities) {
    identity.host.clear();
    identity.node.clear();
    identity.job_id.clear();
  }
}

}  // namespace turnpike::report::html
