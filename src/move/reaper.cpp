// The thread asks after pauses that grow, and not at all while there is nothing to wait for.
#include "move/reaper.h"

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>

#include "move/cores.h"

namespace turnpike::move {
namespace {

// A question takes a microsecond.
constexpr std::chrono::milliseconds kShortestPause{1};
constexpr std::chrono::milliseconds kLongestPause{20};
// Of a call of the engine, which has more to do than to ask.
constexpr std::size_t kQuestionsOfACall = 8;

}  // namespace

std::vector<std::shared_ptr<void>> Holds::take_passed(std::size_t questions) {
  std::vector<std::shared_ptr<void>> passed;
  // Marks go before the owners do: an owner may be the last to hold the mark's device.
  std::erase_if(holds_, [&](Hold& hold) {
    if (questions == 0) return false;
    if (!hold.until->is_passed()) {
      --questions;
      return false;
    }
    passed.push_back(std::move(hold.owner));
    return true;
  });
  return passed;
}

void Holds::wait_until_passed() const {
  for (const Hold& hold : holds_) hold.until->wait_until_passed();
}

std::chrono::milliseconds pause_after(std::chrono::milliseconds pause, bool has_let_go) {
  return has_let_go ? kShortestPause : std::min(pause * 2, kLongestPause);
}

Reaper::~Reaper() {
  Holds holds;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_stopping = true;
    std::swap(holds, shared_->holds);
  }
  shared_->changed.notify_all();
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else if (thread_.joinable()) {
    thread_.join();
  }
  const InContext in_context(any_device_);
  holds.wait_until_passed();
}

void Reaper::hold(std::shared_ptr<Mark> until, std::shared_ptr<void> owner) {
  if (owner == nullptr) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->holds.add(std::move(until), std::move(owner));
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([shared = shared_, &any_device = any_device_] { work(shared, any_device); });
      } catch (const std::system_error&) {
        // The system allows no more threads: the next call lets go.
      }
    }
  }
  shared_->changed.notify_one();
}

void Reaper::reap() {
  std::vector<std::shared_ptr<void>> passed;
  const std::lock_guard lock(shared_->mutex);
  passed = shared_->holds.take_passed(kQuestionsOfACall);
}

void Reaper::work(const std::shared_ptr<Shared>& shared, const Device& any_device) {
  use_cores_of_process();
  any_device.driver().ctx_set_current(any_device.context());
  int mode = cuda::kCaptureModeRelaxed;  // to the end of the thread
  any_device.driver().thread_exchange_stream_capture_mode(&mode);
  std::chrono::milliseconds pause = kShortestPause;
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->is_stopping || !shared->holds.is_empty(); });
    shared->changed.wait_for(lock, pause, [&] { return shared->is_stopping; });
    if (shared->is_stopping) return;
    std::vector<std::shared_ptr<void>> passed = shared->holds.take_passed(SIZE_MAX);
    // A call of the engine may have let the last one go.
    pause = pause_after(pause, !passed.empty() || shared->holds.is_empty());
    lock.unlock();
    passed.clear();  // maybe the end of the device
    lock.lock();
  }
}

}  // namespace turnpike::move
