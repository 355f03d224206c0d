// The doors of the library. No exception leaves here; what the hooks throw does not pass through.
#include <memory>
#include <string>

#include "base/self_time.h"
#include "guard/driver_memory.h"
#include "guard/guard.h"
#include "guard/hooks.h"
#include "guard/judge.h"
#include "guard/outside.h"
#include "guard/process_rules.h"
#include "guard/python_context.h"
#include "guard/raised.h"
#include "guard/this_thread.h"
#include "guard/threads.h"
#include "record/stacks/python_runtime.h"

namespace guard = turnpike::guard;

namespace {

const turnpike::TickRate kTickRate;  // since the library was loaded

// Keeps a text for the caller.
template <typename Make>
const char* kept(Make make) noexcept {
  try {
    guard::Found* const found = guard::found_of(guard::this_thread());
    if (found == nullptr) return "";
    found->answer = make();
    return found->answer.c_str();
  } catch (...) {
    return "";
  }
}

// Throws std::bad_alloc.
uint64_t enter(const char* rules) {
  auto prepared = guard::prepare_rules(rules);
  if (!prepared) return 0;
  (*prepared)->note_entered();
  return guard::enter(std::make_shared<guard::Scope>(std::move(*prepared), guard::log_of_blocks()));
}

}  // namespace

#define TURNPIKE_EXPORT extern "C" __attribute__((visibility("default")))

TURNPIKE_EXPORT uint64_t turnpike_guard_take_slots(void) {
  turnpike::record::find_python();
  return guard::take_slots();
}

TURNPIKE_EXPORT int turnpike_guard_sees_outside(void) {
  return guard::is_outside_seen() ? 1 : 0;
}

TURNPIKE_EXPORT int turnpike_guard_has_gpu(void) {
  return guard::is_cuda_used() ? 1 : 0;
}

TURNPIKE_EXPORT void turnpike_guard_restore_slots(void) {
  guard::restore_slots();
}

TURNPIKE_EXPORT const char* turnpike_guard_check(const char* rules) {
  return kept([&] {
    const auto parsed = guard::parse_rules(rules);
    return parsed ? std::string() : parsed.error().message;
  });
}

TURNPIKE_EXPORT uint64_t turnpike_guard_enter(const char* rules) {
  try {
    return enter(rules);
  } catch (...) {
    return 0;
  }
}

TURNPIKE_EXPORT uint64_t turnpike_guard_begin(const char* rules, int is_told) {
  try {
    const bool is_prepared = guard::are_slots_fresh() && (is_told != 0 || guard::is_outside_seen());
    return is_prepared ? enter(rules) : 0;
  } catch (...) {
    return 0;
  }
}

TURNPIKE_EXPORT int turnpike_guard_end(uint64_t block) {
  return guard::leave_if_uneventful(block) ? 0 : 1;
}

TURNPIKE_EXPORT void turnpike_guard_pause(uint64_t block) {
  guard::pause(block);
}

TURNPIKE_EXPORT void turnpike_guard_resume(uint64_t block) {
  guard::resume(block);
}

TURNPIKE_EXPORT const char* turnpike_guard_leave(uint64_t block) {
  return kept([&] {
    const auto scope = guard::leave(block);
    return scope ? scope->json() : std::string();
  });
}

TURNPIKE_EXPORT const char* turnpike_guard_logged(void) {
  return kept([] {
    std::string rows;
    for (const guard::LogRow* row : guard::log_of_blocks().rows()) rows += (rows.empty() ? "" : ",") + row->json();
    return '[' + rows + ']';
  });
}

TURNPIKE_EXPORT const char* turnpike_guard_unmatched(void) {
  return kept([] { return guard::unmatched_allowances(); });
}

TURNPIKE_EXPORT const char* turnpike_guard_move(const char* direction, uint64_t bytes) {
  return kept([&]() -> std::string {
    const auto kind = guard::kind_of(direction);
    if (!kind || !guard::is_anything_guarded()) return {};
    const guard::Crossing move{.call = "turnpike", .kind = *kind, .kinds = *kind, .bytes = bytes, .is_move = true};
    const char* text = guard::judge(move);
    return text == nullptr ? std::string() : std::string(text);
  });
}

TURNPIKE_EXPORT const char* turnpike_guard_raised(const char* text) {
  return kept([&] { return guard::find_raised(text); });
}

TURNPIKE_EXPORT int turnpike_guard_learn_context(const void* inner, const void* outer) {
  turnpike::record::find_python();
  return guard::learn_python_context(reinterpret_cast<std::uintptr_t>(inner), reinterpret_cast<std::uintptr_t>(outer))
             ? 1
             : 0;
}

TURNPIKE_EXPORT int turnpike_guard_self_time(uint64_t* count, uint64_t* ns) {
  const turnpike::SelfTime spent = turnpike::self_time();
  *count = spent.count;
  *ns = kTickRate.ns_of(spent.ticks);
  return turnpike::is_self_time_counted() ? 1 : 0;
}

TURNPIKE_EXPORT int InitializeInjection(void) {
  guard::enter_process_rules();
  guard::add_to_log(turnpike_guard_take_slots() != 0 ? guard::kChecks : guard::kSeesNoTorch);
  return 1;  // anything else makes the driver refuse to start
}
