// What the guard keeps of each thread and asks in each call: in one line of memory, found once a call.
#pragma once

#include <cstdint>

namespace turnpike::guard {

struct Found;

enum class Work : std::uint8_t { kUnknown, kAutograd, kPinning, kOther };

struct alignas(64) ThisThread {
  Found* found = nullptr;      // what reach_of_this_thread() found the last time
  long id = 0;                 // 0: not asked for
  Work work = Work::kUnknown;  // autograd_owner.h
  bool is_judging = false;     // a hook that is called meanwhile, as by what the judge itself asks, is not judged
  bool is_judged = false;      // what the recorder hears now was judged by a hook
  bool is_ending = false;      // others' destructors may still call us
};

// The calling thread's. A library that is loaded at run time has to call a function to find out where: what calls this
// more than once does so once.
__attribute__((const)) ThisThread& this_thread() noexcept;

}  // namespace turnpike::guard
