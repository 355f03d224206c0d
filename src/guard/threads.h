// Which blocks a thread is in: its own, those that any thread entered for all of them, and for a thread of autograd
// those of the thread that waits for its backward.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "guard/scope.h"

namespace turnpike::guard {

using Scopes = std::vector<std::shared_ptr<Scope>>;  // in the order in which they were entered

// Whether a block was entered anywhere: the one thing that a call asks when nothing is guarded.
bool is_anything_guarded() noexcept;
// Whether scopes_of_this_thread() are any.
bool is_this_thread_guarded() noexcept;

// The calling thread enters a block. Never 0. Throws std::bad_alloc.
std::uint64_t enter(std::shared_ptr<Scope> scope);
// The block is in force for nobody, then again for the calling thread and the context that it executes in.
void pause(std::uint64_t number) noexcept;
void resume(std::uint64_t number) noexcept;
// Leaves it, from any thread: a generator may be closed by another one. nullptr when it was left already.
std::shared_ptr<Scope> leave(std::uint64_t number);

// The block around the whole process, which TURNPIKE_GUARD opens. It holds for all threads, unless its rules say that
// it is for the main one.
void enter_everywhere(std::shared_ptr<Scope> scope);
std::shared_ptr<Scope> everywhere() noexcept;

// The blocks that the calling thread is in now, outermost first: those of the task of asyncio that it runs.
Scopes scopes_of_this_thread();

// By what name a thread leaves a mark that PyTorch takes along to autograd's threads (torch._C._stash_obj_in_tls).
std::string autograd_mark(long thread_id);

}  // namespace turnpike::guard
