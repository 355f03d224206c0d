// The list of functions of PyTorch that an exception may leave, and what every other native frame does with one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::guard {

enum class FrameRole : std::uint8_t {
  kOurs,           // of this library
  kTorch,          // of PyTorch: an exception passes, and objects release what the frame holds
  kSafeOperator,   // an operator that expects an error of each copy and wait that it makes
  kOtherOperator,  // any other operator, which may have called a C library such as MAGMA
  kWait,           // a function of libc10_cuda that only waits
  kAllocator,      // the rest of libc10_cuda: an exception leaves its tables half changed
  kBinding,        // of libtorch_python: if CPython called it, it turns an exception into a Python error
  kEngine,         // autograd's loop, which keeps an exception for backward()
  kPython,         // of CPython: an exception would skip the interpreter's own bookkeeping
  kOther,
};

struct FrameFunction {
  FrameRole role = FrameRole::kOther;
  std::string op;  // "aten::item"; empty: no operator of PyTorch
};

// Of a function of a library, neither this one nor CPython's, by its exported name; "": it has none. Throws
// std::bad_alloc.
FrameFunction function_of(std::string_view library_path, std::string_view symbol);

// Of the function that begins at this address. Asks the loader once for each function. Any thread. Throws
// std::bad_alloc.
const FrameFunction& frame_function(void* function);

}  // namespace turnpike::guard
