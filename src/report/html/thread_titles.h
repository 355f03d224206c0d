// What the rows of a process call its threads.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "analyze/model/threads.h"
#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::report::html {

// By what they do, as far as the recording tells: the main thread, autograd's, DataLoader's pin-memory thread, those of
// turnpike.prefetch and its like, others by their name or the function that they run. No two are called the same.
class ThreadTitles {
 public:
  // Keeps references to both.
  ThreadTitles(const trace::Process& process, const analyze::Timeline& timeline);

  std::string of(std::uint32_t thread) const;

 private:
  // A thread that nobody named has the name of the one that started it.
  bool has_own_name(std::uint32_t thread) const;
  std::string name_of(std::uint32_t thread) const;

  const trace::Process& process_;
  const analyze::Timeline& timeline_;
  analyze::Threads autograd_threads_;
  std::unordered_map<std::string, int> threads_named_;
  std::unordered_map<std::uint32_t, std::string> work_;  // of those without a name, where their stacks tell
};

}  // namespace turnpike::report::html
