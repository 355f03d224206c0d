// A record library for the tests of `turnpike record`: it counts what the fake CUDA program tells it to, and records
// nothing.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "record/session.h"
#include "trace/format.h"

namespace {

TurnpikeStatus* g_status = nullptr;

void add(std::uint64_t& counter, std::uint64_t value) {
  __atomic_fetch_add(&counter, value, __ATOMIC_RELAXED);
}

std::uint64_t* counter_of(std::string_view name) {
  if (name == "process") return &g_status->process_count;
  if (name == "sync") return &g_status->sync_count;
  if (name == "host_time_ns") return &g_status->host_time_ns;
  if (name == "kernel") return &g_status->kernel_count;
  if (name == "loss") return &g_status->loss_count;
  if (name == "written") return &g_status->written_bytes;
  if (name == "unusable") return &g_status->unusable_count;
  if (name == "size") return &g_status->stopped_at_size_count;
  if (name == "disk") return &g_status->stopped_disk_low_count;
  return nullptr;
}

}  // namespace

extern "C" {

// One transfer of `value` bytes where `name` is "h2d" or "d2h", else `value` more of the counter. -1: there is no such
// name.
__attribute__((visibility("default"))) int fake_count(const char* name, std::uint64_t value) {
  const std::string_view wanted = name;
  if (wanted == "h2d" || wanted == "d2h") {
    const int direction = wanted == "h2d" ? 0 : 1;
    add(g_status->transfer_count[direction], 1);
    add(g_status->transfer_bytes[direction], value);
    return 0;
  }
  std::uint64_t* counter = counter_of(wanted);
  if (counter == nullptr) return -1;
  add(*counter, value);
  return 0;
}

__attribute__((visibility("default"))) int InitializeInjection(void) {
  const int descriptor = open(std::getenv(TURNPIKE_ENV_STATUS), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return 0;
  void* mapping = mmap(nullptr, sizeof(TurnpikeStatus), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (mapping == MAP_FAILED) return 0;
  g_status = static_cast<TurnpikeStatus*>(mapping);
  const std::string path = std::string(std::getenv(TURNPIKE_ENV_RUN)) + "/" + std::to_string(getpid()) + ".tpt";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return 0;
  std::fwrite(turnpike::trace::kFileMagic, 1, sizeof turnpike::trace::kFileMagic, file);
  std::fclose(file);
  return 1;
}
}
