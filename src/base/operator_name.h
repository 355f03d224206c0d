// The PyTorch operator behind a symbol: at::_ops::to_dtype_layout::call is aten::to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace turnpike {

// STRUCT of a mangled at::_ops::STRUCT::call or at::_ops::STRUCT::redispatch; nullopt for every other symbol.
std::optional<std::string_view> operator_structure(std::string_view symbol);

// "aten::to" for "to_dtype_layout", "aten::add_" for "add__Tensor". A structure that PyTorch's list
// (operator_table.inc) does not hold with an overload is the name itself.
std::string operator_name(std::string_view structure);

}  // namespace turnpike
