// The writer: one writev per chunk, and a clean cut behind the last whole chunk when one fails.
#include "trace/writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/crc32c.h"
#include "base/high_number.h"

namespace turnpike::trace {
namespace {

constexpr int kMaxParts = 3;  // header, payload, padding

// Steps over the first `count` bytes of `parts`.
void skip(iovec* parts, int part_count, std::size_t count) noexcept {
  for (int i = 0; i < part_count && count > 0; ++i) {
    const std::size_t step = count < parts[i].iov_len ? count : parts[i].iov_len;
    parts[i].iov_base = static_cast<char*>(parts[i].iov_base) + step;
    parts[i].iov_len -= step;
    count -= step;
  }
}

// Returns how many of the bytes the file took; fewer than all with errno set.
std::size_t write_all(int file, iovec* parts, int part_count, std::size_t total) noexcept {
  std::size_t done = 0;
  while (done < total) {
    const ssize_t count = ::writev(file, parts, part_count);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
      skip(parts, part_count, static_cast<std::size_t>(count));
    } else if (count == 0) {
      errno = EIO;  // a regular file that takes nothing and gives no reason: do not spin
      break;
    } else if (errno != EINTR) {
      break;
    }
  }
  return done;
}

// A write beyond RLIMIT_FSIZE would raise SIGXFSZ, which by default kills the user's program.
bool is_within_limit(std::uint64_t end_bytes) noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end_bytes <= limit.rlim_cur;
}

std::uint32_t chunk_crc(const ChunkHeader& header, const void* payload, std::size_t size, const void* padding,
                        std::size_t padding_bytes) noexcept {
  static_assert(offsetof(ChunkHeader, size) == offsetof(ChunkHeader, type) + sizeof header.type);
  std::uint32_t crc = crc32c(&header.type, sizeof header.type + sizeof header.size);
  crc = crc32c(payload, size, crc);
  return crc32c(padding, padding_bytes, crc);
}

}  // namespace

bool Writer::open(const char* path, const FileHeader& header) noexcept {
  close();
  FileHeader full = header;
  std::memcpy(full.magic, kFileMagic, sizeof full.magic);
  full.version = kFormatVersion;
  full.header_bytes = sizeof full;
  int file = -1;
  do {
    file = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  } while (file < 0 && errno == EINTR);
  if (file < 0) return false;
  iovec part{&full, sizeof full};
  const bool fits = is_within_limit(sizeof full);
  if (!fits || write_all(file, &part, 1, sizeof full) != sizeof full) {
    const int reason = fits ? errno : EFBIG;
    ::close(file);
    ::unlink(path);  // ours for certain: O_EXCL made it
    errno = reason;
    return false;
  }
  if (!start(file, path)) {
    const int reason = errno;
    if (reason != EBADF) ::close(file);  // else it is the program's number by now
    ::unlink(path);
    errno = reason;
    return false;
  }
  end_bytes_ = written_bytes_ = sizeof full;
  return true;
}

bool Writer::start(int file, const char* path) noexcept {
  struct stat found{};
  if (::fstat(file, &found) != 0) return false;
  try {
    path_ = path;
  } catch (...) {
    errno = ENOMEM;
    return false;
  }
  const int number = under_high_number(file);
  if (number < 0) return false;
  file_ = number;
  identity_ = {found.st_dev, found.st_ino};
  last_errno_ = 0;
  lost_bytes_ = 0;
  return true;
}

bool Writer::is_own(int file) const noexcept {
  struct stat found{};
  return ::fstat(file, &found) == 0 && FileIdentity{found.st_dev, found.st_ino} == identity_;
}

// What has our number now is not closed: it is somebody else's.
bool Writer::has_own_file() noexcept {
  if (is_own(file_)) return true;
  const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  if (!is_own(file)) {
    ::close(file);
    errno = ESTALE;
    return false;
  }
  const int number = under_high_number(file);
  if (number < 0) return false;
  file_ = number;
  return true;
}

bool Writer::resume(const char* path, const FileIdentity& identity, std::uint64_t bytes) noexcept {
  close();
  const int file = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  struct stat found{};
  const bool is_known = ::fstat(file, &found) == 0 && FileIdentity{found.st_dev, found.st_ino} == identity &&
                        static_cast<std::uint64_t>(found.st_size) >= bytes;
  if (!is_known || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    const int reason = is_known ? errno : ESTALE;
    ::close(file);
    errno = reason;
    return false;
  }
  if (!start(file, path)) {
    if (errno != EBADF) ::close(file);  // else it is the program's number by now
    return false;
  }
  end_bytes_ = written_bytes_ = bytes;
  return true;
}

bool Writer::append(ChunkType type, const void* payload, std::size_t size) noexcept {
  static constexpr char kPadding[8] = {};
  const std::size_t padding_bytes = (8 - size % 8) % 8;
  const std::size_t total = sizeof(ChunkHeader) + size + padding_bytes;
  if (file_ < 0 || size > kMaxChunkBytes) {
    last_errno_ = file_ < 0 ? EBADF : EMSGSIZE;
    lost_bytes_ += total;
    return false;
  }
  const int callers_errno = errno;
  ChunkHeader header{kChunkMagic, type, static_cast<std::uint32_t>(size + padding_bytes), 0};
  header.crc = chunk_crc(header, payload, size, kPadding, padding_bytes);
  iovec parts[kMaxParts] = {
      {&header, sizeof header}, {const_cast<void*>(payload), size}, {const_cast<char*>(kPadding), padding_bytes}};
  std::size_t done = 0;
  if (!has_own_file()) {
    // errno says why
  } else if (is_within_limit(end_bytes_ + total)) {
    done = write_all(file_, parts, kMaxParts, total);
  } else {
    errno = EFBIG;
  }
  if (done == total) {
    end_bytes_ += total;
    written_bytes_ += total;
  } else {
    last_errno_ = errno;
    lost_bytes_ += total;
    if (done > 0 && ::ftruncate(file_, static_cast<off_t>(end_bytes_)) != 0) end_bytes_ += done;
  }
  errno = callers_errno;
  return done == total;
}

void Writer::cut_back(std::uint64_t bytes) noexcept {
  const int callers_errno = errno;
  if (file_ >= 0 && bytes < end_bytes_ && has_own_file() && ::ftruncate(file_, static_cast<off_t>(bytes)) == 0) {
    const std::uint64_t taken = std::min(end_bytes_ - bytes, written_bytes_);
    written_bytes_ -= taken;
    lost_bytes_ += taken;
    end_bytes_ = bytes;
  }
  errno = callers_errno;
}

void Writer::close() noexcept {
  if (file_ < 0) return;
  const int callers_errno = errno;
  if (is_own(file_)) ::close(file_);  // not again after EINTR: on Linux the descriptor is gone by then
  errno = callers_errno;
  file_ = -1;
}

}  // namespace turnpike::trace
