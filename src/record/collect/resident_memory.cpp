// Reads /proc/self/statm.
#include "record/collect/resident_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/own_descriptor.h"

namespace turnpike::record {
namespace {

constexpr std::int64_t kLookNs = 100'000'000;
constexpr std::int64_t kRecordNs = 1'000'000'000;
constexpr std::uint64_t kChangeBytes = std::uint64_t{1} << 20;

}  // namespace

std::optional<std::uint64_t> resident_bytes() noexcept {
  OwnDescriptor file = OwnDescriptor::open("/proc/self/statm", O_RDONLY);
  if (!file.is_open()) return std::nullopt;
  char text[128];
  const ssize_t size = ::read(file.number(), text, sizeof(text) - 1);
  file.close();
  if (size <= 0) return std::nullopt;
  text[size] = '\0';
  // "size resident shared ...", in pages.
  char* rest = nullptr;
  std::strtoull(text, &rest, 10);
  char* end = nullptr;
  const unsigned long long pages = std::strtoull(rest, &end, 10);
  if (end == rest) return std::nullopt;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::optional<std::uint64_t> MemoryWatch::look(std::int64_t since_start_ns, bool is_last) noexcept {
  const bool is_first = !looked_ns_;
  if (!is_first && !is_last && since_start_ns - *looked_ns_ < kLookNs) return std::nullopt;
  looked_ns_ = since_start_ns;
  const auto bytes = resident_bytes();
  if (!bytes) return std::nullopt;
  const std::uint64_t change = *bytes > recorded_bytes_ ? *bytes - recorded_bytes_ : recorded_bytes_ - *bytes;
  const bool is_due = since_start_ns - recorded_ns_ >= kRecordNs;
  if (!is_first && !is_last && !is_due && change <= kChangeBytes) return std::nullopt;
  recorded_ns_ = since_start_ns;
  recorded_bytes_ = *bytes;
  return bytes;
}

}  // namespace turnpike::record
