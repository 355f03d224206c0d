// Takes an estate, opens and closes it.
#include "record/estate/estate.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/own_descriptor.h"
#include "base/shared_memory.h"
#include "record/session.h"

namespace turnpike::record {
namespace {

std::byte* map(int file, std::size_t offset, std::size_t bytes) {
  const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, file, static_cast<off_t>(offset));
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

// The number of an estate that was free, or kCount.
std::size_t take_free(int file) {
  std::byte* directory = map(file, 0, estate::kDirectoryBytes);
  if (directory == nullptr) return estate::kCount;
  auto* taken = reinterpret_cast<std::atomic<std::uint32_t>*>(directory);
  std::size_t number = 0;
  for (; number < estate::kCount; ++number) {
    std::uint32_t free = 0;
    if (taken[number].compare_exchange_strong(free, 1)) break;
  }
  munmap(directory, estate::kDirectoryBytes);
  return number;
}

// One of those that `turnpike record` offers; nullptr: there are none.
std::byte* take_shared() {
  const char* path = std::getenv(TURNPIKE_ENV_ESTATES);
  if (path == nullptr || *path == '\0') return nullptr;
  OwnDescriptor file = OwnDescriptor::open_shared(path, kEstatesMemory, O_RDWR);
  if (!file.is_open()) return nullptr;
  std::byte* base = nullptr;
  struct stat about{};
  if (fstat(file.number(), &about) == 0 && about.st_size == static_cast<off_t>(estate::kFileBytes)) {
    const std::size_t number = take_free(file.number());
    if (number < estate::kCount) base = map(file.number(), estate::offset_of(number), estate::kBytes);
  }
  file.close();
  return base;
}

void prepare(EstateHead& head) {
  struct stat about{};
  head.layout = kEstateLayout;
  head.pid = static_cast<std::uint32_t>(getpid());
  head.pid_namespace = stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
  pthread_mutexattr_t shared;
  pthread_mutexattr_init(&shared);
  pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&head.owner, &shared);
  pthread_mutexattr_destroy(&shared);
}

std::size_t size_of_log(std::span<std::byte> memory) {
  return ByteLog(memory, 0).size();
}

void copy_log(std::span<std::byte> to, std::span<std::byte> from, std::size_t size) {
  ByteLog(to, 0).append(from.data() + ByteLog::kHeadBytes, size);
}

}  // namespace

Estate::Estate() noexcept {
  static EstateHead without_memory;
  base_ = take_shared();
  is_shared_ = base_ != nullptr;
  if (!is_shared_) base_ = map(-1, 0, estate::kRingsAt);
  if (is_shared_) madvise(base_, estate::kBytes, MADV_DONTDUMP);
  head_ = base_ == nullptr ? &without_memory : new (base_) EstateHead;
  prepare(*head_);
}

void Estate::open(const char* path) noexcept {
  if (!is_shared_ || !set_file(0, path)) return;
  set_ending(EstateEnding::kNone);
  head_->state.store(EstateState::kOpen, std::memory_order_release);
}

bool Estate::set_file(std::uint32_t number, const char* path) noexcept {
  EstateFile& file = head_->files[number];
  struct stat about{};
  if (std::strlen(path) >= sizeof file.path || stat(path, &about) != 0) return false;
  std::strcpy(file.path, path);
  file.device = about.st_dev;
  file.inode = about.st_ino;
  return true;
}

void Estate::hold() noexcept {
  if (head_->state.load(std::memory_order_relaxed) != EstateState::kOpen) return;
  pthread_mutex_lock(&head_->owner);
  head_->state.store(EstateState::kHeld, std::memory_order_release);
}

void Estate::close() noexcept {
  const auto before = head_->state.exchange(EstateState::kClosed, std::memory_order_release);
  if (before == EstateState::kHeld) pthread_mutex_unlock(&head_->owner);
}

void Estate::commit(std::uint32_t area, const EstateCommit& commit) noexcept {
  head_->commits[area] = commit;
  head_->current.store(area, std::memory_order_release);
}

void Estate::before_fork() noexcept {
  if (!is_shared_) return;
  at_fork_ = {size_of_log(strings()), size_of_log(part(estate::frames)), size_of_log(part(estate::stacks))};
}

void Estate::leave_to_parent(bool records_again) noexcept {
  if (!is_shared_) return;
  std::byte* own = records_again ? take_shared() : nullptr;
  is_shared_ = own != nullptr;
  if (own == nullptr) own = map(-1, 0, estate::kBytes);
  if (own == nullptr) return;
  prepare(*new (own) EstateHead);
  if (records_again) {
    copy_log(estate::strings(own), strings(), at_fork_.strings);
    copy_log(estate::frames(own), part(estate::frames), at_fork_.frames);
    copy_log(estate::stacks(own), part(estate::stacks), at_fork_.stacks);
  }
  mremap(own, estate::kBytes, estate::kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, base_);
}

}  // namespace turnpike::record
