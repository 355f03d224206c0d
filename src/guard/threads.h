// Which blocks a thread is in: its own, those that any thread entered for all of them, and for a thread of autograd
// those of the thread that waits for its backward.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "guard/place.h"
#include "guard/scope.h"
#include "guard/this_thread.h"

namespace turnpike::guard {

using Scopes = std::vector<std::shared_ptr<Scope>>;

// The rule on a kind, and the block that it stands in; nullptr: nothing is to be done.
struct Word {
  Rule rule;
  Scope* scope = nullptr;
};

// The blocks that a thread is in, and what they say together.
struct Reach {
  Scopes scopes;  // outermost first
  Kinds plain;    // those whose rule holds wherever and whenever: no allow list, no warm-up, no graph spares them
  Kinds logged_plainly;  // those of them that are logged, in `plain_log`
  LogTable* plain_log = nullptr;
  Kinds asked;                // those with a rule in `words`
  bool asks_capture = false;  // a rule exempts what is captured
  bool has_allow_list = false;
  std::array<Word, kKindCount> words{};  // of the innermost block that mentions the kind

  const Word& on(Kind kind) const noexcept { return words[static_cast<std::size_t>(kind)]; }
  bool has_deferred() const noexcept;
};

// What a thread found the last time. Everything of a thread that needs a destructor is here: destructors of the program
// may run later and call a hook, which then sees ThisThread::is_ending.
struct Found {
  std::uint64_t generation = 0;  // 0: nothing was found yet
  std::uint64_t contexts = 0;
  Reach reach;
  PlacesLately places;
  std::string raised;  // the text of the exception that it threw last
  std::string answer;  // the text that a door of the library returned last
};

// Makes it at the first call. nullptr: the thread is ending. Throws std::bad_alloc.
Found* found_of(ThisThread& thread);

// Whether a block was entered anywhere: the one thing that a call asks when nothing is guarded.
bool is_anything_guarded() noexcept;

// The blocks that the calling thread is in now: those of the task of asyncio that it runs. nullptr: in none; else
// `thread.found` is there. Kept from one call to the next while nobody enters or leaves a block; valid until the
// thread's next call. Throws std::bad_alloc.
const Reach* reach_of_this_thread(ThisThread& thread);

// The calling thread enters a block. Never 0. Throws std::bad_alloc.
std::uint64_t enter(std::shared_ptr<Scope> scope);
// The block is in force for nobody, then again for the calling thread and the context that it executes in.
void pause(std::uint64_t number) noexcept;
void resume(std::uint64_t number) noexcept;
// Leaves it, from any thread: a generator may be closed by another one. nullptr when it was left already.
std::shared_ptr<Scope> leave(std::uint64_t number);
// The same for a block in which nothing happened that its end tells. False: it is not left.
bool leave_if_uneventful(std::uint64_t number) noexcept;

// The block around the whole process, which TURNPIKE_GUARD opens. It holds for all threads, unless its rules say that
// it is for the main one.
void enter_everywhere(std::shared_ptr<Scope> scope);
std::shared_ptr<Scope> everywhere() noexcept;

}  // namespace turnpike::guard
