// Decides on a crossing: whether it may happen, is noted, or raises an exception where it is called.
#pragma once

#include <cstdint>

#include "guard/crossing.h"
#include "guard/place.h"
#include "guard/threads.h"

namespace turnpike::guard {

// The blocks that the calling thread is in. nullptr: none, or the call is one of the judge's own. Valid until the
// thread's next call.
const Reach* guarding_reach(ThisThread& thread) noexcept;

// Whether rules may concern a call of these kinds, or something waits to be raised. Else there is nothing to find out
// about the call.
bool is_concerned(const Reach& reach, Kinds possible) noexcept;

// Where a call is made, once it was looked up.
struct Where {
  PlaceLately* at = nullptr;
  std::uintptr_t evaluator = 0;
  // What is thrown is thrown behind the call: an operator that waits has a copy under way, into memory that the
  // exception releases.
  bool must_wait = false;
};

// nullptr: it may happen. Else the text to throw, valid until the thread's next call. Nothing leaves by an exception:
// out of memory, a crossing happens.
const char* judge(const Crossing& crossing, const Reach& reach, Where* where = nullptr) noexcept;
const char* judge(const Crossing& crossing) noexcept;

// Whether the rule on kPageable cannot stop the next call. If so, the driver is asked about its memory after the call.
bool can_ask_later(const Reach& reach) noexcept;
// Notes such a call once it was made. `where`: what judge() filled in before it.
void note_pageable(const Crossing& crossing, const Reach& reach, const Where& where) noexcept;

}  // namespace turnpike::guard
