// A memfd that others reach through /proc: no file is left behind, however this process ends.
#include "cli/shared_status.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/shared_memory.h"
#include "record/kept_run.h"

namespace turnpike::cli {

Result<SharedStatus> SharedStatus::make() {
  const int descriptor = memfd_create(kStatusMemory, MFD_CLOEXEC);
  if (descriptor < 0) return Error{std::string("cannot make shared memory: ") + std::strerror(errno)};
  void* mapping = MAP_FAILED;
  if (ftruncate(descriptor, sizeof(TurnpikeStatus)) == 0) {
    mapping = mmap(nullptr, sizeof(TurnpikeStatus), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  if (mapping == MAP_FAILED) {
    const int code = errno;
    close(descriptor);
    return Error{std::string("cannot map shared memory: ") + std::strerror(code)};
  }
  return SharedStatus(descriptor, static_cast<TurnpikeStatus*>(mapping));
}

SharedStatus::SharedStatus(int descriptor, TurnpikeStatus* mapping)
    : descriptor_(descriptor),
      mapping_(mapping),
      path_("/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor)) {}

SharedStatus::SharedStatus(SharedStatus&& other) noexcept
    : descriptor_(other.descriptor_), mapping_(other.mapping_), path_(std::move(other.path_)) {
  other.mapping_ = nullptr;
}

SharedStatus::~SharedStatus() {
  if (mapping_ == nullptr) return;
  munmap(mapping_, sizeof(TurnpikeStatus));
  close(descriptor_);
}

TurnpikeStatus SharedStatus::read() const {
  static_assert(sizeof(TurnpikeStatus) % sizeof(std::uint64_t) == 0, "the counters are read one by one");
  TurnpikeStatus copy;
  auto* from = reinterpret_cast<const std::uint64_t*>(mapping_);
  auto* to = reinterpret_cast<std::uint64_t*>(&copy);
  for (std::size_t at = 0; at < sizeof copy / sizeof *to; ++at) to[at] = __atomic_load_n(from + at, __ATOMIC_RELAXED);
  return copy;
}

void SharedStatus::add(const TurnpikeStatus& amounts) const {
  auto* from = reinterpret_cast<const std::uint64_t*>(&amounts);
  auto* to = reinterpret_cast<std::uint64_t*>(mapping_);
  for (std::size_t at = 0; at < sizeof amounts / sizeof *to; ++at)
    __atomic_fetch_add(to + at, from[at], __ATOMIC_RELAXED);
}

void SharedStatus::raise_keep_number(std::uint64_t number) const {
  record::raise_keep_number(*mapping_, number);
}

}  // namespace turnpike::cli
