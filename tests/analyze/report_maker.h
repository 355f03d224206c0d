// Reports as comparisons and checks want them: rows with figures of ten whole steps.
#pragma once

#include <string>

#include "analyze/report.h"

namespace turnpike::analyze {

inline constexpr std::uint64_t kSteps = 10;

struct RowSpec {
  std::uint32_t line = 0;
  std::uint64_t per_step = 1;
  std::uint64_t bytes = 1000;  // of one
  std::int64_t blocked_ns = 10'000;
  std::int64_t exposed_ns = 2'000;
  Direction direction = Direction::kHostToDevice;
  std::string file = "/home/me/train.py";
  std::string function = "train";
  std::string op = "aten::to";
  std::string src_kind = "pageable";
  std::string dst_kind = "device";
};

inline std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

inline Site site_of(const RowSpec& spec) {
  Site site;
  site.file = spec.file;
  site.line = spec.line;
  site.site = base_name(spec.file) + ":" + std::to_string(spec.line);
  site.function = spec.function;
  site.op = spec.op;
  site.phase = Phase::kForward;
  site.direction = spec.direction;
  site.src_kind = spec.src_kind;
  site.dst_kind = spec.dst_kind;
  site.in_steps.count = spec.per_step * kSteps;
  site.in_steps.bytes = site.in_steps.count * spec.bytes;
  site.in_steps.device_time_ns = spec.exposed_ns * static_cast<std::int64_t>(kSteps);
  site.in_steps.host_blocked_ns = spec.blocked_ns * static_cast<std::int64_t>(kSteps);
  site.in_steps.exposed_ns = spec.exposed_ns * static_cast<std::int64_t>(kSteps);
  // Start-up does each once more.
  site.count = site.in_steps.count + 1;
  site.bytes = site.in_steps.bytes + spec.bytes;
  site.device_time_ns = site.in_steps.device_time_ns;
  site.host_blocked_ns = site.in_steps.host_blocked_ns;
  site.exposed_ns = site.in_steps.exposed_ns;
  return site;
}

inline SyncSite sync_of(std::uint32_t line, std::uint64_t per_step, std::int64_t blocked_ns,
                        std::int64_t of_transfers_ns = 0) {
  SyncSite site;
  site.file = "/home/me/train.py";
  site.line = line;
  site.site = "train.py:" + std::to_string(line);
  site.function = "train";
  site.op = "aten::item";
  site.api = "cudaStreamSynchronize";
  site.phase = Phase::kForward;
  site.in_steps.count = per_step * kSteps;
  site.in_steps.host_blocked_ns = blocked_ns * static_cast<std::int64_t>(kSteps);
  if (of_transfers_ns > 0) {
    site.in_steps.of_transfers_count = site.in_steps.count;
    site.in_steps.of_transfers_host_blocked_ns = of_transfers_ns * static_cast<std::int64_t>(kSteps);
  }
  site.count = site.in_steps.count;
  site.host_blocked_ns = site.in_steps.host_blocked_ns;
  site.of_transfers_host_blocked_ns = site.in_steps.of_transfers_host_blocked_ns;
  return site;
}

inline Finding finding_of(const std::string& rule, const std::string& site, std::optional<double> saving_pct = {}) {
  Finding finding;
  finding.rule = rule;
  finding.site = site;
  finding.title = "Title of " + rule;
  finding.saving_pct = saving_pct;
  if (saving_pct) {
    finding.saving_step_ns = static_cast<std::int64_t>(*saving_pct * 40'000);
    finding.saving_ns = *finding.saving_step_ns * static_cast<std::int64_t>(kSteps);
  }
  return finding;
}

inline Report report_with(std::vector<Site> sites, std::int64_t step_ns = 4'000'000) {
  Report report;
  report.source.kind = "turnpike";
  report.source.paths = {"run.tpk"};
  report.source.process_count = 1;
  report.source.detail = "full";
  report.source.devices = {{0, "NVIDIA H100 80GB HBM3", 0}};
  report.source.hosts = {"box"};
  report.source.versions = {{"torch", "2.11.0"}};
  report.span_ns = 100'000'000;
  report.steps = Steps{.count = kSteps + 2, .median_ns = step_ns, .whole_count = kSteps};
  report.verdict.bound_by = Bound::kSync;
  report.verdict.gpu_busy_pct = 30.0;
  report.verdict.gpu_idle_pct = 70.0;
  report.verdict.exposed_transfer_pct = 5.0;
  report.verdict.why = "Why.";
  report.sites = std::move(sites);
  return report;
}

}  // namespace turnpike::analyze
