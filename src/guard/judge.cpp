#include "guard/judge.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/hot.h"
#include "guard/autograd_owner.h"
#include "guard/cxx_runtime.h"
#include "guard/native_frames.h"
#include "guard/place.h"
#include "guard/process_rules.h"
#include "guard/python_context.h"
#include "guard/raised.h"
#include "guard/repeats.h"
#include "guard/this_thread.h"
#include "guard/threads.h"

namespace turnpike::guard {
namespace {

// Whether a block that the thread is in names the place in its allow list.
bool is_allowed(const Reach& reach, Kind kind, const Place& place) {
  return reach.has_allow_list && std::any_of(reach.scopes.begin(), reach.scopes.end(),
                                             [&](const auto& scope) { return scope->prepared().allows(place, kind); });
}

// Whether an exception may leave the hook here and now.
bool can_raise(const NativeFrames& frames) noexcept {
  const CxxRuntime* runtime = CxxRuntime::find();
  return frames.may_leave && runtime != nullptr && !runtime->is_unwinding() && !is_python_ending();
}

// Where nobody reads the log of the block: that of a command.
void say(const Scope& scope, const Event& event, const char* more) {
  if (everywhere().get() == &scope) {
    say_for_process(std::string(kPrefix) + what_happened(event) + more);
  }
}

void defer(Scope& scope, const Event& event) {
  // Nothing will leave the block any more.
  if (is_python_ending()) {
    std::fprintf(stderr, "%s (not raised: the interpreter is ending)\n", event.text.c_str());
    return;
  }
  if (everywhere().get() == &scope) add_to_log(kNotStopped);
  say(scope, event,
      event.crossing.is_over ? " (not stopped: a library outside PyTorch made it)"
                             : " (not stopped: no exception may leave this call)");
  scope.defer(event);
}

// What an earlier call could not raise, with the place where that happened.
const char* raise_deferred(const Scopes& scopes) {
  for (const auto& scope : scopes) {
    Event event;
    if (scope->take_deferred(event)) return keep_raised(std::move(event), false);
  }
  return nullptr;
}

// Of PlaceLately::rows.
constexpr std::size_t index_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::kH2d:
      return 0;
    case Kind::kD2h:
      return 1;
    case Kind::kSync:
      return 2;
    case Kind::kPageable:
      return 3;
    default:
      return 4;
  }
}

// nullptr: nothing was logged there.
TURNPIKE_HOT LogRow* row_of(LogTable& table, PlaceLately& at, Kind kind) noexcept {
  const std::size_t index = index_of(kind);
  if (index >= at.rows.size()) return table.find(*at.place, kind);
  const bool is_known = at.table == &table;
  if (is_known && at.rows[index] != nullptr) return at.rows[index];
  LogRow* row = table.find(*at.place, kind);
  if (row == nullptr) return row;
  if (!is_known) at.rows = {};
  at.table = &table;
  at.rows[index] = row;
  return row;
}

// One crossing while it is judged: what costs something to find out is found out once, where it is needed.
class Case {
 public:
  Case(const Crossing& crossing, const Reach& reach, const Where& where = {})
      : crossing_(crossing),
        reach_(reach),
        evaluator_(where.evaluator),
        at_(where.at == nullptr ? this_thread().found->places.find(evaluator_) : *where.at) {}

  Where where() const noexcept { return {.at = &at_, .evaluator = evaluator_}; }
  bool must_wait() { return crossing_.kind == Kind::kSync && !native().op.empty(); }

  const char* decide();
  void note(Kind kind);

 private:
  const char* decide_on(Kind kind, const Word& word);
  const Place& place() const noexcept { return *at_.place; }
  bool is_exempt(const Word& word);
  bool is_spared(Kind kind, const Word& word);
  bool is_settled(Kind kind);
  bool is_within(Kind kind, const Word& word) noexcept {
    return word.rule.level == Level::kLimit && word.scope->is_within(word.rule, kind, crossing_.bytes);
  }
  bool log_again(Kind kind) noexcept;
  void log(Kind kind, const Word& word);

  const NativeFrames& native() {
    if (!frames_) frames_ = look_at_native_frames(is_copy(crossing_.kind));
    return *frames_;
  }
  // Of a move, Python raises it. What allocates and frees are PyTorch's allocators, in the middle of their tables.
  bool may_raise() {
    if (crossing_.is_over || crossing_.kind == Kind::kAlloc) return false;
    return crossing_.is_move || can_raise(native());
  }
  const Crossing& complete() {
    if (crossing_.complete != nullptr) crossing_.complete(crossing_);
    crossing_.complete = nullptr;
    return crossing_;
  }
  Event event(Kind kind, const Rule& rule) {
    // Inside of CUPTI's callback, the frames below are those of NVIDIA's libraries; a move is no operator.
    const bool has_no_operator = crossing_.is_over || crossing_.is_move;
    return make_event(kind, complete(), place(), has_no_operator ? std::string() : native().op, rule);
  }

  Crossing crossing_;
  const Reach& reach_;
  std::uintptr_t evaluator_;
  PlaceLately& at_;
  std::optional<NativeFrames> frames_;
};

