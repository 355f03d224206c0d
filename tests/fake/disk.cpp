// A disk that fills up or stalls, for a process that loads this first (LD_PRELOAD). The recorder alone writes by writev
// and asks by statvfs.
//
//   FAKE_DISK_LOW_AFTER=N     the Nth question, and each later one, hears that little is free
//   FAKE_DISK_BYTES=N         a file takes no more than so many bytes (ENOSPC)
//   FAKE_DISK_STALL_MS=N      the tenth write takes so long
//   FAKE_DISK_HANGS_WHILE=P   no write ends while there is a file at this path
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

// -1: not set.
long long number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? -1 : std::atoll(text);
}

std::atomic<long long> g_questions{0};
std::atomic<long long> g_writes{0};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int statvfs(const char*, struct statvfs* disk) {
  const long long low_after = number("FAKE_DISK_LOW_AFTER");
  const bool is_low = low_after >= 0 && ++g_questions >= low_after;
  *disk = {};
  disk->f_frsize = disk->f_bsize = 4096;
  disk->f_blocks = 1 << 28;
  disk->f_bavail = is_low ? 1 << 17 : 1 << 27;  // 512 MiB, 512 GiB
  return 0;
}

__attribute__((visibility("default"))) ssize_t writev(int file, const struct iovec* parts, int count) {
  const long long stall_ms = number("FAKE_DISK_STALL_MS");
  if (stall_ms >= 0 && ++g_writes == 10) usleep(static_cast<useconds_t>(stall_ms * 1000));
  const char* hangs_while = std::getenv("FAKE_DISK_HANGS_WHILE");
  while (hangs_while != nullptr && access(hangs_while, F_OK) == 0) usleep(1000);
  const long long most_bytes = number("FAKE_DISK_BYTES");
  struct stat about{};
  if (most_bytes >= 0 && fstat(file, &about) == 0) {
    long long total = about.st_size;
    for (int i = 0; i < count; ++i) total += static_cast<long long>(parts[i].iov_len);
    if (total > most_bytes) {
      errno = ENOSPC;
      return -1;
    }
  }
  return syscall(SYS_writev, file, parts, count);
}
}
