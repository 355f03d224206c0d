// The sections of the text report that go by line of the program: transfers, and synchronisations.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/units.h"
#include "report/text/incomplete.h"
#include "report/text/table.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using analyze::CallSite;
using analyze::Site;
using analyze::SyncSite;
using analyze::Where;

// So many of the first rows show their line of code.
constexpr std::size_t kRowsWithCode = 5;
// No single name from the program may push the rest of its line off the page.
constexpr std::size_t kMaxNameWidth = 36;
constexpr const char* kIndent = "      ";

std::string short_name(const std::string& name) {
  return shortened_middle(cleaned(name), kMaxNameWidth);
}

constexpr const char* kBackwardMark = " (bwd)";

// Whether a row stands at the forward line that made its work: no line of Python runs in most backward passes.
bool is_at_forward_line(const Where& where) {
  return !where.file && where.forward_site && where.phase == analyze::Phase::kBackward;
}

// What a row is called: its line, with the path where two files share the name; the forward line, marked, of work that
// a backward pass made; else the native function.
class Names {
 public:
  template <typename AnySite>
  explicit Names(const std::vector<AnySite>& sites) {
    for (const Where& where : sites) files_[where.site].insert(where.file.value_or(""));
  }
  std::string of(const Where& where) const {
    if (is_at_forward_line(where)) return *where.forward_site + kBackwardMark;
    if (!where.file && where.function) return *where.function;
    const bool is_shared = files_.at(where.site).size() > 1 && where.file;
    return is_shared ? fmt::format("{}:{}", *where.file, where.line.value_or(0)) : where.site;
  }

 private:
  std::map<std::string, std::set<std::string>> files_;
};

std::string phase_text(const std::optional<analyze::Phase>& phase) {
  if (!phase) return "phase unknown";
  switch (*phase) {
    case analyze::Phase::kForward:
      return "forward pass";
    case analyze::Phase::kBackward:
      return "backward pass";
    case analyze::Phase::kOptimizer:
      return "optimizer";
    case analyze::Phase::kLoader:
      return "data loading";
    case analyze::Phase::kOther:
      return "other phase";
  }
  return "phase unknown";
}

// With its module, where it is native.
std::string function_text(const Where& where) {
  const std::string& function = *where.function;
  const bool has_module = !where.file && where.site.starts_with(function);
  return short_name(function) + (has_module ? short_name(where.site.substr(function.size())) : "");
}

std::string operator_text(const CallSite& site) {
  const std::string what = short_name(site.op ? *site.op : site.api.value_or("operator unknown"));
  return site.function ? what + " in " + function_text(site) : what;
}

std::string kinds_text(const Site& site) {
  if (site.direction == analyze::Direction::kMemset) return short_name(site.dst_kind.value_or("memory unknown"));
  return short_name(site.src_kind.value_or("unknown")) + " > " + short_name(site.dst_kind.value_or("unknown"));
}

std::string blocked_text(const Site& site) {
  if (site.blocked_count == 0) return "";
  if (site.blocked_count == site.count) return ", CPU blocked every time";
  return ", CPU blocked " + (site.blocked_count == 1 ? "once" : count_text(site.blocked_count) + " times");
}

std::string each_text(const Site& site) {
  if (site.count == 0) return kUnknownText;
  return (site.bytes % site.count == 0 ? "" : "~") + size_text(site.bytes / site.count);
}

void add_code(const Where& where, const SourceText& source, Table& table) {
  if (!where.file || !where.line) return;
  const auto code = source.line(*where.file, *where.line);
  if (code) table.add_note(kIndent + *code, Style::kCode);
}

void add_library_line(const Where& where, Table& table) {
  if (where.library_site) table.add_note(kIndent + ("> " + cleaned(*where.library_site)));
}

void add_forward_line(const Where& where, Table& table) {
  if (where.forward_site && !is_at_forward_line(where))
    table.add_note(kIndent + ("made by the forward line " + *where.forward_site));
}

void add_site(const Site& site, std::size_t rank, const std::string& name, Table& table) {
  table.add_row({fmt::format("{:>3}", rank), name, words_for(site.direction), count_text(site.count), each_text(site),
                 size_text(site.bytes), duration_text(site.device_time_ns), rate_text(site.bandwidth_gbps),
                 duration_text(site.host_blocked_ns), percent_text(site.overlapped_pct)});
}

bool is_like(const Site& site, const Site& other) {
  return !other.missing_call && other.direction == site.direction && other.src_kind == site.src_kind &&
         other.dst_kind == site.dst_kind &&
         std::any_of(site.streams.begin(), site.streams.end(), [&](std::uint32_t stream) {
           return std::find(other.streams.begin(), other.streams.end(), stream) != other.streams.end();
         });
}

// The place with most of the transfers of the same kind on the same streams whose call is known: the likely one, but
// no more than that.
std::string likely_place_text(const Site& site, const std::vector<Site>& sites) {
  const Site* most = nullptr;
  std::uint64_t count = 0;
  for (const Site& other : sites) {
    if (!is_like(site, other)) continue;
    count += other.count;
    if (most == nullptr || other.count > most->count) most = &other;
  }
  if (most == nullptr) return "";
  return fmt::format("{} of the {} like {} whose call is known came from {}",
                     most->count == count ? "all" : count_text(most->count), count_text(count),
                     site.count == 1 ? "it" : "them", short_name(most->site));
}

