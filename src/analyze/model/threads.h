// Which threads of a process launch work, and which of them are autograd's.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>

#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::analyze {

using Threads = std::unordered_set<std::uint32_t>;  // by the system's id

// Whether a call launches a kernel or a graph.
bool is_launch(const Call& call);

// The host of a process: the threads that launch, or all threads if none does.
Threads host_threads_of(const Timeline& timeline);

// Two questions about autograd have two answers.
//
// Is a call part of a backward pass? If the recording does not say so of the call itself, the thread's name does:
// PyTorch names the threads that it makes for backward passes, and they do nothing else. What a thread mostly does is
// no answer, because the main thread may run forward and backward passes.
Threads threads_named_for_autograd(const trace::Process& process, const Timeline& timeline);

// Which threads take turns with the one that runs forward passes? Those that were busy with backward passes: more of
// these calls belong to backward than to forward passes. A name is no answer, because files of other tools may lack it,
// and because nothing is known of turns if no call says which pass it belongs to.
Threads threads_busy_with_backward(const Timeline& timeline, std::span<const std::uint32_t> calls);

}  // namespace turnpike::analyze
