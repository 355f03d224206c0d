// The lines on the way from the start of a program to a call: its own, and those of libraries.
#pragma once

#include <string>
#include <string_view>

#include "analyze/report.h"
#include "trace/process.h"

namespace turnpike::analyze {

// Where a file of an installed package or the standard library belongs.
struct LibraryFile {
  std::string_view
      library;            // the package that is imported: "torch", "lightning", "threading"; empty: no library's file
  std::string_view path;  // inside of it: "optim/adam.py"
};
LibraryFile library_file(std::string_view file);

// Whether a frame stands between a program and what it called, and says nothing of either: a module's __call__, a
// decorator, the wrapper of an operator, an import, code that torch.compile made.
bool is_wrapper(const trace::Frame& frame);

// Whether a frame is a line on the way to a call: one of Python, and no wrapper.
bool is_on_path(const trace::Frame& frame);
PathFrame path_frame(const trace::Frame& frame);

}  // namespace turnpike::analyze
