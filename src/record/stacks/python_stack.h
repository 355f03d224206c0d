// The Python frames of the calling thread: walked without the GIL, named only when asked.
#pragma once

#include "record/stacks/python_chain.h"

namespace turnpike::record {

// The calling thread's frames; count is 0 when it has none or this process has no Python that is understood.
//
// Why this is safe without the GIL: the calling thread is inside C code, so nobody moves its chain of frames, and its
// frames hold references to their code objects and those to their strings. The exception is an interpreter that ends:
// it frees the frames of threads that still run (daemons, as a DataLoader's pinning thread). `python_stays` says that
// it does not end now (PythonStays). Else a thread that is not the main one and does not hold the GIL reads its frames
// through the kernel, which cannot fault, and believes them only when the interpreter was not ending afterwards. That
// costs such threads one system call a page of frames, 5 to 10 us a walk.
void walk_python_stack(PythonStack& stack, bool python_stays) noexcept;

// Of the calling thread, which is then the one that ends Python.
bool is_main_thread() noexcept;

// The names of a frame just walked, in UTF-8. Throws std::bad_alloc.
void describe(const PythonFrame& frame, PythonFrameText& text);

}  // namespace turnpike::record
