// What a guarded block permits, as `tp.guard`, TURNPIKE_GUARD and turnpike.toml say it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "guard/crossing.h"

namespace turnpike::guard {

// Whom a block holds for: the thread that enters it, of a whole process the main one, or all of them.
enum class Threads : std::uint8_t { kOnlyOwn, kAll };

enum class Level : std::uint8_t { kAllow, kLog, kDisallow, kLimit };

struct Rule {
  Level level = Level::kAllow;
  std::uint64_t most_count = UINT64_MAX;  // of kLimit: so many in a block, or so many bytes
  std::uint64_t most_bytes = UINT64_MAX;
};

// A place that no rule is about.
struct Allowance {
  Kinds kinds;
  std::string site;  // base/site_pattern.h
  std::string text;  // as it was given
  bool is_optional = false;
};

struct Rules {
  std::array<std::optional<Rule>, kKindCount> by_kind;  // nullopt: what is around the block decides
  std::vector<Allowance> allowances;
  bool guards_capture = true;      // copies that are captured into a graph, too
  bool guards_compile = false;     // what PyTorch's compiler does for itself, too
  bool guards_moves = false;       // what tp.to and its like copy, too
  std::optional<Threads> threads;  // nullopt: kOnlyOwn of a block, kAll of a process
  std::uint64_t skip = 0;          // of each site, so many crossings are warm-up

  const std::optional<Rule>& of(Kind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
};

// Reads "d2h=disallow,h2d=16 MB,sync=2,allow=checkpoint.py:*": entries behind commas or on lines of their own,
// KEY=VALUE. A key is a kind, whose value is allow, log, disallow, a number or a size; or `allow`, a site, for one kind
// alone with the kind before it ("allow=d2h train.py:80"), `may_allow` if it need not match anything; or `capture`,
// `compile` and `moves` (allow, disallow), `threads` (own, all), `skip` (a number). `repeat` takes no limit and forbids
// nothing: it knows a sample of the bytes. The Error says what is wrong with which entry.
Result<Rules> parse_rules(std::string_view text);

}  // namespace turnpike::guard
