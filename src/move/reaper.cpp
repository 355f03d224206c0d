// The thread asks after pauses that grow: a question takes a microsecond.
#include "move/reaper.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

#include "move/cores.h"

namespace turnpike::move {
namespace {

constexpr std::chrono::milliseconds kShortestPause{1};
constexpr std::chrono::milliseconds kLongestPause{20};
// Of a call of the engine, which has more to do than to ask.
constexpr std::size_t kQuestionsOfACall = 8;

}  // namespace

Reaper::~Reaper() {
  std::vector<Hold> holds;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_stopping = true;
    holds.swap(shared_->holds);
  }
  shared_->changed.notify_all();
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else if (thread_.joinable()) {
    thread_.join();
  }
  const InContext in_context(any_device_);
  for (const Hold& hold : holds) hold.until->wait_until_passed();
}

void Reaper::hold(std::shared_ptr<Mark> until, std::shared_ptr<void> owner) {
  if (owner == nullptr) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->holds.push_back({std::move(until), std::move(owner)});
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
  passed = take_passed(*shared_, kQuestionsOfACall);
}

std::vector<std::shared_ptr<void>> Reaper::take_passed(Shared& shared, std::size_t questions) {
  std::vector<std::shared_ptr<void>> passed;
  auto kept = shared.holds.begin();
  for (Hold& hold : shared.holds) {
    if (questions > 0 && hold.until->is_passed()) {
      passed.push_back(std::move(hold.owner));
      hold.until.reset();  // now: an owner may be the last to hold the mark's device
    } else {
      questions -= questions > 0 ? 1 : 0;
      if (&*kept != &hold) *kept = std::move(hold);
      ++kept;
    }
  }
  shared.holds.erase(kept, shared.holds.end());
  return passed;
}

void Reaper::work(const std::shared_ptr<Shared>& shared, const Device& any_device) {
  use_cores_of_process();
  any_device.driver().ctx_set_current(any_device.context());
  int mode = cuda::kCaptureModeRelaxed;  // to the end of the thread
  any_device.driver().thread_exchange_stream_capture_mode(&mode);
  auto pause = kShortestPause;
  std::unique_lock lock(shared->mutex);
  while (!shared->is_stopping) {
    if (shared->holds.empty()) {
      shared->changed.wait(lock);
      pause = kShortestPause;
      continue;
    }
    shared->changed.wait_for(lock, pause, [&] { return shared->is_stopping; });
    if (shared->is_stopping) break;
    std::vector<std::shared_ptr<void>> passed = take_passed(*shared, SIZE_MAX);
    pause = passed.empty() ? std::min(pause * 2, kLongestPause) : kShortestPause;
    lock.unlock();
    passed.clear();  // maybe the end of the device
    lock.lock();
  }
}

}  // namespace turnpike::move
