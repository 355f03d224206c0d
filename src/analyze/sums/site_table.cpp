// Finds the row of a place, sums up, ranks.
#include "analyze/sums/site_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace turnpike::analyze {
namespace {

std::int64_t cost_ns(const Site& site) {
  return site.host_blocked_ns.value_or(0) + site.exposed_ns.value_or(0);
}

void finish(SiteSums& sums) {
  Site& site = sums.site;
  site.bandwidth_gbps = bandwidth_gbps(sums.timed_bytes, site.device_time_ns);
  if (site.exposed_ns && sums.overlap_base_ns > 0) {
    site.overlapped_pct = 100.0 * static_cast<double>(sums.overlap_base_ns - *site.exposed_ns) /
                          static_cast<double>(sums.overlap_base_ns);
  }
  std::sort(site.streams.begin(), site.streams.end());
}

void add_in_steps(InSteps& sums, const TransferCost& cost) {
  sums.count += cost.count;
  sums.bytes += cost.bytes;
  add_known(sums.device_time_ns, cost.device_time_ns);
  add_known(sums.host_blocked_ns, cost.host_blocked_ns);
  add_known(sums.exposed_ns, cost.exposed_ns);
}

}  // namespace

void add_known(std::optional<std::int64_t>& sum, std::optional<std::int64_t> value) {
  if (value) sum = sum.value_or(0) + *value;
}

std::optional<double> bandwidth_gbps(std::uint64_t bytes, std::optional<std::int64_t> time_ns) {
  if (!time_ns || *time_ns <= 0) return std::nullopt;
  return static_cast<double>(bytes) / static_cast<double>(*time_ns);
}

void SiteSums::add(const TransferCost& cost) {
  site.count += cost.count;
  site.bytes += cost.bytes;
  if (cost.is_blocked) site.blocked_count += cost.count;
  if (cost.device_time_ns) timed_bytes += cost.bytes;
  if (cost.exposed_ns) overlap_base_ns += cost.device_time_ns.value_or(0);
  add_known(site.device_time_ns, cost.device_time_ns);
  add_known(site.host_blocked_ns, cost.host_blocked_ns);
  add_known(site.exposed_ns, cost.exposed_ns);
  add_known(site.gpu_idle_ns, cost.gpu_idle_ns);
  if (cost.is_in_steps) add_in_steps(site.in_steps, cost);
}

void TotalSums::add(const TransferCost& cost) {
  total.count += cost.count;
  total.bytes += cost.bytes;
  if (cost.device_time_ns) timed_bytes += cost.bytes;
  add_known(total.device_time_ns, cost.device_time_ns);
  add_known(total.host_blocked_ns, cost.host_blocked_ns);
  if (!cost.is_pageable) return;
  total.pageable_count += cost.count;
  total.pageable_bytes += cost.bytes;
}

std::vector<Site> SiteTable::take_ranked() {
  std::vector<Site> sites;
  for (SiteSums& sums : rows_.take()) {
    finish(sums);
    sites.push_back(std::move(sums.site));
  }
  // Places that cost the same stand in an order that does not depend on the process they were seen in first.
  std::sort(sites.begin(), sites.end(), [](const Site& a, const Site& b) {
    if (cost_ns(a) != cost_ns(b)) return cost_ns(a) > cost_ns(b);
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return std::tie(a.site, a.direction, a.op, a.src_kind, a.dst_kind) <
           std::tie(b.site, b.direction, b.op, b.src_kind, b.dst_kind);
  });
  return sites;
}

std::vector<SyncSite> SyncTable::take_ranked() {
  std::vector<SyncSite> sites = rows_.take();
  std::sort(sites.begin(), sites.end(), [](const SyncSite& a, const SyncSite& b) {
    const auto a_ns = a.host_blocked_ns.value_or(0);
    const auto b_ns = b.host_blocked_ns.value_or(0);
    if (a_ns != b_ns) return a_ns > b_ns;
    return std::tie(a.site, a.op, a.api) < std::tie(b.site, b.op, b.api);
  });
  return sites;
}

}  // namespace turnpike::analyze
