// Opens, closes, deletes and links files.
#include "record/collect/segment_ring.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/own_descriptor.h"

namespace turnpike::record {
namespace {

// The window is kept to an eighth: what is on the disk is at most this much longer.
constexpr int kParts = 8;

// 0, or an errno.
int copy_file(const char* from, const char* to, std::uint64_t bytes) noexcept {
  OwnDescriptor in = OwnDescriptor::open(from, O_RDONLY | O_NOFOLLOW);
  if (!in.is_open()) return errno;
  OwnDescriptor out = OwnDescriptor::open(to, O_WRONLY | O_CREAT | O_EXCL, 0644);
  int failure = out.is_open() ? 0 : errno;
  while (failure == 0 && bytes > 0) {
    const ssize_t count = ::sendfile(out.number(), in.number(), nullptr,
                                     static_cast<std::size_t>(std::min<std::uint64_t>(bytes, 1u << 30)));
    if (count > 0) bytes -= static_cast<std::uint64_t>(count);
    if (count == 0) failure = EIO;
    if (count < 0 && errno != EINTR) failure = errno;
  }
  in.close();
  out.close();
  return failure;
}

// One and the same file under two names, where the file system has that.
int share_file(const char* from, const char* to, std::uint64_t bytes) noexcept {
  return ::link(from, to) == 0 ? 0 : copy_file(from, to, bytes);
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

int append_metadata(const char* path, std::uint64_t bytes, const std::vector<std::byte>& metadata) noexcept {
  struct stat about{};
  if (::stat(path, &about) != 0) return errno;
  trace::Writer writer;
  if (!writer.resume(path, {about.st_dev, about.st_ino}, bytes)) return errno;
  return writer.append(trace::ChunkType::kMetadata, metadata.data(), metadata.size()) ? 0 : writer.last_errno();
}

}  // namespace

std::string SegmentRing::path_of(std::uint64_t number) const {
  char ending[40];
  std::snprintf(ending, sizeof ending, ".%0*llu%s", trace::kSegmentDigits, static_cast<unsigned long long>(number),
                trace::kSegmentExtension);
  return path_.substr(0, path_.rfind('.')) + ending;
}

bool SegmentRing::open(std::size_t which, std::uint64_t number, const trace::FileHeader& header) noexcept try {
  paths_[which] = path_of(number);
  starts_ns_[which] = header.start_realtime_ns;
  return writers_[which].open(paths_[which].c_str(), header);
} catch (...) {
  errno = ENOMEM;
  return false;
}

bool SegmentRing::start(const std::string& path, const trace::FileHeader& header, const Limits& limits) {
  path_ = path;
  header_ = header;
  number_ = 1;
  if (!open(0, number_, header)) return false;
  limits_ = limits;
  return true;
}

void SegmentRing::close() noexcept {
  for (trace::Writer& writer : writers_) writer.close();
}

// Also when the clock was set back.
bool SegmentRing::is_due(std::int64_t now_realtime_ns) const noexcept {
  const std::int64_t age_ns = now_realtime_ns - starts_ns_[current_];
  return age_ns >= limits_.last_ns / kParts || age_ns < 0 ||
         (limits_.max_bytes != 0 && writers_[current_].written_bytes() >= limits_.max_bytes / kParts);
}

bool SegmentRing::open_next(std::int64_t now_realtime_ns, std::int64_t now_monotonic_ns,
                            std::uint32_t next_correlation) noexcept {
  trace::FileHeader header = header_;
  header.start_realtime_ns = now_realtime_ns;
  header.start_monotonic_ns = now_monotonic_ns;
  header.reserved[0] = next_correlation;
  return open(1 - current_, number_ + 1, header);
}

void SegmentRing::turn_to_next() noexcept {
  trace::Writer& writer = writers_[current_];
  try {
    ended_.push_back({paths_[current_], starts_ns_[1 - current_], writer.written_bytes()});
    ended_bytes_ += writer.written_bytes();
  } catch (...) {
    // Without memory: nobody will know of it any more.
    ::unlink(paths_[current_].c_str());
  }
  all_bytes_ += writer.written_bytes();
  lost_bytes_ += writer.lost_bytes();
  writer.close();
  current_ = 1 - current_;
  ++number_;
}

void SegmentRing::delete_old(std::int64_t now_realtime_ns) noexcept {
  const auto is_over = [&](const Ended& segment) {
    const bool has_no_room = limits_.max_bytes != 0 && ended_bytes_ > limits_.max_bytes - limits_.max_bytes / kParts;
    return has_no_room || now_realtime_ns - segment.end_realtime_ns >= limits_.last_ns;
  };
  while (!ended_.empty() && is_over(ended_.front())) {
    ::unlink(ended_.front().path.c_str());
    ended_bytes_ -= ended_.front().bytes;
    ended_.pop_front();
  }
}

int SegmentRing::keep(const std::string& run, std::uint64_t definition_bytes,
                      const std::vector<std::byte>& metadata) const {
  std::vector<std::string> made;
  int failure = 0;
  for (const Ended& segment : ended_) {
    const std::string to = run + "/" + name_of(segment.path);
    failure = share_file(segment.path.c_str(), to.c_str(), segment.bytes);
    if (failure != EEXIST) made.push_back(to);
    if (failure != 0) break;
  }
  // Last, and at once: without it the segments are no recording yet.
  const std::string to = run + "/" + name_of(path_);
  const std::string partial = to + ".new";
  if (failure == 0) failure = copy_file(path_.c_str(), partial.c_str(), definition_bytes);
  if (failure == 0) failure = append_metadata(partial.c_str(), definition_bytes, metadata);
  if (failure == 0 && ::rename(partial.c_str(), to.c_str()) != 0) failure = errno;
  if (failure != 0) {
    ::unlink(partial.c_str());
    for (const std::string& file : made) ::unlink(file.c_str());
  }
  return failure;
}

}  // namespace turnpike::record
