// Adds this process's counts to the shared page.
#include "record/collect/status_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "base/own_descriptor.h"
#include "base/shared_memory.h"
#include "record/kept_run.h"

namespace turnpike::record {
namespace {

constexpr std::size_t kFieldCount = sizeof(TurnpikeStatus) / sizeof(std::uint64_t);
static_assert(sizeof(TurnpikeStatus) % sizeof(std::uint64_t) == 0);

// Several processes add to the page at once.
void add(std::uint64_t& field, std::uint64_t amount) {
  if (amount != 0) std::atomic_ref(field).fetch_add(amount, std::memory_order_relaxed);
}

}  // namespace

void StatusPage::open() noexcept {
  if (page_ != nullptr) return;
  const char* path = std::getenv(TURNPIKE_ENV_STATUS);
  if (path == nullptr || *path == '\0') return;
  OwnDescriptor file = OwnDescriptor::open_shared(path, kStatusMemory, O_RDWR);
  if (!file.is_open()) return;
  struct stat about{};
  if (fstat(file.number(), &about) == 0 && about.st_size >= static_cast<off_t>(sizeof(TurnpikeStatus))) {
    void* memory = mmap(nullptr, sizeof(TurnpikeStatus), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
    if (memory != MAP_FAILED) page_ = static_cast<TurnpikeStatus*>(memory);
  }
  file.close();
}

void StatusPage::note_process() noexcept {
  if (page_ != nullptr) add(page_->process_count, 1);
}

void StatusPage::note_unusable() noexcept {
  if (page_ != nullptr) add(page_->unusable_count, 1);
}

void StatusPage::update(const TurnpikeStatus& now) noexcept {
  if (page_ == nullptr) return;
  auto* page = reinterpret_cast<std::uint64_t*>(page_);
  const auto* fresh = reinterpret_cast<const std::uint64_t*>(&now);
  const auto* old = reinterpret_cast<const std::uint64_t*>(&last_);
  for (std::size_t i = 0; i < kFieldCount; ++i) add(page[i], fresh[i] - old[i]);
  last_ = now;
}

std::uint64_t StatusPage::keep_number() const noexcept {
  return std::atomic_ref(shared().keep_number).load(std::memory_order_acquire);
}

void StatusPage::raise_keep_number(std::uint64_t number) noexcept {
  record::raise_keep_number(shared(), number);
}

bool StatusPage::take_trigger(std::uint64_t most) noexcept {
  const std::atomic_ref taken(shared().trigger_count);
  std::uint64_t before = taken.load(std::memory_order_relaxed);
  while (before < most) {
    if (taken.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

TurnpikeStatus to_status(const RecordCounts& counts, const LossCounters& losses, std::uint64_t written_bytes) noexcept {
  TurnpikeStatus status{};
  for (int i = 0; i < 6; ++i) {
    status.transfer_count[i] = counts.transfer_counts[i];
    status.transfer_bytes[i] = counts.transfer_bytes[i];
  }
  status.sync_count = counts.syncs;
  status.host_time_ns = static_cast<std::uint64_t>(counts.waiting_ns);
  status.kernel_count = counts.kernels;
  status.loss_count = losses.total();
  status.written_bytes = written_bytes;
  status.stopped_at_size_count = losses.get(trace::Loss::kStoppedAtSize);
  status.stopped_disk_low_count = losses.get(trace::Loss::kStoppedDiskLow);
  return status;
}

}  // namespace turnpike::record
