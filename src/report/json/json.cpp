#include "report/json/json.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/json/item_json.h"
#include "report/text/findings_told.h"
#include "report/text/loss_sentence.h"

namespace turnpike::report {
namespace {

Json to_object(const analyze::Device& device) {
  return {{"id", device.id},
          {"name", or_null(device.name)},
          {"memory_bytes", device.memory_bytes == 0 ? Json(nullptr) : Json(device.memory_bytes)},
          {"numa_node", or_null(device.numa_node)},
          {"pcie_generation", or_null(device.pcie_generation)},
          {"pcie_width", or_null(device.pcie_width)},
          {"pcie_max_generation", or_null(device.pcie_max_generation)},
          {"pcie_max_width", or_null(device.pcie_max_width)}};
}

Json to_object(const analyze::Identity& identity) {
  Json self_time;
  if (identity.self_time) self_time = {{"count", identity.self_time->count}, {"ns", identity.self_time->ns}};
  return {{"pid", identity.pid},
          {"host", or_null(identity.host)},
          {"node", or_null(identity.node)},
          {"node_rank", or_null(identity.node_rank)},
          {"rank", or_null(identity.rank)},
          {"local_rank", or_null(identity.local_rank)},
          {"world_size", or_null(identity.world_size)},
          {"local_world_size", or_null(identity.local_world_size)},
          {"job_id", or_null(identity.job_id)},
          {"restart_count", or_null(identity.restart_count)},
          {"launcher", or_null(identity.launcher)},
          {"self_time", self_time}};
}

Json to_object(const analyze::Total& total) {
  return {{"count", total.count},
          {"bytes", total.bytes},
          {"device_time_ns", or_null(total.device_time_ns)},
          {"host_blocked_ns", or_null(total.host_blocked_ns)},
          {"pageable_count", total.pageable_count},
          {"pageable_bytes", total.pageable_bytes},
          {"bandwidth_gbps", or_null(total.bandwidth_gbps)},
          {"link_gbps", or_null(total.link_gbps)},
          {"link_source", name_or_null(total.link_source)},
          {"link_basis", or_null(total.link_basis)}};
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

Json to_object(const analyze::LineTime& line) {
  return {{"file", line.file},         {"line", line.line},           {"time_ns", line.time_ns},
          {"waits_ns", line.waits_ns}, {"copies_ns", line.copies_ns}, {"gpu_idle_ns", or_null(line.gpu_idle_ns)}};
}

Json to_object(const analyze::Steps::Medians& medians) {
  Json object;
  for (std::size_t i = 0; i < analyze::kDirectionCount; ++i) {
    const std::string direction = analyze::name_of(static_cast<analyze::Direction>(i));
    object[direction + "_count"] = medians.counts[i];
    object[direction + "_bytes"] = medians.bytes[i];
  }
  object["syncs_count"] = medians.syncs;
  object["blocked_ns"] = medians.blocked_ns;
  return object;
}

Json to_object(const analyze::Steps& steps) {
  return {{"count", steps.count},
          {"median_ns", steps.median_ns},
          {"source", source_text(steps)},
          {"device_median_ns", or_null(steps.device_median_ns)},
          {"is_host_ahead", steps.is_host_ahead()},
          {"per_step", steps.medians ? to_object(*steps.medians) : Json(nullptr)}};
}

Json to_object(const analyze::HostThread& thread) {
  return {{"thread", thread.thread},
          {"name", or_null(thread.name)},
          {"role", analyze::name_of(thread.role)},
          {"launches", thread.launches},
          {"calls_pct", thread.calls_pct},
          {"waits_pct", thread.waits_pct},
          {"between_pct", thread.between_pct},
          {"python_pct", or_null(thread.python_pct)},
          {"operator_pct", or_null(thread.operator_pct)},
          {"busiest_lines", thread.busiest_lines}};
}

Json to_object(const analyze::IdleShares& idle) {
  return {{"copies_pct", idle.copies_pct},
          {"syncs_pct", idle.syncs_pct},
          {"input_pct", idle.input_pct},
          {"launch_pct", idle.launch_pct},
          {"quiet_pct", idle.quiet_pct},
          {"allocations_pct", idle.allocations_pct},
          {"between_kernels_pct", idle.between_kernels_pct},
          {"other_devices_pct", idle.other_devices_pct},
          {"unrecorded_pct", idle.unrecorded_pct}};
}

Json to_object(const analyze::Spread& spread) {
  return {{"p10_ns", spread.p10_ns}, {"median_ns", spread.median_ns}, {"p90_ns", spread.p90_ns}};
}

template <typename T>
Json object_or_null(const std::optional<T>& value) {
  return value ? to_object(*value) : Json(nullptr);
}

// What is known of every part of a run.
Json shares_of(const analyze::Verdict& verdict) {
  return {{"bound_by", name_or_null(verdict.bound_by)},
          {"gpu_busy_pct", or_null(verdict.gpu_busy_pct)},
          {"gpu_idle_pct", or_null(verdict.gpu_idle_pct)},
          {"exposed_transfer_pct", or_null(verdict.exposed_transfer_pct)},
          {"why", verdict.why},
          {"idle", object_or_null(verdict.idle)},
          {"exposed_collective_pct", or_null(verdict.exposed_collective_pct)}};
}

Json to_object(const analyze::Verdict& verdict) {
  Json object = shares_of(verdict);
  object["launch_lead"] = object_or_null(verdict.launch_lead);
  object["threads"] = Json::array();
  for (const analyze::HostThread& thread : verdict.threads) object["threads"].push_back(to_object(thread));
  Json& steps = object["steps_by_bound"] = Json::object();
  for (const auto& [bound, count] : verdict.steps_by_bound) steps[analyze::name_of(bound)] = count;
  return object;
}

Json to_object(const analyze::RangeVerdict& range) {
  return {{"name", range.name},
          {"count", range.count},
          {"total_ns", range.total_ns},
          {"verdict", shares_of(range.verdict)}};
}

Json to_object(const analyze::MemorySite& site) {
  return {{"site", site.site}, {"kind", analyze::name_of(site.kind)}, {"bytes", site.bytes}, {"count", site.count}};
}

Json to_object(const analyze::MemoryPoint& point) {
  return {{"time_ns", point.time_ns},
          {"resident_bytes", or_null(point.resident_bytes)},
          {"device_bytes", point.device_bytes},
          {"pinned_bytes", point.pinned_bytes}};
}

Json to_object(const analyze::Site& site) {
  Json object = where_object(site);
  add_members(object, {{"inner_op", or_null(site.inner_op)},
                       {"api", or_null(site.api)},
                       {"phase", name_or_null(site.phase)},
                       {"direction", analyze::name_of(site.direction)},
                       {"src_kind", or_null(site.src_kind)},
                       {"dst_kind", or_null(site.dst_kind)},
                       {"forward_site", or_null(site.forward_site)},
                       {"missing_call", name_or_null(site.missing_call)},
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
                       {"stack", site.stack},
                       {"library_site", or_null(site.library_site)}});
  return object;
}

Json to_object(const analyze::SyncSite& site) {
  Json object = where_object(site);
  add_members(object, {{"api", or_null(site.api)},
                       {"phase", name_or_null(site.phase)},
                       {"forward_site", or_null(site.forward_site)},
                       {"count", site.count},
                       {"of_transfers_count", site.of_transfers_count},
                       {"host_blocked_ns", or_null(site.host_blocked_ns)},
                       {"gpu_idle_ns", or_null(site.gpu_idle_ns)},
                       {"stack", site.stack},
                       {"library_site", or_null(site.library_site)}});
  return object;
}

// More would make the JSON of a run with very many ways larger than the run.
constexpr std::size_t kMaxPaths = 10'000;

// Without its way.
Json to_object(const analyze::PathCost& cost) {
  return {{"what", cost.what},
          {"kind", cost.direction ? analyze::name_of(*cost.direction) : "sync"},
          {"count", cost.count},
          {"bytes", cost.bytes},
          {"device_time_ns", or_null(cost.device_time_ns)},
          {"host_blocked_ns", or_null(cost.host_blocked_ns)},
          {"exposed_ns", or_null(cost.exposed_ns)},
          {"gpu_idle_ns", or_null(cost.gpu_idle_ns)}};
}

Json to_object(const analyze::PathFrame& frame) {
  return {{"site", frame.site}, {"library", or_null(frame.library)}, {"function", or_null(frame.function)}};
}

// The call paths as text. Paths share frames, so each frame is formatted once.
class WayTexts {
 public:
  WayTexts(const analyze::CallPaths& paths, Names names) : paths_(paths) {
    for (const analyze::PathFrame& frame : paths.frames)
      frames_.push_back(text_of(to_object(frame), names, kFrameIndent));
  }

  // The member "path" with its leading line break and trailing comma.
  std::string of(const analyze::PathCost& cost) const {
    std::string text = "\n      \"path\": [";
    bool is_first = true;
    for (const std::uint32_t node : analyze::way_to(paths_, cost.node)) {
      text += is_first ? "\n        " : ",\n        ";
      text += frames_[paths_.nodes[node].frame];
      is_first = false;
    }
    return text + (is_first ? "]," : "\n      ],");
  }

 private:
  static constexpr unsigned int kFrameIndent = ObjectText::kItemIndent + 4;

  const analyze::CallPaths& paths_;
  std::vector<std::string> frames_;  // as the paths number them
};

// The costliest ways; of the others the sum of each kind, so that all add up to the totals.
void add_paths(ObjectText& object, const analyze::CallPaths& paths, Names names) {
  struct Rest {
    std::size_t ways = 0;
    analyze::PathCost sum{};
  };
  std::map<std::optional<analyze::Direction>, Rest> rest;
  for (std::size_t i = kMaxPaths; i < paths.costs.size(); ++i) {
    Rest& others = rest[paths.costs[i].direction];
    ++others.ways;
    others.sum.add(paths.costs[i]);
  }
  std::vector<analyze::PathCost> sums;
  for (auto& [direction, others] : rest) {
    others.sum.direction = direction;
    others.sum.what = "(" + std::to_string(others.ways) + " more ways)";
    sums.push_back(std::move(others.sum));
  }
  const WayTexts ways(paths, names);
  const std::size_t shown = std::min(kMaxPaths, paths.costs.size());
  object.add_array("paths", shown + sums.size(), [&](std::size_t i) {
    const analyze::PathCost& cost = i < shown ? paths.costs[i] : sums[i - shown];
    std::string text = text_of(to_object(cost), names, ObjectText::kItemIndent);
    return text.insert(1, ways.of(cost));  // after the opening brace
  });
}

// As records number a device that their source does not name.
constexpr auto kUnknownDevice = std::numeric_limits<std::uint32_t>::max();

Json to_object(const analyze::IdleSite& site) {
  Json object = where_object(site);
  object["site"] = or_null(site.site);
  add_members(object, {{"phase", name_or_null(site.phase)},
                       {"forward_site", or_null(site.forward_site)},
                       {"device", site.device == kUnknownDevice ? Json(nullptr) : Json(site.device)},
                       {"cause", analyze::name_of(site.cause)},
                       {"count", site.count},
                       {"time_ns", site.time_ns},
                       {"in_steps_count", site.in_steps_count},
                       {"in_steps_ns", site.in_steps_ns},
                       {"library_site", or_null(site.library_site)}});
  return object;
}

Json to_object(const analyze::Alternative& alternative) {
  return {{"advice", alternative.advice},
          {"saving_step_low_ns", or_null(alternative.saving_step_low_ns)},
          {"saving_step_high_ns", or_null(alternative.saving_step_high_ns)},
          {"saving_step_expected_ns", or_null(alternative.saving_step_expected_ns)}};
}

template <typename T>
Json to_array(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(to_object(item));
  return array;
}

Json to_object(const analyze::Finding& finding) {
  return {{"rule", finding.rule},
          {"severity", analyze::name_of(finding.severity)},
          {"title", finding.title},
          {"site", finding.site},
          {"saving_ns", or_null(finding.saving_ns)},
          {"saving_step_ns", or_null(finding.saving_step_ns)},
          {"saving_pct", or_null(finding.saving_pct)},
          {"superseded_by", or_null(finding.superseded_by)},
          {"evidence", finding.evidence},
          {"advice", finding.advice},
          {"docs", finding.docs},
          {"library_site", or_null(finding.library_site)},
          {"saving_step_low_ns", or_null(finding.saving_step_low_ns)},
          {"saving_step_high_ns", or_null(finding.saving_step_high_ns)},
          {"saving_reason", or_null(finding.saving_reason)},
          {"alternatives", to_array(finding.alternatives)}};
}

Json to_object(const LineChange& change) {
  return {{"file", change.file},
          {"line", change.line},
          {"before", change.before},
          {"after", or_null(change.after)},
          {"imports", imports_for(change)},
          {"indent", change.indent}};
}

Json to_object(const analyze::StepEvidence& evidence) {
  return {{"calls", evidence.calls},
          {"bytes", evidence.bytes},
          {"host_ns", evidence.host_ns},
          {"device_ns", evidence.device_ns}};
}

Json findings_array(const std::vector<analyze::Finding>& findings, const std::vector<FindingData>& data) {
  Json array = Json::array();
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const analyze::Finding& finding = findings[i];
    const FindingData of_finding = i < data.size() ? data[i] : FindingData{};
    Json object = to_object(finding);
    object["change"] = of_finding.change ? to_object(*of_finding.change) : Json(nullptr);
    object["saving_step_expected_ns"] = or_null(finding.saving_step_expected_ns);
    object["id"] = of_finding.id.empty() ? Json(nullptr) : Json(of_finding.id);
    object["file"] = or_null(finding.file);
    object["relative_file"] = of_finding.in_repository ? Json(of_finding.in_repository->path) : Json(nullptr);
    object["line"] = or_null(finding.line);
    object["function"] = or_null(finding.function);
    object["op"] = or_null(finding.op);
    object["per_step"] = finding.per_step ? to_object(*finding.per_step) : Json(nullptr);
    array.push_back(std::move(object));
  }
  return array;
}

Json to_object(const analyze::KeptWindow& kept) {
  return {{"last_ns", kept.last_ns}, {"of_ns", kept.of_ns}, {"because", kept.because}};
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
          {"unusable", source.unusable},
          {"unreadable", source.inputs.unreadable},
          {"notes", source.inputs.notes},
          {"identities", to_array(source.identities)},
          {"kept", source.kept ? to_object(*source.kept) : Json(nullptr)}};
}

Json to_object(const analyze::MemoryUse& use) {
  return {{"peak_resident_bytes", or_null(use.peak_resident_bytes)},
          {"peak_device_bytes", use.peak_device_bytes},
          {"peak_pinned_bytes", use.peak_pinned_bytes},
          {"sites", to_array(use.sites)},
          {"points", to_array(use.points)}};
}

Json loss_sentences(const analyze::Report& report) {
  Json object = Json::object();
  for (const auto& [name, count] : report.losses) object[name] = or_null(loss_sentence(name, report.source));
  return object;
}

}  // namespace