bool Case::is_exempt(const Word& word) {
  const Rules& rules = word.scope->rules();
  if (crossing_.is_move && !rules.guards_moves) return true;
  const bool is_torchs_copy_of_ours = place().is_own_move && !crossing_.is_move && is_copy(crossing_.kind);
  if (is_torchs_copy_of_ours && !rules.guards_moves) return true;
  if (place().is_compiling && !rules.guards_compile) return true;
  return !rules.guards_capture && complete().is_captured;
}

[[gnu::noinline, gnu::cold]] void Case::log(Kind kind, const Word& word) {
  LogTable& table = word.scope->log_table();
  if (LogRow* row = table.find(place(), kind)) {
    row->add(crossing_.bytes);
  } else if (!table.is_full()) {
    const Event first = event(kind, word.rule);
    if (word.scope->log(first)) say(*word.scope, first, "");
  }
}

// Where nothing but the kind and the place decides, and this was logged before.
TURNPIKE_HOT bool Case::log_again(Kind kind) noexcept {
  LogRow* row = row_of(*reach_.plain_log, at_, kind);
  if (row != nullptr) row->add(crossing_.bytes);
  return row != nullptr;
}

// Whether the rule does not hold here and now.
[[gnu::noinline]] bool Case::is_spared(Kind kind, const Word& word) {
  if (is_exempt(word)) return true;
  if (kind == Kind::kRepeat && !went_up_before(crossing_, place())) return true;
  return is_allowed(reach_, kind, place()) || !word.scope->is_warm(place(), kind);
}

// Whether nothing is left to decide: it was logged once more, or the rule does not hold here and now.
TURNPIKE_HOT bool Case::is_settled(Kind kind) {
  const bool is_usual = !crossing_.is_move && at_.is_usual;
  if (is_usual && reach_.plain.has(kind)) return reach_.logged_plainly.has(kind) && log_again(kind);
  return is_spared(kind, reach_.on(kind));
}

[[gnu::noinline, gnu::cold]] const char* Case::decide_on(Kind kind, const Word& word) {
  if (word.rule.level == Level::kLog) {
    log(kind, word);
    return nullptr;
  }
  Event event = this->event(kind, word.rule);
  if (may_raise()) return keep_raised(std::move(event), true);
  defer(*word.scope, event);
  return "";
}

TURNPIKE_HOT const char* Case::decide() {
  if (crossing_.is_over && place().is_own_move) return nullptr;  // it asked before it began
  if (reach_.has_deferred() && may_raise()) {
    if (const char* text = raise_deferred(reach_.scopes)) return text;
  }
  const char* found = nullptr;
  (crossing_.kinds & reach_.asked).each([&](Kind kind) {
    const Word& word = reach_.on(kind);
    if (!is_settled(kind) && !is_within(kind, word)) found = decide_on(kind, word);
    return found == nullptr;
  });
  return found == nullptr || *found == '\0' ? nullptr : found;
}

TURNPIKE_HOT void Case::note(Kind kind) {
  if (is_settled(kind)) return;
  const Word& word = reach_.on(kind);
  if (!is_within(kind, word) && word.rule.level == Level::kLog) log(kind, word);
}

}  // namespace

TURNPIKE_HOT const Reach* guarding_reach(ThisThread& thread) noexcept {
  if (thread.is_judging) return nullptr;
  try {
    return reach_of_this_thread(thread);
  } catch (...) {
    return nullptr;
  }
}

TURNPIKE_HOT bool is_concerned(const Reach& reach, Kinds possible) noexcept {
  return reach.asked.meets(possible) || reach.has_deferred();
}

TURNPIKE_HOT const char* judge(const Crossing& crossing, const Reach& reach, Where* where) noexcept {
  ThisThread& thread = this_thread();
  thread.is_judging = true;
  const char* found = nullptr;
  try {
    if (does(thread, Work::kPinning)) {
      // Copying within the host and allocating is its work. Only memory that it failed to pin concerns anybody.
      Crossing pageable = crossing;
      pageable.kinds = Kind::kPageable;
      if (crossing.kinds.has(Kind::kPageable)) found = Case(pageable, reach).decide();
    } else if (is_concerned(reach, crossing.kinds)) {
      Case one(crossing, reach);
      if (where != nullptr) *where = one.where();
      found = one.decide();
      if (found != nullptr && where != nullptr) where->must_wait = one.must_wait();
    }
  } catch (...) {
    found = nullptr;
  }
  thread.is_judging = false;
  return found;
}

TURNPIKE_HOT bool can_ask_later(const Reach& reach) noexcept {
  if (!reach.plain.has(Kind::kPageable)) return false;
  const Word& word = reach.on(Kind::kPageable);
  return reach.logged_plainly.has(Kind::kPageable) ||
         (word.rule.level == Level::kLimit && word.scope->is_far_from(word.rule, Kind::kPageable));
}

TURNPIKE_HOT void note_pageable(const Crossing& crossing, const Reach& reach, const Where& where) noexcept {
  ThisThread& thread = this_thread();
  thread.is_judging = true;
  try {
    Case(crossing, reach, where).note(Kind::kPageable);
  } catch (...) {
  }
  thread.is_judging = false;
}

const char* judge(const Crossing& crossing) noexcept {
  const Reach* reach = guarding_reach(this_thread());
  return reach == nullptr ? nullptr : judge(crossing, *reach);
}

}  // namespace turnpike::guard
