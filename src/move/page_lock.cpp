// The pages, the limits and the files behind memory, as Linux tells of them.
#include "move/page_lock.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "move/fresh_pages.h"

namespace turnpike::move {
namespace {

std::size_t page_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// The whole pages that the memory touches.
PageRange pages_of(void* memory, std::size_t size_bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t page = page_bytes();
  return {begin & ~(page - 1), (begin + size_bytes + page - 1) & ~(page - 1)};
}

// The file that a part of the memory belongs to; empty: none.
std::string file_behind(void* memory, std::size_t size_bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (!maps) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  char line[4352];
  while (std::fgets(line, sizeof line, maps.get()) != nullptr) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    unsigned long inode = 0;
    int path_at = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %lu %n", &from, &to, &inode, &path_at) < 3) continue;
    if (to <= begin || from >= begin + size_bytes || inode == 0) continue;
    std::string path = path_at > 0 ? line + path_at : "";
    while (!path.empty() && path.back() == '\n') path.pop_back();
    // Shared memory has an inode, and its pages are nobody else's file: DataLoader workers hand over in it.
    const bool is_shared_memory = path.starts_with("/dev/shm/") || path.starts_with("/memfd:") ||
                                  path.starts_with("/dev/zero") || path.starts_with("/SYSV");
    if (!is_shared_memory) return path;
  }
  return {};
}

// Whether most of the pages have not been touched yet, by a look at some of them.
bool is_untouched(const PageRange& range) {
  constexpr std::size_t kLooks = 64;
  const std::size_t page = page_bytes();
  const std::size_t pages = (range.end - range.begin) / page;
  std::size_t absent = 0;
  for (std::size_t look = 0; look < kLooks; ++look) {
    unsigned char is_resident = 1;
    const std::uintptr_t address = range.begin + pages * look / kLooks * page;
    if (mincore(reinterpret_cast<void*>(address), page, &is_resident) == 0 && (is_resident & 1) == 0) ++absent;
  }
  return absent > kLooks / 2;
}

std::string limit_text() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return " (ulimit -l is " + std::to_string(limit.rlim_cur / 1024) + " KiB)";
}

}  // namespace

Status PageLock::lock(Device& device, void* memory, std::size_t size_bytes, unsigned int threads) {
  if (size_bytes == 0) return {};
  if (const std::string file = file_behind(memory, size_bytes); !file.empty()) {
    return Error{"this memory is mapped from the file " + file +
                 ", and a file cannot be page-locked in place: copy it into memory first (tensor.clone())"};
  }
  const std::lock_guard lock(mutex_);
  if (locked_.count(memory) != 0) return Error{"this memory is page-locked by Turnpike already"};
  const PageRange pages = pages_of(memory, size_bytes);
  if (is_untouched(pages)) {
    advise_large_pages(memory, size_bytes);
    fault_in(pages, threads);
  }
  const cuda::DriverCode code = device.driver().mem_host_register(memory, size_bytes, cuda::kHostPortable);
  if (code == cuda::kHostMemoryAlreadyRegistered) {
    return Error{"this memory, or a part of a page of it, is page-locked already"};
  }
  if (code != 0) {
    return Error{"page-locking " + std::to_string(size_bytes) + " bytes failed" + limit_text() + ": " +
                 device.driver().describe(code)};
  }
  locked_.insert(memory);
  return {};
}

Status PageLock::unlock(Device& device, void* memory) {
  const std::lock_guard lock(mutex_);
  const auto locked = locked_.find(memory);
  if (locked == locked_.end()) return Error{"this memory was not page-locked by Turnpike"};
  const Status status =
      check(device.driver(), device.driver().mem_host_unregister(memory), "undoing the page lock", device.ordinal());
  if (status) locked_.erase(locked);
  return status;
}

}  // namespace turnpike::move
