#include "record/collect/library_watch.h"

#include <mutex>
#include <utility>

#include "base/loaded_modules.h"
#include "record/handover/own_thread.h"
#include "record/handover/wake_flag.h"
#include "record/stacks/autograd.h"
#include "record/stacks/python_runtime.h"

namespace turnpike::record {
namespace {

// Ten wake-ups a second, each of which reads one number.
constexpr std::int64_t kPitchNs = 100'000'000;

}  // namespace

struct LibraryWatch::Shared {
  void (*look)();
  WakeFlag must_end;
  mutable std::mutex mutex;  // guards `versions`; nothing is called while it is held
  Metadata versions;
};

void LibraryWatch::start() {
  shared_ = std::make_shared<Shared>();
  shared_->look = look_;
  look(*shared_);
  // If no thread can be started, libraries that come later are not found.
  start_own_thread<run>("turnpike-loader", shared_);
}

void LibraryWatch::end() noexcept {
  if (shared_ != nullptr) shared_->must_end.set();
}

Metadata LibraryWatch::versions() const {
  if (shared_ == nullptr) return {};
  const std::lock_guard lock(shared_->mutex);
  return shared_->versions;
}

void LibraryWatch::look(Shared& shared) {
  find_python();
  find_autograd();
  if (shared.look != nullptr) shared.look();
  Metadata versions;
  add_versions(versions, nullptr);
  const std::lock_guard lock(shared.mutex);
  shared.versions = std::move(versions);
}

void LibraryWatch::run(Shared& shared) {
  unsigned long long seen = 0;  // libraries may have come since the first look
  int looks = 0;
  while (!shared.must_end.wait(kPitchNs)) {
    const unsigned long long loads = load_counts().loads;
    // Twice: a slot that was taken while another thread bound it may lead to the function again.
    if (loads != std::exchange(seen, loads)) looks = 2;
    if (looks == 0) continue;
    --looks;
    try {
      look(shared);
    } catch (...) {
      looks = 1;  // out of memory: once more
    }
  }
}

}  // namespace turnpike::record
