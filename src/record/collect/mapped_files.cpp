// Asks /proc/self/maps, or reads it.
#include "record/collect/mapped_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/file_text.h"
#include "base/own_descriptor.h"

namespace turnpike::record {
namespace {

constexpr std::uint64_t kLargeSourceBytes = 1u << 20;
constexpr std::int64_t kLookEveryNs = 250'000'000;
constexpr std::int64_t kOftenNs = 500'000'000;
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

// struct procmap_query of <linux/fs.h>, which older headers lack.
struct Query {
  std::uint64_t size = sizeof(Query);
  std::uint64_t flags = 0x20;  // PROCMAP_QUERY_FILE_BACKED_VMA
  std::uint64_t address = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t mapping_flags = 0;
  std::uint64_t page_bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t inode = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint32_t name_bytes = 0;
  std::uint32_t build_id_bytes = 0;
  std::uint64_t name = 0;
  std::uint64_t build_id = 0;
};
constexpr unsigned long kProcmapQuery = _IOWR('f', 17, Query);

enum class Answer : std::uint8_t { kNoFile, kFile, kRefused };

Answer ask(int maps, std::uint64_t address) {
  std::array<char, 4096> name{};  // PATH_MAX
  Query query;
  query.address = address;
  query.name = reinterpret_cast<std::uint64_t>(name.data());
  query.name_bytes = name.size();
  if (ioctl(maps, kProcmapQuery, &query) == 0) return is_data_file(name.data()) ? Answer::kFile : Answer::kNoFile;
  return errno == ENOENT || errno == ENAMETOOLONG ? Answer::kNoFile : Answer::kRefused;
}

bool is_within(const std::vector<FileRange>& ranges, std::uint64_t address) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                      [](std::uint64_t value, const FileRange& range) { return value < range.start; });
  return after != ranges.begin() && address < std::prev(after)->end;
}

// The mappings of the process at the time of one look.
class Mappings {
 public:
  // `has_queries`: the system answers for one address. False from its first refusal on.
  Mappings(const std::string& maps, bool& has_queries) : path_(maps), has_queries_(has_queries) {
    // Opened anew for each look: a descriptor that is kept would ask for the parent in a child.
    if (has_queries) maps_ = OwnDescriptor::open(maps.c_str(), O_RDONLY);
  }
  ~Mappings() { maps_.close(); }
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;

  bool has_file_at(std::uint64_t address) {
    if (has_queries_) {
      const Answer answer = maps_.is_open() ? ask(maps_.number(), address) : Answer::kRefused;
      if (answer != Answer::kRefused) return answer == Answer::kFile;
      has_queries_ = false;
    }
    if (!listed_) listed_ = mapped_files(path_);
    return is_within(*listed_, address);
  }

 private:
  const std::string& path_;
  bool& has_queries_;
  OwnDescriptor maps_;
  std::optional<std::vector<FileRange>> listed_;
};

}  // namespace

void MappedFiles::note(const trace::CallRecord& call) {
  if (call.kind != trace::CallKind::kCopy || call.bytes < kLargeSourceBytes || call.bytes == trace::kUnknownSize)
    return;
  if (call.src == 0 || looks_left_ == 0 || noted_.size() >= kMostCopies) return;
  noted_.push_back({call.correlation, call.src});
}

void MappedFiles::look(std::int64_t now_ns) {
  if (noted_.empty() || now_ns < next_look_ns_) return;
  if (first_look_ns_ < 0) first_look_ns_ = now_ns;
  --looks_left_;
  Mappings mappings(maps_, has_queries_);
  for (const Copy& copy : noted_) {
    if (from_files_.size() < kMostCopies && mappings.has_file_at(copy.source)) from_files_.push_back(copy.correlation);
  }
  const bool looks_often = has_queries_ && now_ns - first_look_ns_ < kOftenNs;
  next_look_ns_ = looks_often ? now_ns : now_ns + (has_queries_ ? kLookEveryNs : wait_ns_);
  wait_ns_ = std::min(2 * wait_ns_, kLookEveryNs);
  noted_.clear();
}

void MappedFiles::put(Metadata& metadata) const {
  std::string text;
  for (const std::uint32_t correlation : from_files_) text += (text.empty() ? "" : " ") + std::to_string(correlation);
  if (!text.empty()) metadata["from_files"] = text;
}

}  // namespace turnpike::record
