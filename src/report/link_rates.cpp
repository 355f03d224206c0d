// Finds the kept rate of the link that a run's devices have.
#include "report/link_rates.h"

#include <utility>

#include "report/link_cache.h"

namespace turnpike::report {
namespace {

// The rate of the link that all devices of the run have; unknown where they differ.
analyze::LinkRate common_rate(const analyze::Source& source, const analyze::LinkRates& rates) {
  analyze::LinkRate common;
  if (source.hosts.size() != 1) return common;
  for (std::size_t i = 0; i < source.devices.size(); ++i) {
    const analyze::LinkRate rate = rates(source.devices[i].name, source.hosts.front());
    if (i > 0 && (rate.h2d_gbps != common.h2d_gbps || rate.d2h_gbps != common.d2h_gbps)) return {};
    common = rate;
  }
  return common;
}

}  // namespace

void add_link_rates(analyze::Report& report, const analyze::LinkRates& rates) {
  const analyze::LinkRate rate = common_rate(report.source, rates);
  report.totals[static_cast<std::size_t>(analyze::Direction::kHostToDevice)].link_gbps = rate.h2d_gbps;
  report.totals[static_cast<std::size_t>(analyze::Direction::kDeviceToHost)].link_gbps = rate.d2h_gbps;
}

Result<analyze::LinkRates> kept_link_rates() {
  auto links = read_link_cache(link_cache_path());
  if (!links) return links.error();
  return analyze::LinkRates([kept = std::move(*links)](const std::string& device, const std::string& host) {
    const KeptLink* link = find_link(kept, device, host);
    return link == nullptr ? analyze::LinkRate{} : analyze::LinkRate{link->h2d_pinned_gbps, link->d2h_pinned_gbps};
  });
}

}  // namespace turnpike::report
