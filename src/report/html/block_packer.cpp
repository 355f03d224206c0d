#include "report/html/block_packer.h"

#include <sched.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace turnpike::report::html {

std::size_t BlockPacker::usual_threads() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // A machine with more cores than the set has room for has more than enough.
  const std::size_t count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : kMaxThreads;
  return count < 2 ? 0 : std::min(count, kMaxThreads);
}

BlockPacker::~BlockPacker() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    waiting_.clear();
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::shared_future<std::string> BlockPacker::pack(std::string planes, Effort effort) {
  // Not what the task holds: that lives as long as its future.
  Task task(
      [this, effort, bytes = std::move(planes)]() mutable { return pack_one_(std::exchange(bytes, {}), effort); });
  std::shared_future<std::string> text = task.get_future().share();
  if (threads_.size() < most_threads_) start_thread();
  if (threads_.empty()) {
    task();
    return text;
  }
  {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return waiting_.size() < kWaitingByThread * threads_.size(); });
    waiting_.push_back(std::move(task));
  }
  has_work_.notify_one();
  return text;
}

void BlockPacker::start_thread() {
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    most_threads_ = threads_.size();  // the system gives no more
  }
}

void BlockPacker::work() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
      if (is_ending_) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    has_room_.notify_one();
    task();
  }
}

}  // namespace turnpike::report::html