std::string streams_text(const Site& site) {
  if (site.streams.empty()) return "stream unknown";
  return fmt::format("stream{} {}", site.streams.size() == 1 ? "" : "s", fmt::join(site.streams, ", "));
}

void add_missing_call(const Site& site, const std::vector<Site>& sites, Table& table) {
  const bool is_earlier = site.missing_call == analyze::MissingCall::kEarlier;
  table.add_note(kIndent + fmt::format("{}, {}", kinds_text(site), streams_text(site)));
  table.add_note(kIndent + fmt::format("the call that started {} is not in the file{}", site.count == 1 ? "it" : "them",
                                       is_earlier ? ": it was made before those that are" : ""));
  const std::string likely = likely_place_text(site, sites);
  if (!likely.empty()) table.add_note(kIndent + likely);
}

void add_site_notes(const Site& site, bool with_code, const analyze::Report& report, Table& table) {
  if (site.missing_call) return add_missing_call(site, report.sites, table);
  if (with_code) add_code(site, report.source_text, table);
  add_library_line(site, table);
  table.add_note(kIndent + fmt::format("{}, {}, {}{}", operator_text(site), phase_text(site.phase), kinds_text(site),
                                       blocked_text(site)));
  if (site.in_graph)
    table.add_note(kIndent + std::string("replayed by a CUDA graph; the line is where it was captured"));
  add_forward_line(site, table);
}

template <typename AnySite>
void print_backward_note(const std::vector<AnySite>& sites, std::size_t shown, Page& page) {
  if (!std::any_of(sites.begin(), sites.begin() + static_cast<std::ptrdiff_t>(shown), is_at_forward_line)) {
    return;
  }
  page.paragraph("  ", "(bwd): made by the backward pass of that line.", Style::kNote);
}

void print_rest(std::size_t total, std::size_t shown, Page& page) {
  if (shown < total) page.line(fmt::format("  {} more: --top {} shows them all", total - shown, total), Style::kNote);
}

std::string sync_summary(const analyze::Syncs& syncs) {
  std::string text =
      fmt::format("{} in all, CPU blocked {}", count_text(syncs.count), duration_text(syncs.host_blocked_ns));
  if (syncs.of_transfers_count > 0) {
    text += fmt::format("; in {} of them an operator waited for its own transfer, which has that time ({}), too",
                        count_text(syncs.of_transfers_count), duration_text(syncs.of_transfers_host_blocked_ns));
  }
  return text + ".";
}

}  // namespace

std::string place_words(const std::string& site, const std::optional<std::string>& library_site) {
  return library_site ? site + " > " + *library_site : site;
}

void print_sites(const analyze::Report& report, std::size_t top, Page& page) {
  if (report.sites.empty()) return;
  page.blank();
  page.line("TRANSFERS BY LINE", Style::kHeading);
  Table table({{"  #", Align::kLeft},
               {"where", Align::kLeft, true},
               {.title = "direction", .align = Align::kLeft, .leaves_as = 3},
               {.title = "count", .leaves_as = 4},
               {.title = "each", .leaves_as = 7},
               {.title = "total", .leaves_as = 5},
               {.title = "device", .leaves_as = 1},
               {.title = "speed", .leaves_as = 6},
               {"blocked"},
               {.title = "overlap", .leaves_as = 2}});
  const Names names(report.sites);
  const std::size_t shown = std::min(top, report.sites.size());
  for (std::size_t i = 0; i < shown; ++i) {
    add_site(report.sites[i], i + 1, names.of(report.sites[i]), table);
    add_site_notes(report.sites[i], i < kRowsWithCode, report, table);
  }
  table.print(page);
  print_rest(report.sites.size(), shown, page);
  print_backward_note(report.sites, shown, page);
}

void print_syncs(const analyze::Report& report, std::size_t top, Page& page) {
  page.blank();
  page.line("SYNCHRONISATIONS BY LINE", Style::kHeading);
  if (report.syncs.count == 0) {
    return page.line("  " + none_words(report, "none: the CPU never waited for the GPU explicitly"));
  }
  page.paragraph("  ", sync_summary(report.syncs));
  Table table({{"  #", Align::kLeft},
               {"where", Align::kLeft, true},
               {.title = "call", .align = Align::kLeft, .leaves_as = 3},
               {.title = "count", .leaves_as = 1},
               {.title = "for transfers", .leaves_as = 4},
               {"CPU blocked"},
               {.title = "GPU idle", .leaves_as = 2}});
  const Names names(report.sync_sites);
  const std::size_t shown = std::min(top, report.sync_sites.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const SyncSite& site = report.sync_sites[i];
    table.add_row({fmt::format("{:>3}", i + 1), names.of(site), short_name(site.api.value_or(kUnknownText)),
                   count_text(site.count), count_text(site.of_transfers_count), duration_text(site.host_blocked_ns),
                   duration_text(site.gpu_idle_ns)});
    if (i < kRowsWithCode) add_code(site, report.source_text, table);
    add_library_line(site, table);
    table.add_note(kIndent + fmt::format("{}, {}", operator_text(site), phase_text(site.phase)));
    add_forward_line(site, table);
  }
  table.print(page);
  print_rest(report.sync_sites.size(), shown, page);
  print_backward_note(report.sync_sites, shown, page);
}

}  // namespace turnpike::report
