#include "record/collect/frame_naming.h"

#include <mutex>

#include "record/handover/own_thread.h"
#include "record/handover/wake_flag.h"

namespace turnpike::record {

struct FrameNaming::Shared {
  explicit Shared(StackTable& table) : stacks(table) {}

  // False: the table of stacks is left alone from here on.
  bool name_new() noexcept {
    const std::lock_guard lock(mutex);
    if (!has_ended) stacks.name_new(symbols);
    return !has_ended;
  }

  StackTable& stacks;
  WakeFlag is_asked;
  std::mutex mutex;  // guards what follows; held while frames are named
  ModuleSymbols symbols;
  bool has_ended = false;
};

void FrameNaming::start() {
  shared_ = std::make_shared<Shared>(stacks_);
  has_thread_ = start_own_thread<run>("turnpike-names", shared_) == 0;
}

void FrameNaming::ask() noexcept {
  if (shared_ == nullptr || !stacks_.has_unnamed()) return;
  if (has_thread_) {
    shared_->is_asked.set();
  } else {
    shared_->name_new();
  }
}

void FrameNaming::finish() noexcept {
  if (shared_ != nullptr) shared_->name_new();
}

void FrameNaming::end() noexcept {
  if (shared_ == nullptr) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->has_ended = true;
  }
  shared_->is_asked.set();
}

void FrameNaming::run(Shared& shared) noexcept {
  constexpr std::int64_t kForLongNs = 3'600'000'000'000;
  do {
    while (!shared.is_asked.wait(kForLongNs)) {
    }
    shared.is_asked.clear();
  } while (shared.name_new());
}

}  // namespace turnpike::record
