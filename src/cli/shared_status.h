// One TurnpikeStatus in memory that this process and the recorded ones share: they count, it shows.
#pragma once

#include <string>

#include "base/result.h"
#include "record/session.h"

namespace turnpike::cli {

class SharedStatus {
 public:
  static Result<SharedStatus> make();
  SharedStatus(SharedStatus&& other) noexcept;
  SharedStatus& operator=(SharedStatus&&) = delete;
  ~SharedStatus();

  // What other processes open to map it: valid while this object lives.
  const std::string& path() const { return path_; }
  // The counters as they stand: each one whole, all of them not at the same moment.
  TurnpikeStatus read() const;
  void add(const TurnpikeStatus& amounts) const;
  // To `number`, if it is lower.
  void raise_keep_number(std::uint64_t number) const;

 private:
  SharedStatus(int descriptor, TurnpikeStatus* mapping);

  int descriptor_;
  TurnpikeStatus* mapping_;
  std::string path_;
};

}  // namespace turnpike::cli
