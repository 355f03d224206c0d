// The texts of blocks until the page is written: it has them behind its contents, which tell of all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <string>
#include <vector>

#include "base/spilled_bytes.h"

namespace turnpike::report::html {

class BlockStore {
 public:
  // Some texts may become known later; waits for the first of them where there are many. What went wrong with a text
  // is thrown here or by text(). Gives the place of the text.
  std::size_t add(std::shared_future<std::string> text);
  std::string text(std::size_t place) const;

 private:
  struct Stretch {
    std::uint64_t place;
    std::size_t size;
  };

  SpilledBytes bytes_;
  std::vector<Stretch> known_;
  std::deque<std::shared_future<std::string>> pending_;  // behind those that are known
};

}  // namespace turnpike::report::html
