// `turnpike top --prometheus`. Names and units follow prometheus.io/docs/practices/naming.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/top_text.h"
#include "report/text/text_width.h"

namespace turnpike::cli {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;
using record::LivePage;

// Bytes that are no UTF-8 are written as escapes first: a scraper refuses the whole text because of one.
std::string label_value(const std::string& text) {
  std::string escaped;
  for (const char letter : cleaned(text)) {
    if (letter == '\\' || letter == '"') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

std::string labels_text(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) text += (text.empty() ? "" : ",") + name + "=\"" + label_value(value) + "\"";
  return "{" + text + "}";
}

Labels labels_of(const LiveProcess& process) {
  return {{"pid", std::to_string(process.pid)}, {"rank", process.page->rank}};
}

Labels with(Labels labels, const Labels& more) {
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}

class Metrics {
 public:
  explicit Metrics(const std::vector<LiveProcess>& processes) : processes_(processes) {}

  // `samples(process, add)`: add(labels, value) for each.
  template <typename Samples>
  void family(const char* name, const char* type, const char* help, Samples samples) {
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
    for (const LiveProcess& process : processes_) {
      if (!process.page) continue;
      samples(process, *process.page, [&](const Labels& labels, const std::string& value) {
        text_ += name + labels_text(with(labels_of(process), labels)) + " " + value + "\n";
      });
    }
  }
  template <typename Value>
  void counter(const char* name, const char* help, Value value) {
    family(name, "counter", help, [&](const LiveProcess&, const LivePage& page, auto add) { add({}, value(page)); });
  }
  const std::string& text() const { return text_; }

 private:
  const std::vector<LiveProcess>& processes_;
  std::string text_;
};

std::string seconds_text(std::uint64_t ns) {
  return fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

std::uint64_t rest_of(std::uint64_t all, std::uint64_t part) {
  return all - std::min(all, part);  // a broken page may say that there are more of these than of all
}

// By direction, and what crosses the link also by the kind of host memory.
template <typename Add>
void add_by_direction(const std::uint64_t (&all)[record::kLiveTransferDirections], const std::uint64_t (&pageable)[2],
                      const std::uint64_t (&pinned)[2], Add add) {
  for (std::uint32_t i = 0; i < record::kLiveTransferDirections; ++i) {
    const std::string name = name_of(static_cast<record::LiveDirection>(i));
    const auto add_kind = [&](const char* memory, std::uint64_t value) {
      add({{"direction", name}, {"memory", memory}}, std::to_string(value));
    };
    if (i >= 2) {
      add_kind("", all[i]);
      continue;
    }
    add_kind("pageable", pageable[i]);
    add_kind("pinned", pinned[i]);
    add_kind("other", rest_of(rest_of(all[i], pageable[i]), pinned[i]));
  }
}

// Texts that were cut may make one of two lines, and a scraper refuses a text that has a series twice.
std::map<std::string, std::pair<Labels, std::uint64_t>> top_sites(const LivePage& page, std::size_t most) {
  std::map<std::string, std::pair<Labels, std::uint64_t>> sites;
  for (std::uint32_t i = 0; i < std::min<std::size_t>(page.site_count, most); ++i) {
    const record::LiveSite& site = page.sites[i];
    const Labels labels{{"site", place_text(site)},
                        {"file", site.file},
                        {"function", site.function},
                        {"op", operator_text(site)},
                        {"direction", name_of(site.direction)}};
    auto& [kept, host_time_ns] = sites[labels_text(labels)];
    kept = labels;
    host_time_ns += site.host_time_ns;
  }
  return sites;
}

}  // namespace

std::string to_metrics(const std::vector<LiveProcess>& processes, std::size_t most_sites) {
  Metrics metrics(processes);
  metrics.family("turnpike_info", "gauge", "Each recorded process, by its labels.",
                 [](const LiveProcess&, const LivePage& page, auto add) {
                   add({{"program", program_text(page)},
                        {"job_id", page.job_id},
                        {"host", page.host},
                        {"gpu", page.device_count > 0 ? page.devices[0].name : ""},
                        {"state", page.state == record::LiveState::kRecording ? "recording" : "stopped"}},
                       "1");
                 });
  metrics.family("turnpike_transfers_total", "counter", "Transfers carried out.",
                 [](const LiveProcess&, const LivePage& page, auto add) {
                   add_by_direction(page.transfer_count, page.pageable_count, page.pinned_count, add);
                 });
  metrics.family("turnpike_transfer_bytes_total", "counter", "Bytes transferred.",
                 [](const LiveProcess&, const LivePage& page, auto add) {
                   add_by_direction(page.transfer_bytes, page.pageable_bytes, page.pinned_bytes, add);
                 });
  metrics.family("turnpike_transfer_seconds_total", "counter", "Time of the device in copies.",
                 [](const LiveProcess&, const LivePage& page, auto add) {
                   for (std::uint32_t i = 0; i < record::kLiveMemset; ++i)
                     add({{"direction", name_of(static_cast<record::LiveDirection>(i))}},
                         seconds_text(page.device_time_ns[i]));
                 });
  metrics.counter("turnpike_blocked_seconds_total", "Host time in calls that copy or synchronise.",
                  [](const LivePage& page) { return seconds_text(page.host_time_ns); });
  metrics.counter("turnpike_syncs_total", "Calls that synchronise.",
                  [](const LivePage& page) { return std::to_string(page.sync_count); });
  metrics.counter("turnpike_kernels_total", "Kernels executed.",
                  [](const LivePage& page) { return std::to_string(page.kernel_count); });
  metrics.counter("turnpike_losses_total", "Records that the recorder lost.",
                  [](const LivePage& page) { return std::to_string(page.loss_count); });
  metrics.counter("turnpike_written_bytes_total", "Bytes of the trace file.",
                  [](const LivePage& page) { return std::to_string(page.written_bytes); });
  metrics.family("turnpike_link_limit_bytes_per_second", "gauge", "What the link to the GPU can be expected to do.",
                 [](const LiveProcess&, const LivePage& page, auto add) {
                   const LiveLimit limit = limit_of(page);
                   for (const int i : {0, 1}) {
                     if (limit.gbps[i])
                       add({{"direction", i == 0 ? "h2d" : "d2h"}}, fmt::format("{:.0f}", *limit.gbps[i] * 1e9));
                   }
                 });
  if (most_sites == 0) return metrics.text();
  metrics.family("turnpike_site_blocked_seconds_total", "counter", "Host time in calls of a line, of the top lines.",
                 [&](const LiveProcess&, const LivePage& page, auto add) {
                   for (const auto& [text, site] : top_sites(page, most_sites))
                     add(site.first, seconds_text(site.second));
                 });
  return metrics.text();
}

}  // namespace turnpike::cli
