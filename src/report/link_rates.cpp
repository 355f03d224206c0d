// Finds the kept rate of the link that a run's devices have.
#include "report/link_rates.h"

#include "report/link_cache.h"

namespace turnpike::report {
namespace {

// The kept rate of the link that all devices of the run have; nullptr where they differ or none was measured.
const KeptLink* link_of(const analyze::Source& source, const std::vector<KeptLink>& links) {
  if (source.hosts.size() != 1) return nullptr;
  const KeptLink* common = nullptr;
  for (const analyze::Device& device : source.devices) {
    const KeptLink* link = find_link(links, device.name, source.hosts.front());
    if (link == nullptr || (common != nullptr && link != common)) return nullptr;
    common = link;
  }
  return common;
}

}  // namespace

Status add_link_rates(analyze::Report& report) {
  const auto links = read_link_cache(link_cache_path());
  if (!links) return links.error();
  const KeptLink* link = link_of(report.source, *links);
  if (link == nullptr) return {};
  report.totals[static_cast<std::size_t>(analyze::Direction::kHostToDevice)].link_gbps = link->h2d_pinned_gbps;
  report.totals[static_cast<std::size_t>(analyze::Direction::kDeviceToHost)].link_gbps = link->d2h_pinned_gbps;
  return {};
}

}  // namespace turnpike::report
