// What the other threads of Python are about.
#pragma once

namespace turnpike::python {

// Whether the calling thread, which has the GIL, is the only one of Python that may call CUDA: as long as it keeps the
// GIL. Runs no code of Python, in the midst of which another thread could get it. Turnpike's copy threads count as
// others.
bool is_alone();

}  // namespace turnpike::python
