#include "report/text/item_text.h"

#include "report/text/terminal_sections.h"

namespace turnpike::report {

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
