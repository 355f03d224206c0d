// The first thread that sees that it is time takes the turn.
#include "move/polling.h"

#include "move/relax.h"

namespace turnpike::move {
namespace {

constexpr std::int64_t kBetweenQuestionsNs = 4000;
// How long an idle thread spins before it yields its core.
constexpr std::int64_t kLookNs = 20000;

}  // namespace

Polling::Turn Polling::look_out(const std::atomic<std::uint64_t>& changes, std::uint64_t seen) {
  bool may_ask = false;
  const std::int64_t start_ns = now_ns_();
  while (changes == seen && !may_ask) {
    relax();
    const std::int64_t now_ns = now_ns_();
    std::int64_t next_ns = next_question_ns_;
    may_ask = now_ns >= next_ns && next_question_ns_.compare_exchange_strong(next_ns, now_ns + kBetweenQuestionsNs);
    if (now_ns - start_ns > kLookNs) {
      yield_();
      break;
    }
  }
  return Turn(may_ask);
}

}  // namespace turnpike::move
