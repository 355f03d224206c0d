// What the names in a trace of torch.profiler say: copies, frames, threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/format.h"

namespace turnpike::ingest {

struct CopyName {
  trace::CopyKind copy_kind = trace::CopyKind::kUnknown;
  trace::MemoryKind src_kind = trace::MemoryKind::kUnknown;
  trace::MemoryKind dst_kind = trace::MemoryKind::kUnknown;
};

// "Memcpy HtoD (Pageable -> Device)", and how AMD ("CopyHostToDevice") and Intel ("Memcpy M2D(...)") call it.
CopyName parse_copy_name(std::string_view name);

// "Memset (Device)".
trace::MemoryKind parse_memset_name(std::string_view name);

// A function of Python as the profiler names it.
struct PythonName {
  bool is_python = false;  // else a function of C ("<built-in function len>") or a module ("nn.Module: Linear_0")
  std::string_view file{};
  std::string_view function;     // all of the name when it is not Python
  std::uint32_t first_line = 0;  // of the `def`; the profiler does not know the line that executes
};

// "torch/optim/adam.py(214): step".
PythonName parse_python_name(std::string_view name);

// Without the address of an object: "<built-in method item of Tensor object at 0x7f7c44c7aee0>" is the same function
// for every tensor.
std::string_view without_address(std::string_view name);

// "pt_autograd_0" of "thread 679 (pt_autograd_0)".
std::string_view thread_name_of(std::string_view label);

// The text of a JSON string: escapes replaced. What is no valid escape stays as it stands.
std::string unescaped(std::string_view text);

}  // namespace turnpike::ingest
