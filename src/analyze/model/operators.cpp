// Parses the symbols of at::_ops and looks their structures up.
#include "analyze/model/operators.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace turnpike::analyze {
namespace {

struct OverloadedOperator {
  std::string_view structure;
  std::uint8_t name_bytes;
};

constexpr OverloadedOperator kOverloadedOperators[] = {
#include "analyze/model/operator_table.inc"
};

constexpr std::string_view kPrefix = "_ZN2at4_ops";

}  // namespace

std::optional<std::string_view> operator_structure(std::string_view symbol) {
  if (!symbol.starts_with(kPrefix)) return std::nullopt;
  symbol.remove_prefix(kPrefix.size());
  std::size_t length = 0;
  const auto [digits_end, error] = std::from_chars(symbol.data(), symbol.data() + symbol.size(), length);
  if (error != std::errc{}) return std::nullopt;
  symbol.remove_prefix(static_cast<std::size_t>(digits_end - symbol.data()));
  if (length >= symbol.size()) return std::nullopt;
  const std::string_view method = symbol.substr(length);
  if (!method.starts_with("4callE") && !method.starts_with("10redispatchE")) return std::nullopt;
  return symbol.substr(0, length);
}

std::string operator_name(std::string_view structure) {
  const auto* found = std::lower_bound(
      std::begin(kOverloadedOperators), std::end(kOverloadedOperators), structure,
      [](const OverloadedOperator& entry, std::string_view wanted) { return entry.structure < wanted; });
  const bool is_overloaded = found != std::end(kOverloadedOperators) && found->structure == structure;
  std::string name = "aten::";
  name += is_overloaded ? structure.substr(0, found->name_bytes) : structure;
  return name;
}

namespace {

// What a frame runs; nullopt when it is no operator. torch.profiler's list of operators holds the nodes of a backward
// pass too, whose names are of one part ("AddmmBackward0") or of autograd: those are what runs operators.
std::optional<std::string> operator_of(const trace::Frame& frame) {
  if (frame.kind == trace::FrameKind::kOperator) {
    const std::string_view name = frame.function;
    const bool is_of_autograd = name.starts_with("autograd::") || name.starts_with("torch::autograd::");
    return is_of_autograd || name.find("::") == std::string_view::npos ? std::nullopt : std::optional(frame.function);
  }
  if (frame.kind != trace::FrameKind::kNative) return std::nullopt;
  const auto structure = operator_structure(frame.function);
  return structure ? std::optional(operator_name(*structure)) : std::nullopt;
}

}  // namespace

Operators operators_of(std::span<const trace::Frame* const> frames) {
  Operators found;
  for (const trace::Frame* frame : frames) {
    // In a trace of torch.profiler Python can stand between operators: what is outside of it was not called by it.
    if (frame->kind == trace::FrameKind::kPython && found.innermost) break;
    auto name = operator_of(*frame);
    if (!name) continue;
    if (!found.innermost) found.innermost = name;
    found.outermost = std::move(name);
  }
  return found;
}

}  // namespace turnpike::analyze
