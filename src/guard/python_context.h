// How far Python is, and which context of contextvars a thread executes in: each task of asyncio has one of its own.
#pragma once

#include <cstdint>

namespace turnpike::guard {

// Learns where a thread's state keeps its context, and a context the one around it, by looking for `inner`, inside of
// which this is called, and `outer` around that. False: not found there, and every context counts as the same.
bool learn_python_context(std::uintptr_t inner, std::uintptr_t outer) noexcept;

// Whether the interpreter is ending: nobody handles an exception any more.
bool is_python_ending() noexcept;

// The innermost context of the calling thread; 0: none, or not known.
std::uintptr_t python_context() noexcept;

// The state of the calling thread for is_inside(), which another thread may ask while this one waits in C. nullptr
// without Python.
const void* python_thread() noexcept;

// Of the thread's contexts, from the innermost out: what is_inside() answers does not change while this does not. Never
// 0.
std::uint64_t hash_of_contexts(const void* thread) noexcept;

// Whether the thread executes in `context` or in one that was entered inside of it. Always true for 0.
bool is_inside(std::uintptr_t context, const void* thread) noexcept;

}  // namespace turnpike::guard
