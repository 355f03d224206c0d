// The list of the rules, each of the file of its name.
#pragma once

#include <span>

#include "analyze/rules/rule.h"

namespace turnpike::analyze {

// In the order of the design. A rule's file is rules/NAME.cpp, its page docs/rules/NAME.md.
std::span<const Rule> all_rules();

void find_pageable_async_copy(const RuleInput& input, std::vector<Candidate>& found);
void find_blocking_copy(const RuleInput& input, std::vector<Candidate>& found);
void find_implicit_sync(const RuleInput& input, std::vector<Candidate>& found);
void find_needless_explicit_sync(const RuleInput& input, std::vector<Candidate>& found);
void find_repeated_upload(const RuleInput& input, std::vector<Candidate>& found);
void find_round_trip(const RuleInput& input, std::vector<Candidate>& found);
void find_many_small_copies(const RuleInput& input, std::vector<Candidate>& found);
void find_copy_on_compute_stream(const RuleInput& input, std::vector<Candidate>& found);
void find_peer_copy_serialised(const RuleInput& input, std::vector<Candidate>& found);
void find_strided_or_converting_copy(const RuleInput& input, std::vector<Candidate>& found);
void find_copies_inside_gpu(const RuleInput& input, std::vector<Candidate>& found);
void find_exposed_collectives(const RuleInput& input, std::vector<Candidate>& found);
void find_slow_link(const RuleInput& input, std::vector<Candidate>& found);
void find_wrong_numa_node(const RuleInput& input, std::vector<Candidate>& found);
void find_pinning_in_loop(const RuleInput& input, std::vector<Candidate>& found);
void find_slow_load(const RuleInput& input, std::vector<Candidate>& found);
void find_late_loader(const RuleInput& input, std::vector<Candidate>& found);
void find_cpu_work(const RuleInput& input, std::vector<Candidate>& found);
void find_late_weights(const RuleInput& input, std::vector<Candidate>& found);
void find_launch_bound(const RuleInput& input, std::vector<Candidate>& found);
void find_checkpoint_blocks_step(const RuleInput& input, std::vector<Candidate>& found);
void find_copies_in_step(const RuleInput& input, std::vector<Candidate>& found);
void find_alloc_free_sync(const RuleInput& input, std::vector<Candidate>& found);
void find_unsafe_read(const RuleInput& input, std::vector<Candidate>& found);

}  // namespace turnpike::analyze
