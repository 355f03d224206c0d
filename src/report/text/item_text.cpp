#include "report/text/item_text.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "report/text/terminal_sections.h"
#include "report/text/units.h"

namespace turnpike::report {

std::string amount_text(double amount) {
  const double whole = std::round(amount);
  if (std::fabs(amount - whole) > 1e-9 || std::fabs(whole) >= 1e15) return number_text(amount);
  return count_text(static_cast<std::uint64_t>(std::max(whole, 0.0)));
}

std::string bytes_text(double bytes) {
  // size_text() has no decimals below a kB.
  if (bytes > 0 && bytes < 1) return number_text(bytes) + " B";
  constexpr double kMost = 1.8e19;
  return size_text(static_cast<std::uint64_t>(std::min(std::round(std::max(bytes, 0.0)), kMost)));
}

std::string time_text(std::optional<double> duration_ns) {
  constexpr double kMost = 9.2e18;
  if (!duration_ns || !(std::fabs(*duration_ns) < kMost)) return kUnknownText;
  return duration_text(static_cast<std::int64_t>(std::llround(*duration_ns)));
}

std::string place_text(const analyze::Item& item) {
  const bool is_forward_line = !item.file && item.forward_site;
  if (is_forward_line && item.phase == analyze::Phase::kBackward) return *item.forward_site + " (bwd)";
  if (is_forward_line) return *item.forward_site;
  return !item.file && item.function ? *item.function : item.site;
}

std::string kind_text(const analyze::Item& item) {
  return item.direction ? words_for(*item.direction) : "sync";
}

std::string noun_of(const analyze::Item& item) {
  if (!item.direction) return "synchronisation";
  switch (*item.direction) {
    case analyze::Direction::kHostToDevice:
      return "upload";
    case analyze::Direction::kDeviceToHost:
      return "download";
    case analyze::Direction::kDeviceToDevice:
      return "copy inside the GPU";
    case analyze::Direction::kPeerToPeer:
      return "copy between GPUs";
    case analyze::Direction::kHostToHost:
      return "copy on the CPU";
    case analyze::Direction::kMemset:
      return "memset";
  }
  return "copy";
}

std::string code_text(const analyze::Item& item) {
  const std::string what = item.op ? *item.op : item.api.value_or("operator unknown");
  return item.function ? what + " in " + *item.function : what;
}

std::string memory_text(const analyze::Item& item) {
  if (item.is_sync()) return "";
  std::string to = item.dst_kind.value_or("unknown");
  if (item.direction == analyze::Direction::kMemset) return to;
  return item.src_kind.value_or("unknown") + " > " + to;
}

}  // namespace turnpike::report
