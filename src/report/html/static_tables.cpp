#include "report/html/static_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "report/html/html_table.h"
#include "report/text/cause_words.h"
#include "report/text/loss_sentence.h"
#include "report/text/terminal_sections.h"

namespace turnpike::report::html {
namespace {

using analyze::Report;

std::string totals_html(const Report& report, std::size_t max_rows) {
  HtmlTable table("Transfers in all",
                  {{"direction"},
                   {"count", true},
                   {"bytes", true},
                   {"pageable", true},
                   {"device time", true},
                   {"speed", true},
                   {"CPU blocked", true}},
                  max_rows);
  for (std::size_t i = 0; i < analyze::kDirectionCount; ++i) {
    const analyze::Total& total = report.totals[i];
    if (total.count == 0) continue;
    table.add_row({words_for(static_cast<analyze::Direction>(i)), count_text(total.count), size_text(total.bytes),
                   count_text(total.pageable_count), duration_text(total.device_time_ns),
                   rate_text(total.bandwidth_gbps), duration_text(total.host_blocked_ns)});
  }
  return table.html();
}

std::string memory_words(const analyze::Site& site) {
  const std::string to = site.dst_kind.value_or("unknown");
  return site.direction == analyze::Direction::kMemset ? to : site.src_kind.value_or("unknown") + " > " + to;
}

// With the line of the library, where one made the call.
std::string where_text(const analyze::Where& where) {
  if (where.site.empty()) return "no line is known";
  return place_words(where.site, where.library_site);
}

std::string sites_html(const Report& report, std::size_t max_rows) {
  HtmlTable table("Transfers by line",
                  {{"where"},
                   {"operator"},
                   {"direction"},
                   {"memory"},
                   {"count", true},
                   {"bytes", true},
                   {"device time", true},
                   {"speed", true},
                   {"CPU blocked", true},
                   {"exposed", true},
                   {"GPU idle", true}},
                  max_rows);
  for (const analyze::Site& site : report.sites) {
    table.add_row({where_text(site), site.op.value_or(site.api.value_or("")), words_for(site.direction),
                   memory_words(site), count_text(site.count), size_text(site.bytes),
                   duration_text(site.device_time_ns), rate_text(site.bandwidth_gbps),
                   duration_text(site.host_blocked_ns), duration_text(site.exposed_ns),
                   duration_text(site.gpu_idle_ns)});
  }
  return table.html();
}

std::string syncs_html(const Report& report, std::size_t max_rows) {
  HtmlTable table("Synchronisations by line",
                  {{"where"},
                   {"call"},
                   {"operator"},
                   {"count", true},
                   {"for transfers", true},
                   {"CPU blocked", true},
                   {"GPU idle", true}},
                  max_rows);
  for (const analyze::SyncSite& site : report.sync_sites) {
    table.add_row({where_text(site), site.api.value_or(""), site.op.value_or(""), count_text(site.count),
                   count_text(site.of_transfers_count), duration_text(site.host_blocked_ns),
                   duration_text(site.gpu_idle_ns)});
  }
  return table.html();
}

std::string idle_html(const Report& report, std::size_t max_rows) {
  std::vector<TableColumn> columns{{"where"}, {"cause"}, {"GPU", true}, {"count", true}};
  // The rows are sorted by it.
  if (report.steps) columns.push_back({"time in the steps", true});
  columns.push_back({report.steps ? "time in all" : "time", true});
  HtmlTable table("What the GPU waited for", columns, max_rows);
  for (const analyze::IdleSite& site : report.idle) {
    std::vector<std::string> cells{where_text(site), words_of_cause(site.cause).name, count_text(site.device),
                                   count_text(site.count)};
    if (report.steps) cells.push_back(duration_text(site.in_steps_ns));
    cells.push_back(duration_text(site.time_ns));
    table.add_row(cells);
  }
  return table.html();
}

std::string ranges_html(const Report& report, std::size_t max_rows) {
  HtmlTable table("Ranges",
                  {{"name"}, {"count", true}, {"time", true}, {"GPU busy", true}, {"GPU idle", true}, {"bound by"}},
                  max_rows);
  for (const analyze::RangeVerdict& range : report.ranges) {
    table.add_row({range.name, count_text(range.count), duration_text(range.total_ns),
                   percent_text(range.verdict.gpu_busy_pct), percent_text(range.verdict.gpu_idle_pct),
                   range.verdict.bound_by ? analyze::name_of(*range.verdict.bound_by) : kUnknownText});
  }
  return table.html();
}

std::string threads_html(const Report& report, std::size_t max_rows) {
  HtmlTable table("Threads that issue work",
                  {{"thread"},
                   {"launches", true},
                   {"in calls of CUDA", true},
                   {"waiting", true},
                   {"between calls", true},
                   {"mostly at"}},
                  max_rows);
  for (const analyze::HostThread& thread : report.verdict.threads) {
    const std::string name = thread.role == analyze::ThreadRole::kOther
                                 ? (thread.name.empty() ? std::to_string(thread.thread) : thread.name)
                                 : analyze::name_of(thread.role);
    table.add_row({name, count_text(thread.launches), percent_text(thread.calls_pct), percent_text(thread.waits_pct),
                   percent_text(thread.between_pct), joined(thread.busiest_lines, ", ")});
  }
  return table.html();
}

std::string memory_html(const Report& report, std::size_t max_rows) {
  if (!report.memory) return "";
  const analyze::MemoryUse& use = *report.memory;
  HtmlTable table("Memory", {{"what"}, {"kind"}, {"bytes", true}, {"allocations", true}}, max_rows);
  if (use.peak_resident_bytes) table.add_row({"peak of the process", "", size_text(*use.peak_resident_bytes), ""});
  table.add_row({"peak of the GPU, while recording", "device", size_text(use.peak_device_bytes), ""});
  table.add_row({"peak of page-locked memory, while recording", "pinned", size_text(use.peak_pinned_bytes), ""});
  for (const analyze::MemorySite& site : use.sites) {
    table.add_row(
        {site.site + ", at the peak", analyze::name_of(site.kind), size_text(site.bytes), count_text(site.count)});
  }
  return table.html();
}

std::string losses_html(const Report& report, std::size_t max_rows) {
  HtmlTable table("What is missing", {{"count", true}, {"loss"}, {"what it means"}}, max_rows);
  for (const auto& [name, count] : report.losses) {
    table.add_row({count_text(count), name, loss_sentence(name, report.source)});
  }
  return table.html();
}

std::string run_html(const Report& report, std::size_t max_rows) {
  const analyze::Source& source = report.source;
  HtmlTable table("The run", {{"what"}, {"value"}}, max_rows);
  const auto add = [&](const char* what, const std::string& value) {
    if (!value.empty()) table.add_row({what, value});
  };
  add("program", source.program);
  add("recorded by", source.kind);
  add("detail", source.detail);
  add("files", joined(source.paths, ", "));
  add("machines", joined(source.hosts, ", "));
  for (const analyze::Device& device : source.devices) {
    add("GPU", fmt::format("{}: {}{}", device.id, device.name,
                           device.memory_bytes > 0 ? ", " + size_text(device.memory_bytes) : ""));
  }
  for (const auto& [name, version] : source.versions) {
    if (!version.empty()) table.add_row({name, version});
  }
  if (report.steps) add("steps found by", source_text(*report.steps));
  add("verdict", report.verdict.why);
  add("written by", "turnpike " TURNPIKE_VERSION);
  return table.html();
}

}  // namespace

std::vector<std::string> table_parts(const Report& report, std::size_t max_rows) {
  return {idle_html(report, max_rows),   totals_html(report, max_rows), sites_html(report, max_rows),
          syncs_html(report, max_rows),  ranges_html(report, max_rows), threads_html(report, max_rows),
          memory_html(report, max_rows), losses_html(report, max_rows), run_html(report, max_rows)};
}

std::string tables_html(const Report& report) {
  return joined(table_parts(report, kMaxTableRows), "");
}

}  // namespace turnpike::report::html
