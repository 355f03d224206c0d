// Divides sums by steps and gives transfers and synchronisations the same shape.
#include "analyze/compare/figures.h"

#include <utility>

namespace turnpike::analyze {
namespace {

std::optional<double> divided(std::optional<std::int64_t> sum, double divisor) {
  if (!sum) return std::nullopt;
  return static_cast<double>(*sum) / divisor;
}

void add_or_forget(std::optional<double>& sum, const std::optional<double>& more) {
  sum = sum && more ? std::optional(*sum + *more) : std::nullopt;
}

template <typename Sums>
Figures transfer_figures(const Sums& sums, double divisor) {
  return {.count = static_cast<double>(sums.count) / divisor,
          .bytes = static_cast<double>(sums.bytes) / divisor,
          .device_time_ns = divided(sums.device_time_ns, divisor),
          .blocked_ns = divided(sums.host_blocked_ns, divisor),
          .exposed_ns = divided(sums.exposed_ns, divisor)};
}

template <typename Sums>
Figures sync_figures(const Sums& syncs, double divisor) {
  auto own_ns = syncs.host_blocked_ns;
  if (own_ns) *own_ns -= syncs.of_transfers_host_blocked_ns.value_or(0);
  return {.count = static_cast<double>(syncs.count) / divisor, .blocked_ns = divided(own_ns, divisor)};
}

void add_unless_idle(std::vector<Item>& items, Item item, const Figures& figures) {
  if (figures.count <= 0) return;
  item.figures = figures;
  items.push_back(std::move(item));
}

}  // namespace

void Figures::add(const Figures& other) {
  count += other.count;
  bytes += other.bytes;
  add_or_forget(device_time_ns, other.device_time_ns);
  add_or_forget(blocked_ns, other.blocked_ns);
  add_or_forget(exposed_ns, other.exposed_ns);
}

std::string place_of(const Where& where) {
  if (!where.file && where.forward_site) return *where.forward_site;
  return where.site;
}

bool has_whole_steps(const Report& report) {
  return report.steps && report.steps->whole_count > 0;
}

std::vector<Item> items_of(const Report& report, Unit unit) {
  const bool is_step = unit == Unit::kStep;
  const double divisor = is_step ? static_cast<double>(report.steps->whole_count) : 1;
  std::vector<Item> items;
  for (const Site& site : report.sites) {
    add_unless_idle(items, Item{site, site.direction, site.src_kind, site.dst_kind},
                    is_step ? transfer_figures(site.in_steps, divisor) : transfer_figures(site, divisor));
  }
  for (const SyncSite& site : report.sync_sites) {
    add_unless_idle(items, Item{site}, is_step ? sync_figures(site.in_steps, divisor) : sync_figures(site, divisor));
  }
  return items;
}

}  // namespace turnpike::analyze
