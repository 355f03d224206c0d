#include "report/json.h"

#include <nlohmann/json.hpp>

#include "report/loss_sentence.h"

namespace turnpike::report {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json phase_or_null(const std::optional<analyze::Phase>& phase) {
  return phase ? Json(analyze::name_of(*phase)) : Json(nullptr);
}

Json to_object(const analyze::Device& device) {
  return {{"id", device.id},
          {"name", or_null(device.name)},
          {"memory_bytes", device.memory_bytes == 0 ? Json(nullptr) : Json(device.memory_bytes)}};
}

Json to_object(const analyze::Total& total) {
  return {{"count", total.count},
          {"bytes", total.bytes},
          {"device_time_ns", or_null(total.device_time_ns)},
          {"host_blocked_ns", or_null(total.host_blocked_ns)},
          {"pageable_count", total.pageable_count},
          {"pageable_bytes", total.pageable_bytes},
          {"bandwidth_gbps", or_null(total.bandwidth_gbps)},
          {"link_gbps", or_null(total.link_gbps)}};
}

Json to_object(const std::array<analyze::Total, analyze::kDirectionCount>& totals) {
  Json object = Json::object();
  for (std::size_t i = 0; i < totals.size(); ++i) {
    object[analyze::name_of(static_cast<analyze::Direction>(i))] = to_object(totals[i]);
  }
  return object;
}

Json to_object(const analyze::Syncs& syncs) {
  return {{"count", syncs.count},
          {"host_blocked_ns", or_null(syncs.host_blocked_ns)},
          {"of_transfers_count", syncs.of_transfers_count},
          {"of_transfers_host_blocked_ns", or_null(syncs.of_transfers_host_blocked_ns)}};
}

Json to_object(const analyze::Steps& steps) {
  return {{"count", steps.count}, {"median_ns", steps.median_ns}, {"source", steps.source}};
}

Json to_object(const analyze::Verdict& verdict) {
  return {{"bound_by", or_null(verdict.bound_by)},
          {"gpu_busy_pct", or_null(verdict.gpu_busy_pct)},
          {"gpu_idle_pct", or_null(verdict.gpu_idle_pct)},
          {"exposed_transfer_pct", or_null(verdict.exposed_transfer_pct)},
          {"why", verdict.why}};
}

Json to_object(const analyze::Site& site) {
  return {{"site", site.site},
          {"file", or_null(site.file)},
          {"line", or_null(site.line)},
          {"function", or_null(site.function)},
          {"op", or_null(site.op)},
          {"inner_op", or_null(site.inner_op)},
          {"api", or_null(site.api)},
          {"phase", phase_or_null(site.phase)},
          {"direction", analyze::name_of(site.direction)},
          {"src_kind", or_null(site.src_kind)},
          {"dst_kind", or_null(site.dst_kind)},
          {"forward_site", or_null(site.forward_site)},
          {"in_graph", site.in_graph},
          {"streams", site.streams},
          {"count", site.count},
          {"blocked_count", site.blocked_count},
          {"bytes", site.bytes},
          {"device_time_ns", or_null(site.device_time_ns)},
          {"host_blocked_ns", or_null(site.host_blocked_ns)},
          {"exposed_ns", or_null(site.exposed_ns)},
          {"gpu_idle_ns", or_null(site.gpu_idle_ns)},
          {"overlapped_pct", or_null(site.overlapped_pct)},
          {"bandwidth_gbps", or_null(site.bandwidth_gbps)},
          {"stack", site.stack}};
}

Json to_object(const analyze::SyncSite& site) {
  return {{"site", site.site},
          {"file", or_null(site.file)},
          {"line", or_null(site.line)},
          {"function", or_null(site.function)},
          {"op", or_null(site.op)},
          {"api", or_null(site.api)},
          {"phase", phase_or_null(site.phase)},
          {"forward_site", or_null(site.forward_site)},
          {"count", site.count},
          {"of_transfers_count", site.of_transfers_count},
          {"host_blocked_ns", or_null(site.host_blocked_ns)},
          {"gpu_idle_ns", or_null(site.gpu_idle_ns)},
          {"stack", site.stack}};
}

Json to_object(const analyze::Finding& finding) {
  return {{"rule", finding.rule},
          {"severity", finding.severity},
          {"title", finding.title},
          {"site", finding.site},
          {"saving_ns", or_null(finding.saving_ns)},
          {"saving_step_ns", or_null(finding.saving_step_ns)},
          {"saving_pct", or_null(finding.saving_pct)},
          {"evidence", finding.evidence},
          {"advice", finding.advice},
          {"docs", finding.docs}};
}

template <typename T>
Json to_array(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(to_object(item));
  return array;
}

Json to_object(const analyze::Source& source) {
  return {{"kind", source.kind},
          {"paths", source.paths},
          {"processes", source.process_count},
          {"devices", to_array(source.devices)},
          {"hosts", source.hosts},
          {"program", or_null(source.program)},
          {"detail", or_null(source.detail)},
          {"versions", source.versions},
          {"unusable", source.unusable}};
}

Json loss_sentences(const std::map<std::string, std::uint64_t>& losses) {
  Json object = Json::object();
  for (const auto& [name, count] : losses) object[name] = or_null(std::string(loss_sentence(name)));
  return object;
}

}  // namespace

std::string to_json(const analyze::Report& report) {
  const Json object = {{"schema", 1},
                       {"source", to_object(report.source)},
                       {"span_ns", report.span_ns},
                       {"totals", to_object(report.totals)},
                       {"syncs", to_object(report.syncs)},
                       {"steps", report.steps ? to_object(*report.steps) : Json(nullptr)},
                       {"verdict", to_object(report.verdict)},
                       {"sites", to_array(report.sites)},
                       {"sync_sites", to_array(report.sync_sites)},
                       {"findings", to_array(report.findings)},
                       {"saving_pct_all", or_null(report.saving_pct_all)},
                       {"losses", report.losses},
                       {"loss_sentences", loss_sentences(report.losses)}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace turnpike::report
