// Finds the rate of the link that a run's devices have.
#include "analyze/link_rates.h"

namespace turnpike::analyze {
namespace {

// The rate of the link that all devices of the run have; unknown where they differ.
machine::LinkRate common_rate(const Source& source, const machine::LinkRates& rates) {
  machine::LinkRate common;
  if (source.hosts.size() != 1) return common;
  for (std::size_t i = 0; i < source.devices.size(); ++i) {
    const machine::LinkRate rate = rates(source.devices[i].name, source.hosts.front());
    if (i > 0 && (rate.h2d_gbps != common.h2d_gbps || rate.d2h_gbps != common.d2h_gbps)) return {};
    common = rate;
  }
  return common;
}

}  // namespace

void add_link_rates(Report& report, const machine::LinkRates& rates) {
  const machine::LinkRate rate = common_rate(report.source, rates);
  report.totals[static_cast<std::size_t>(Direction::kHostToDevice)].link_gbps = rate.h2d_gbps;
  report.totals[static_cast<std::size_t>(Direction::kDeviceToHost)].link_gbps = rate.d2h_gbps;
}

}  // namespace turnpike::analyze
