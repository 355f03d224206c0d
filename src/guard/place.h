// Where in the program a call is made: the line, and the lines that led to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/stacks/python_chain.h"

namespace turnpike::guard {

// A program has some hundred stacks that cross; one that makes code at run time could have any number. Those above the
// limit share the last number and are not kept.
inline constexpr std::uint32_t kMaxPlaces = 1 << 16;

struct alignas(64) Place {
  // What each call asks stands in one line of memory.
  std::uint32_t number = 0;   // what tables find it by
  bool is_compiling = false;  // below PyTorch's compiler: a copy of its own, as for autotuning
  bool is_own_move = false;   // of tp.to and its like, which move data on purpose
  std::string file;           // of the innermost line that is no library's; empty without any Python
  std::uint32_t line = 0;
  std::string function;
  std::vector<record::PythonFrameText> frames;  // innermost first

  std::string site() const;  // "train.py:42"; empty without any Python
  bool is_kept() const { return number < kMaxPlaces; }
  // Whether a pattern (base/site_pattern.h) names this place or a line that led to it.
  bool matches(std::string_view pattern) const;
};

// The calling thread's place. What the same stack gave before is only looked up: by a thread that had it lately,
// without a lock. Valid for good, above the limit until the thread's next call. Throws std::bad_alloc.
const Place& place_of_this_thread(std::uintptr_t& evaluator);

}  // namespace turnpike::guard