std::string to_json(const analyze::Report& report, const std::vector<FindingData>& data, Names names) {
  ObjectText object(names);
  const auto add_items = [&object, names](const char* key, const auto& items) {
    object.add_array(key, items.size(),
                     [&](std::size_t i) { return text_of(to_object(items[i]), names, ObjectText::kItemIndent); });
  };
  object.add("schema", 1);
  object.add("source", to_object(report.source));
  object.add("span_ns", report.span_ns);
  object.add("totals", to_object(report.totals));
  object.add("syncs", to_object(report.syncs));
  object.add("steps", report.steps ? to_object(*report.steps) : Json(nullptr));
  object.add("verdict", to_object(report.verdict));
  add_items("idle", report.idle);
  add_items("ranges", report.ranges);
  object.add("memory", report.memory ? to_object(*report.memory) : Json(nullptr));
  add_items("sites", report.sites);
  add_items("sync_sites", report.sync_sites);
  object.add("findings", findings_array(report.findings, data));
  object.add("saving_pct_all", or_null(report.saving_pct_all));
  object.add("losses", report.losses);
  object.add("loss_sentences", loss_sentences(report));
  add_paths(object, report.paths, names);
  add_items("lines", report.lines);
  object.add("incomplete", incomplete_object(report.source.inputs));
  object.add("used_gpu", analyze::used_gpu(report));
  const std::string unanswered = unanswered_text(report, told_findings(report));
  object.add("why_no_advice", unanswered.empty() ? Json(nullptr) : Json(unanswered));
  return object.take();
}

}  // namespace turnpike::report
