// Where in the program a call is made: the line, and the lines that led to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/stacks/python_chain.h"

namespace turnpike::guard {

struct Place {
  std::string file;  // of the innermost line that is no library's; empty without any Python
  std::uint32_t line = 0;
  std::string function;
  std::vector<record::PythonFrameText> frames;  // innermost first
  bool is_compiling = false;                    // below PyTorch's compiler: a copy of its own, as for autotuning
  bool is_own_move = false;                     // of tp.to and its like, which move data on purpose

  std::string site() const;  // "train.py:42"; empty without any Python
  // Whether a pattern (base/site_pattern.h) names this place or a line that led to it.
  bool matches(std::string_view pattern) const;
};

// The calling thread's place. What the same stack gave before is only looked up. Valid for good. Throws std::bad_alloc.
const Place& place_of_this_thread(std::uintptr_t& evaluator);

}  // namespace turnpike::guard
