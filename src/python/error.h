// How the bindings turn an Error into the exception turnpike.Error.
#pragma once

#include <stdexcept>
#include <utility>

#include "base/result.h"

namespace turnpike::python {

// Becomes turnpike.Error.
struct PythonError : std::runtime_error {
  using std::runtime_error::runtime_error;
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
