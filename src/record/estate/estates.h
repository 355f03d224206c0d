// The estates of a run, for `turnpike record`: it offers them, and writes to their files what processes that died had
// not written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "record/session.h"

namespace turnpike::record {

class Estates {
 public:
  // nullopt where there can be none: then a process that is killed loses what it had not written.
  static std::optional<Estates> make();
  Estates(Estates&& other) noexcept;
  Estates& operator=(Estates&&) = delete;
  ~Estates();

  // The value of TURNPIKE_ESTATES. Valid while this object lives.
  const std::string& path() const { return path_; }

  struct Settled {
    TurnpikeStatus added{};      // what came to the files
    bool has_recording = false;  // processes that still record
  };
  // Closes the files of processes that have died, and frees their memory.
  Settled settle();

 private:
  explicit Estates(int file);
  void settle_one(std::size_t number, Settled& settled);
  void free(std::size_t number);

  int file_;
  std::string path_;
};

}  // namespace turnpike::record
