// The binding of tables.
#pragma once

#include <nanobind/nanobind.h>

namespace turnpike::python {

void bind_table(nanobind::module_& module);

}  // namespace turnpike::python
