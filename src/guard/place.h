// Where in the program a call is made: the line, and the lines that led to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/stacks/python_chain.h"

namespace turnpike::guard {

class LogTable;
struct LogRow;

// A program has some hundred stacks that cross; one that makes code at run time could have any number. Those above the
// limit share the last number and are not kept.
inline constexpr std::uint32_t kMaxPlaces = 1 << 16;

struct Place {
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

// A place that a thread had lately, and the rows of the log that it added to there: what each call asks stands in one
// line of memory. Tables and places that are kept stay for good.
struct alignas(64) PlaceLately {
  std::uint64_t hash = 0;  // of the stack
  const Place* place = nullptr;
  const LogTable* table = nullptr;
  std::array<LogRow*, 4> rows{};  // by kind, of the most usual ones
  bool is_usual = false;          // neither is_compiling nor is_own_move
};

class PlacesLately {
 public:
  // The calling thread's place. What the same stack gave before is only looked up: by a thread that had it lately,
  // without a lock. Valid until the next call. Throws std::bad_alloc.
  PlaceLately& find(std::uintptr_t& evaluator);

 private:
  PlaceLately& enter(PlaceLately& at, std::uint64_t hash, const Place& place) noexcept;

  static constexpr std::size_t kCount = 64;
  std::array<PlaceLately, kCount + 1> places_{};  // the last one: what is not kept
  Place unkept_;
};

}  // namespace turnpike::guard
