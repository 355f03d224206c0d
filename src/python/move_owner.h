// Holds Python objects for as long as a transfer needs their memory, and lets them go where that cannot deadlock.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

namespace turnpike::python {

// A reference to `object` that any thread may drop, with or without the GIL and whatever locks it holds: dropping it
// only puts the object on a list. Calls of the bindings and the interpreter's main thread empty the list.
std::shared_ptr<void> hold(nanobind::object object);

// Lets go what is on the list. Needs the GIL.
void drop_released();

// From the first call on, is_forked_child() can tell. Needs the GIL.
void watch_forks();

// Whether this process was forked from one that called watch_forks(). What the parent opened must not be touched, not
// even be destroyed: its threads are not here, and CUDA does not work.
bool is_forked_child();

}  // namespace turnpike::python
