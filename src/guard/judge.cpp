#include "guard/judge.h"

#include <cstdio>
#include <optional>

#include "guard/autograd_owner.h"
#include "guard/cxx_runtime.h"
#include "guard/native_frames.h"
#include "guard/place.h"
#include "guard/process_rules.h"
#include "guard/python_context.h"
#include "guard/raised.h"
#include "guard/repeats.h"
#include "guard/threads.h"

namespace turnpike::guard {
namespace {

// A rule that has something to say about a crossing, and the block that it stands in.
struct Word {
  Kind kind;
  Rule rule;
  Scope* scope;
};

// The rules on each of the crossing's kinds: of the innermost block that mentions the kind.
std::vector<Word> words_on(const Crossing& crossing, const Scopes& scopes) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < kKindCount; ++i) {
    const auto kind = static_cast<Kind>(i);
    if (!crossing.kinds.has(kind)) continue;
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
      const auto& rule = (*scope)->rules().of(kind);
      if (!rule) continue;
      const bool is_exempt = (crossing.is_captured && !(*scope)->rules().guards_capture) ||
                             (crossing.is_move && !(*scope)->rules().guards_moves);
      if (rule->level != Level::kAllow && !is_exempt) words.push_back({kind, *rule, scope->get()});
      break;
    }
  }
  return words;
}

bool is_allowed(const Scopes& scopes, Kind kind, const Place& place) {
  for (const auto& scope : scopes) {
    for (const Allowance& allowance : scope->rules().allowances) {
      if (allowance.kinds.has(kind) && place.matches(allowance.site)) return true;
    }
  }
  return false;
}

// Whether an exception may leave the hook here and now.
bool can_raise(const NativeFrames& frames) noexcept {
  const CxxRuntime* runtime = CxxRuntime::find();
  return frames.leaving == Leaving::kCaught && runtime != nullptr && !runtime->is_unwinding() && !is_python_ending();
}

// Where nobody reads the log of the block: that of a command.
void say(const Scope& scope, const Event& event, const char* more) {
  if (everywhere().get() == &scope) {
    say_for_process(std::string(kPrefix) + what_happened(event) + more);
  }
}

void log(const Word& word, const Event& event) {
  if (word.scope->log(event)) say(*word.scope, event, "");
}

void defer(const Word& word, const Event& event) {
  // Nothing will leave the block any more.
  if (is_python_ending()) {
    std::fprintf(stderr, "%s (not raised: the interpreter is ending)\n", event.text.c_str());
    return;
  }
  say(*word.scope, event,
      event.crossing.is_over ? " (not stopped: a library outside PyTorch made it)"
                             : " (deferred: no exception may leave this call)");
  word.scope->defer(event);
}

// What an earlier call could not raise, with the place where that happened.
const char* raise_deferred(const Scopes& scopes) {
  for (const auto& scope : scopes) {
    Event event;
    if (scope->take_deferred(event)) return keep_raised(std::move(event), false);
  }
  return nullptr;
}

const char* judge_in(const Crossing& crossing, const Scopes& scopes) {
  std::vector<Word> words = words_on(crossing, scopes);
  bool has_deferred = false;
  for (const auto& scope : scopes) has_deferred = has_deferred || scope->has_deferred();
  if (words.empty() && !has_deferred) return nullptr;

  std::uintptr_t evaluator = 0;
  const Place& place = place_of_this_thread(evaluator);
  if (place.is_own_move && crossing.is_over) return nullptr;  // it asked before it began
  const bool is_torchs_copy_of_ours = place.is_own_move && !crossing.is_move && is_copy(crossing.kind);
  std::optional<NativeFrames> frames;
  const auto native = [&]() -> const NativeFrames& {
    if (!frames) frames = look_at_native_frames(evaluator);
    return *frames;
  };
  // Of a move, Python raises it.
  const auto may_raise = [&] { return crossing.is_move || (!crossing.is_over && can_raise(native())); };
  // Inside of CUPTI's callback, the frames below are those of NVIDIA's libraries; a move is no operator.
  const auto op = [&] { return crossing.is_over || crossing.is_move ? std::string() : native().op; };
  if (has_deferred && may_raise()) {
    if (const char* text = raise_deferred(scopes)) return text;
  }
  for (const Word& word : words) {
    if (word.kind == Kind::kRepeat && !went_up_before(crossing, place)) continue;
    if (place.is_compiling && !word.scope->rules().guards_compile) continue;
    if (is_torchs_copy_of_ours && !word.scope->rules().guards_moves) continue;
    if (is_allowed(scopes, word.kind, place) || !word.scope->is_warm(place, word.kind)) continue;
    if (word.rule.level == Level::kLimit && word.scope->is_within(word.rule, word.kind, crossing.bytes)) continue;
    if (word.rule.level == Level::kLog) {
      if (!word.scope->log_again(place, word.kind, crossing.bytes)) {
        log(word, make_event(word.kind, crossing, place, op(), word.rule));
      }
      continue;
    }
    Event event = make_event(word.kind, crossing, place, op(), word.rule);
    if (may_raise()) return keep_raised(std::move(event), true);
    defer(word, event);
    return nullptr;
  }
  return nullptr;
}

}  // namespace

const char* judge(const Crossing& crossing) noexcept {
  try {
    const Scopes scopes = scopes_of_this_thread();
    if (scopes.empty()) return nullptr;
    if (!is_pinning_thread()) return judge_in(crossing, scopes);
    // Copying within the host and allocating is its work. Only memory that it failed to pin concerns anybody.
    if (!crossing.kinds.has(Kind::kPageable)) return nullptr;
    Crossing pageable = crossing;
    pageable.kinds = Kind::kPageable;
    return judge_in(pageable, scopes);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace turnpike::guard
