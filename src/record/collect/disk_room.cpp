// Asks the file system. A call of some microseconds on a local disk, and of a round trip on others.
#include "record/collect/disk_room.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

namespace turnpike::record {

bool is_disk_low(std::uint64_t free_bytes, std::uint64_t disk_bytes) noexcept {
  constexpr std::uint64_t kMostKept = std::uint64_t{1} << 30;
  return free_bytes < std::min(kMostKept, disk_bytes / 20);
}

bool is_disk_low(const char* path) noexcept {
  struct statvfs disk{};
  if (statvfs(path, &disk) != 0) return false;
  return is_disk_low(std::uint64_t{disk.f_bavail} * disk.f_frsize, std::uint64_t{disk.f_blocks} * disk.f_frsize);
}

bool is_out_of_room(int error) noexcept {
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

}  // namespace turnpike::record
