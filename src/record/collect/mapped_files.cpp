// Reads /proc/self/maps.
#include "record/collect/mapped_files.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string_view>

#include "base/file_text.h"

namespace turnpike::record {
namespace {

constexpr std::uint64_t kLargeSourceBytes = 1u << 20;
constexpr std::int64_t kLookEveryNs = 250'000'000;
constexpr int kMostLooks = 64;
// Between two looks, and in all.
constexpr std::size_t kMostCopies = 4096;

struct FileRange {
  std::uint64_t start;
  std::uint64_t end;
};

// Of a file that holds data: not of a device, nor of memory that only has a name, as DataLoader workers share it.
bool is_data_file(std::string_view path) {
  return path.starts_with('/') && !path.starts_with("/dev/") && !path.starts_with("/memfd:") &&
         !path.starts_with("/SYSV") && !path.starts_with("/anon_hugepage");
}

// In the order of their addresses, as Linux lists them.
std::vector<FileRange> mapped_files(const std::string& maps) {
  std::vector<FileRange> ranges;
  std::istringstream file(file_text(maps));
  for (std::string line; std::getline(file, line);) {
    unsigned long long start = 0, end = 0;
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %*s %*s %*s %n", &start, &end, &path_at) != 2 || path_at == 0)
      continue;
    if (is_data_file(std::string_view(line).substr(static_cast<std::size_t>(path_at)))) ranges.push_back({start, end});
  }
  return ranges;
}

bool is_within(const std::vector<FileRange>& ranges, std::uint64_t address) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                      [](std::uint64_t value, const FileRange& range) { return value < range.start; });
  return after != ranges.begin() && address < std::prev(after)->end;
}

}  // namespace

void MappedFiles::restart() {
  noted_.clear();
  from_files_.clear();
  next_look_ns_ = 0;
  wait_ns_ = kFirstWaitNs;
  looks_left_ = kMostLooks;
}

void MappedFiles::note(const trace::CallRecord& call) {
  if (call.kind != trace::CallKind::kCopy || call.bytes < kLargeSourceBytes || call.bytes == trace::kUnknownSize)
    return;
  if (call.src == 0 || looks_left_ == 0 || noted_.size() >= kMostCopies) return;
  noted_.push_back({call.correlation, call.src});
}

void MappedFiles::look(std::int64_t now_ns) {
  if (noted_.empty() || now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + wait_ns_;
  wait_ns_ = std::min(2 * wait_ns_, kLookEveryNs);
  --looks_left_;
  const std::vector<FileRange> ranges = mapped_files(maps_);
  for (const Copy& copy : noted_) {
    if (from_files_.size() < kMostCopies && is_within(ranges, copy.source)) from_files_.push_back(copy.correlation);
  }
  noted_.clear();
}

void MappedFiles::put(Metadata& metadata) const {
  std::string text;
  for (const std::uint32_t correlation : from_files_) text += (text.empty() ? "" : " ") + std::to_string(correlation);
  if (!text.empty()) metadata["from_files"] = text;
}

}  // namespace turnpike::record
