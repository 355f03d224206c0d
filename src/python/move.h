// The bindings of the move engine: addresses, sizes and streams in, exceptions out. What they mean to tensors is said
// in python/turnpike/_move.
#pragma once

#include <nanobind/nanobind.h>

namespace turnpike::python {

// Adds MoveEngine, MoveTransfer, MovePieces, MovePlan and their functions to the extension.
void bind_move(nanobind::module_& module);

}  // namespace turnpike::python
