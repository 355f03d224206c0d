// Asks with move_pages, which moves nothing when it is given no nodes.
#include "record/collect/host_nodes.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/file_text.h"

namespace turnpike::record {
namespace {

// Smaller copies do not show how far their memory is.
constexpr std::uint64_t kLargeBytes = 1u << 20;
// Each costs a system call of about a microsecond, and a look at each later copy.
constexpr std::size_t kMostAddresses = 512;

}  // namespace

int ask_node(std::uint64_t address) {
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(address / page_bytes * page_bytes);
  int status = -ENOENT;
  if (syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &status, 0) != 0) return -errno;
  return status;
}

HostNodes::HostNodes(AskNode ask, const std::string& sysfs)
    : ask_(ask), has_one_node_(first_line_of(sysfs + "/devices/system/node/online") == "0") {}

void HostNodes::note(const trace::CallRecord& call) {
  if (call.kind != trace::CallKind::kCopy || call.bytes < kLargeBytes || call.bytes == trace::kUnknownSize) return;
  if (has_one_node_) return;
  note(call.src);
  note(call.dst);
}

void HostNodes::note(std::uint64_t address) {
  if (address == 0 || !why_not_.empty() || nodes_.size() >= kMostAddresses || nodes_.contains(address)) return;
  const int answer = ask_(address);
  if (answer == -EPERM || answer == -ENOSYS) {
    why_not_ = std::string("move_pages: ") + std::strerror(-answer);
    return;
  }
  nodes_[address] = answer >= 0 ? std::optional(static_cast<std::uint32_t>(answer)) : std::nullopt;
}

void HostNodes::put(Metadata& metadata) const {
  std::string text;
  if (has_one_node_) {
    text = "one node";
  } else if (!why_not_.empty()) {
    text = "unknown: " + why_not_;
  }
  for (const auto& [address, node] : nodes_) {
    if (!node) continue;
    char word[48];
    std::snprintf(word, sizeof(word), "%llx@%u", static_cast<unsigned long long>(address), *node);
    text += (text.empty() ? "" : " ") + std::string(word);
  }
  if (!text.empty()) metadata["host_memory"] = text;
}

}  // namespace turnpike::record
