// Counting of instructions for programs in Python.
#include "count_instructions.h"

extern "C" __attribute__((visibility("default"))) void begin_counting() {
  turnpike::begin_counting();
}

extern "C" __attribute__((visibility("default"))) std::uint64_t end_counting() {
  return turnpike::end_counting();
}
