// What an engine consists of, shared with its transfers, which may outlive it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "move/in_stream.h"
#include "move/move.h"
#include "move/page_lock.h"
#include "move/peers.h"
#include "move/reaper.h"
#include "move/stager.h"
#include "move/tally.h"

namespace turnpike::move {

// Safe from any thread.
class State {
 public:
  State(const cuda::Driver& its_driver, int device_count, const Settings& settings)
      : driver_(its_driver), device_count_(device_count), settings_(settings) {}
  ~State() = default;  // waits for everything
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Opened when it is first asked for: a context costs hundreds of MiB of its GPU.
  Result<Device*> device(int ordinal);
  // These exist from the first device on.
  Stager& stager() { return *stager_; }
  InStream& in_stream() { return *in_stream_; }
  // For what is not of a device: one that is open; else one that this thread, or this process, uses already.
  Result<Device*> any_device();

  // Keeps `owner` until `until` has passed.
  void hold(std::shared_ptr<Mark> until, std::shared_ptr<void> owner);
  // Brings small downloads that have arrived, and drops the owners of what is done.
  void reap();

  Settings settings() const;
  Status configure(const Settings& settings);
  std::size_t pinned_bytes() const;
  std::size_t release_pinned();
  Status synchronize();  // every device that this process uses, whoever opened it

  Tally tally;
  Peers peers;
  PageLock page_lock;
  std::atomic<std::uint64_t> pending{0};  // transfers that are neither done nor dropped

 private:
  Device* first_device() const;
  bool is_used(int ordinal) const;
  Status synchronize(int ordinal) const;

  const cuda::Driver driver_;
  const int device_count_;
  mutable std::mutex mutex_;
  std::mutex configure_mutex_;  // held while something waits, which mutex_ never is
  Settings settings_;
  std::map<int, std::unique_ptr<Device>> devices_;
  Device* first_ = nullptr;
  // The last goes first: what it has under way may need the others.
  std::unique_ptr<Reaper> reaper_;
  std::unique_ptr<InStream> in_stream_;
  std::unique_ptr<Stager> stager_;
};

// An Error for settings that the engine cannot work with.
Status check_settings(const Settings& settings);

}  // namespace turnpike::move
