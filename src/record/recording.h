// One recording of this process, from its start until its file is closed, and who looks at it meanwhile.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "record/collect/collector.h"
#include "record/options.h"

namespace turnpike::record {

struct Recording {
  Recording(const CollectorSources& sources, const Options& given) : options(given), collector(sources, options) {}

  Options options;  // before the start they change to what is possible here
  Collector collector;
  const pid_t process = getpid();
  // Under Recorder's lock of these two:
  bool is_collecting = false;  // switched by the capture range, the delay and the duration
  bool is_over = false;        // the duration has passed, or the file is full: whatever range begins
};

// The recording that there is, or was last. One thread at a time changes it. Any thread, also in a signal handler, uses
// it, and keeps it in memory meanwhile.
class CurrentRecording {
 public:
  class Use {
   public:
    explicit Use(CurrentRecording& of) noexcept : users_(of.users_) {
      users_.fetch_add(1);
      recording_ = of.recording_.load();
    }
    ~Use() { users_.fetch_sub(1); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    explicit operator bool() const noexcept { return recording_ != nullptr; }
    Recording* operator->() const noexcept { return recording_; }
    Recording& operator*() const noexcept { return *recording_; }

   private:
    std::atomic<std::uint32_t>& users_;
    Recording* recording_;
  };

  Use use() noexcept { return Use(*this); }
  // The one before has ended. It stays in memory while somebody uses it.
  void replace(std::unique_ptr<Recording> next) {
    if (Recording* before = recording_.exchange(next.release())) ended_.emplace_back(before);
    if (users_.load() == 0) ended_.clear();
  }

 private:
  std::atomic<std::uint32_t> users_{0};
  std::atomic<Recording*> recording_{nullptr};
  std::vector<std::unique_ptr<Recording>> ended_;
};

}  // namespace turnpike::record
