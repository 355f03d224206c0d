// How the bindings turn an Error into the exception turnpike.Error.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "base/result.h"
#include "report/text/text_width.h"

namespace turnpike::python {

// Becomes turnpike.Error. Names of files in the message need not be text: what is none is escaped.
struct PythonError : std::runtime_error {
  explicit PythonError(const std::string& message) : std::runtime_error(cleaned(message)) {}
};

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw PythonError(result.error().message);
  return std::move(*result);
}

inline void throw_unless_ok(const Status& status) {
  if (!status) throw PythonError(status.error().message);
}

}  // namespace turnpike::python
