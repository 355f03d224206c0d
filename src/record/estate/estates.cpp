// Which estates are taken, and whose owners have died.
#include "record/estate/estates.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/shared_memory.h"
#include "record/estate/estate_memory.h"
#include "record/estate/unwritten.h"

namespace turnpike::record {
namespace {

// A part of the file in memory.
class Mapping {
 public:
  Mapping(int file, std::size_t offset, std::size_t bytes)
      : memory_(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, static_cast<off_t>(offset))),
        bytes_(bytes) {}
  ~Mapping() {
    if (memory_ != MAP_FAILED) munmap(memory_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::byte* base() const { return memory_ == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory_); }

 private:
  void* memory_;
  std::size_t bytes_;
};

// Only the kernel says so. A mutex that is free has an owner that let go of it: it has closed its estate just now.
bool has_owner_died(pthread_mutex_t& owner) {
  const int locked = pthread_mutex_trylock(&owner);
  if (locked == EOWNERDEAD) pthread_mutex_consistent(&owner);
  if (locked == 0 || locked == EOWNERDEAD) pthread_mutex_unlock(&owner);
  return locked == EOWNERDEAD;
}

// Only where process ids mean the same there and here.
bool is_process_gone(const EstateHead& head) {
  struct stat about{};
  const bool is_known = stat("/proc/self/ns/pid", &about) == 0 && about.st_ino == head.pid_namespace;
  return is_known && head.pid != 0 && kill(static_cast<pid_t>(head.pid), 0) != 0 && errno == ESRCH;
}

}  // namespace

std::optional<Estates> Estates::make() {
  // Beyond the limit, a process is killed by SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < estate::kFileBytes) return std::nullopt;
  const int file = memfd_create(kEstatesMemory, MFD_CLOEXEC);
  if (file < 0) return std::nullopt;
  if (ftruncate(file, static_cast<off_t>(estate::kFileBytes)) != 0) {
    close(file);
    return std::nullopt;
  }
  return Estates(file);
}

Estates::Estates(int file) : file_(file), path_("/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file)) {}

Estates::Estates(Estates&& other) noexcept : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)) {}

Estates::~Estates() {
  if (file_ >= 0) close(file_);
}

Estates::Settled Estates::settle() {
  Settled settled;
  const Mapping directory(file_, 0, estate::kDirectoryBytes);
  if (directory.base() == nullptr) return settled;
  auto* taken = reinterpret_cast<std::atomic<std::uint32_t>*>(directory.base());
  for (std::size_t number = 0; number < estate::kCount; ++number) {
    if (taken[number].load() != 0) settle_one(number, settled);
  }
  return settled;
}

void Estates::settle_one(std::size_t number, Settled& settled) {
  bool is_left = false;
  {
    const Mapping memory(file_, estate::offset_of(number), estate::kBytes);
    if (memory.base() == nullptr) return;
    auto& head = *reinterpret_cast<EstateHead*>(memory.base());
    if (head.layout != kEstateLayout) return;  // of a process that has only just begun, or of another version
    const EstateState state = head.state.load(std::memory_order_acquire);
    is_left = state == EstateState::kHeld ? has_owner_died(head.owner) : is_process_gone(head);
    // Read again: it may have died when it had closed its file.
    if (head.state.load(std::memory_order_acquire) != EstateState::kClosed && is_left)
      write_unwritten(memory.base(), settled.added);
    if (state != EstateState::kClosed && !is_left) settled.has_recording = true;
  }
  if (is_left) free(number);
}

void Estates::free(std::size_t number) {
  const auto at = static_cast<off_t>(estate::offset_of(number));
  if (fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, static_cast<off_t>(estate::kBytes)) != 0) return;
  const Mapping directory(file_, 0, estate::kDirectoryBytes);
  if (directory.base() == nullptr) return;
  reinterpret_cast<std::atomic<std::uint32_t>*>(directory.base())[number].store(0);
}

}  // namespace turnpike::record
