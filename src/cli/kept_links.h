// What is kept of measured links.
#pragma once

#include <vector>

#include "machine/link_cache.h"
#include "move/link_rate.h"

namespace turnpike::cli {

// One entry a device name: reports know devices by that. Of several the fastest, which is what a link of that kind can
// do. Of this machine, and of now.
std::vector<machine::KeptLink> kept_links_of(const std::vector<move::LinkRate>& links);

}  // namespace turnpike::cli
