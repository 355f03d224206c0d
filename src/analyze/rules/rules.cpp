// The list of the rules.
#include "analyze/rules/rules.h"

#include <array>

namespace turnpike::analyze {

std::span<const Rule> all_rules() {
  static constexpr std::array kRules = {
      Rule{"pageable_async_copy", find_pageable_async_copy},
      Rule{"blocking_copy", find_blocking_copy},
      Rule{"implicit_sync", find_implicit_sync},
      Rule{"needless_explicit_sync", find_needless_explicit_sync},
      Rule{"repeated_upload", find_repeated_upload},
      Rule{"round_trip", find_round_trip},
      Rule{"many_small_copies", find_many_small_copies},
      Rule{"copy_on_compute_stream", find_copy_on_compute_stream},
      Rule{"peer_copy_serialised", find_peer_copy_serialised},
      Rule{"strided_or_converting_copy", find_strided_or_converting_copy},
      Rule{"copies_inside_gpu", find_copies_inside_gpu},
      Rule{"exposed_collectives", find_exposed_collectives},
      Rule{"slow_link", find_slow_link},
      Rule{"wrong_numa_node", find_wrong_numa_node},
      Rule{"pinning_in_loop", find_pinning_in_loop},
      Rule{"slow_load", find_slow_load},
      Rule{"late_loader", find_late_loader},
      Rule{"cpu_work", find_cpu_work},
      Rule{"late_weights", find_late_weights},
      Rule{"launch_bound", find_launch_bound},
      Rule{"checkpoint_blocks_step", find_checkpoint_blocks_step},
      Rule{"copies_in_step", find_copies_in_step},
      Rule{"alloc_free_sync", find_alloc_free_sync},
      Rule{"unsafe_read", find_unsafe_read},
  };
  return kRules;
}

}  // namespace turnpike::analyze
