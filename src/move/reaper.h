// Keeps the owners of memory that copies on their way still need, and lets each go when its copies have run.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "move/mark.h"

namespace turnpike::move {

// Safe from any thread. A thread of its own looks while there is something to wait for, so that memory goes soon after
// its copies have run, and not at the next call into the engine, which may never come.
class Reaper {
 public:
  // `any_device`: an open one, in whose context questions are put.
  explicit Reaper(Device& any_device) : any_device_(any_device), shared_(std::make_shared<Shared>()) {}
  ~Reaper();  // waits for all
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // Keeps `owner` until `until` has passed.
  void hold(std::shared_ptr<Mark> until, std::shared_ptr<void> owner);
  // Drops owners whose marks have passed, without any lock: they may do anything. The context of an open device is
  // current.
  void reap();

 private:
  struct Hold {
    std::shared_ptr<Mark> until;
    std::shared_ptr<void> owner;
  };
  // The thread may outlive the reaper by a moment: when an owner that it drops is the last that held the engine.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Hold> holds;
    bool is_stopping = false;
  };

  // With the lock held: takes out the owners whose marks have passed. After `questions` that were answered with no, the
  // rest is not asked.
  static std::vector<std::shared_ptr<void>> take_passed(Shared& shared, std::size_t questions);
  static void work(const std::shared_ptr<Shared>& shared, const Device& any_device);

  Device& any_device_;
  const std::shared_ptr<Shared> shared_;
  std::thread thread_;  // guarded by the lock of what is shared
};

}  // namespace turnpike::move
