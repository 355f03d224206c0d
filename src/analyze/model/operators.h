// The PyTorch operator behind a frame: at::_ops::to_dtype_layout::call is aten::to; other tools' files name it
// outright.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trace/process.h"

namespace turnpike::analyze {

// STRUCT of a mangled at::_ops::STRUCT::call or at::_ops::STRUCT::redispatch; nullopt for every other symbol.
std::optional<std::string_view> operator_structure(std::string_view symbol);

// "aten::to" for "to_dtype_layout", "aten::add_" for "add__Tensor". A structure that PyTorch's list
// (operator_table.inc) does not hold with an overload is the name itself.
std::string operator_name(std::string_view structure);

struct Operators {
  std::optional<std::string> outermost;  // what the innermost line of Python called, or the node of a backward pass
  std::optional<std::string> innermost;
};

// `frames`: innermost first.
Operators operators_of(std::span<const trace::Frame* const> frames);

}  // namespace turnpike::analyze
