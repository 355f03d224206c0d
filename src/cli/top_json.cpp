// `turnpike top --json`: the keys are in docs/reference/command_line.md.
#include <nlohmann/json.hpp>

#include "cli/top_text.h"

namespace turnpike::cli {
namespace {

using Json = nlohmann::ordered_json;

Json site_json(const SiteRate& one) {
  return {{"site", place_text(one.site)},
          {"file", one.site.file},
          {"line", one.site.line > 0 ? Json(one.site.line) : Json(nullptr)},
          {"function", one.site.function},
          {"op", one.site.op[0] == '\0' ? Json(nullptr) : Json(operator_text(one.site))},
          {"direction", name_of(one.site.direction)},
          {"count", one.site.count},
          {"bytes", one.site.bytes},
          {"host_time_ns", one.site.host_time_ns},
          {"per_second", one.per_second},
          {"gbps", one.gbps},
          {"host_time_pct", one.host_time_pct}};
}

Json process_json(const ProcessRate& rate) {
  if (!rate.process.page) return {{"pid", rate.process.pid}, {"problem", rate.process.problem}};
  const record::LivePage& page = *rate.process.page;
  Json totals;
  for (std::uint32_t i = 0; i < record::kLiveTransferDirections; ++i) {
    Json& one = totals[name_of(static_cast<record::LiveDirection>(i))];
    one = {{"count", page.transfer_count[i]}, {"bytes", page.transfer_bytes[i]}};
    if (i != record::kLiveMemset) one["device_time_ns"] = page.device_time_ns[i];
    if (i < 2) {
      one["pageable_count"] = page.pageable_count[i];
      one["pageable_bytes"] = page.pageable_bytes[i];
      one["pinned_count"] = page.pinned_count[i];
      one["pinned_bytes"] = page.pinned_bytes[i];
    }
  }
  const LiveLimit limit = limit_of(page);
  const auto gbps = [&](int i) { return limit.gbps[i] ? Json(*limit.gbps[i]) : Json(nullptr); };
  Json sites = Json::array();
  for (const SiteRate& one : rate.sites) sites.push_back(site_json(one));
  Json devices = Json::array();
  for (std::uint32_t i = 0; i < page.device_count; ++i)
    devices.push_back({{"id", i}, {"name", page.devices[i].name}, {"link", page.devices[i].link}});
  return {{"pid", rate.process.pid},
          {"state", rate.has_ended                                ? "ended"
                    : page.state == record::LiveState::kRecording ? "recording"
                                                                  : "stopped"},
          {"program", program_text(page)},
          {"file", page.file},
          {"host", page.host},
          {"rank", page.rank},
          {"job_id", page.job_id},
          {"devices", devices},
          {"seconds", rate.seconds},
          {"totals", totals},
          {"syncs", page.sync_count},
          {"kernels", page.kernel_count},
          {"host_time_ns", page.host_time_ns},
          {"losses", page.loss_count},
          {"written_bytes", page.written_bytes},
          {"page_update_ns", page.update_ns},
          {"h2d_gbps", rate.gbps[0]},
          {"d2h_gbps", rate.gbps[1]},
          {"h2d_limit_gbps", gbps(0)},
          {"d2h_limit_gbps", gbps(1)},
          {"transfers_per_second", rate.transfers_per_second},
          {"pageable_pct", rate.pageable_pct},
          {"host_time_pct", rate.host_time_pct},
          {"syncs_per_second", rate.syncs_per_second},
          {"kernels_per_second", rate.kernels_per_second},
          {"sites", sites}};
}

}  // namespace

std::string to_json(const std::vector<ProcessRate>& processes) {
  Json all = Json::array();
  for (const ProcessRate& one : processes) all.push_back(process_json(one));
  return Json{{"schema", 1}, {"processes", all}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace turnpike::cli
