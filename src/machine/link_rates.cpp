// Looks devices up among the kept rates.
#include "machine/link_rates.h"

#include <utility>

#include "machine/link_cache.h"

namespace turnpike::machine {

Result<LinkRates> kept_link_rates() {
  auto links = read_link_cache(link_cache_path());
  if (!links) return links.error();
  return LinkRates([kept = std::move(*links)](const std::string& device, const std::string& host) {
    const KeptLink* link = find_link(kept, device, host);
    return link == nullptr ? LinkRate{} : LinkRate{link->h2d_pinned_gbps, link->d2h_pinned_gbps, link->d2h_cached_gbps};
  });
}

}  // namespace turnpike::machine
