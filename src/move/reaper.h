// Keeps the owners of memory that copies on their way still need, and lets each go when its copies have run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "move/mark.h"

namespace turnpike::move {

// Owners, each kept until its mark has passed. Not safe from several threads.
class Holds {
 public:
  void add(std::shared_ptr<Mark> until, std::shared_ptr<void> owner) {
    holds_.push_back({std::move(until), std::move(owner)});
  }
  bool is_empty() const { return holds_.empty(); }
  // Takes out the owners whose marks have passed. After `questions` that were answered with no, the rest is not asked.
  std::vector<std::shared_ptr<void>> take_passed(std::size_t questions);
  void wait_until_passed() const;

 private:
  struct Hold {
    std::shared_ptr<Mark> until;
    std::shared_ptr<void> owner;
  };
  std::vector<Hold> holds_;
};

// How long the reaper's thread waits before it asks again, after a pause of this length and what became of it.
std::chrono::milliseconds pause_after(std::chrono::milliseconds pause, bool has_let_go);

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
  // The thread may outlive the reaper by a moment: when an owner that it drops is the last that held the engine.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    Holds holds;
    bool is_stopping = false;
  };

  static void work(const std::shared_ptr<Shared>& shared, const Device& any_device);

  Device& any_device_;
  const std::shared_ptr<Shared> shared_;
  std::thread thread_;  // guarded by the lock of what is shared
};

}  // namespace turnpike::move
