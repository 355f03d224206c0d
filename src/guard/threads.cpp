#include "guard/threads.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "base/fork_mutex.h"
#include "base/hot.h"
#include "guard/autograd_owner.h"
#include "guard/python_context.h"
#include "guard/tables_mutex.h"
#include "record/stacks/python_stack.h"

namespace turnpike::guard {
namespace {

// One entered block, and who is in it.
struct Entered {
  std::uint64_t number;
  long thread_id;
  const void* python_thread;
  std::uintptr_t context;
  bool is_paused;
  std::string mark;
  std::shared_ptr<Scope> scope;
};

// Of all threads: a program is in few blocks at once. Constructed once and never destroyed: threads may outlive main.
struct Registry {
  ForkMutex mutex;
  std::vector<Entered> entered;
  std::uint64_t next_number = 1;
  std::shared_ptr<Scope> everywhere;
};

Registry& registry() {
  static auto& one = *new Registry;
  return one;
}

TURNPIKE_HOT_DATA std::atomic<std::uint32_t> g_entered_count{0};
TURNPIKE_HOT_DATA std::atomic<std::uint64_t> g_generation{1};  // one more with each change of the registry

struct OwnFound {
  std::unique_ptr<Found> found;
  ~OwnFound() {
    this_thread().is_ending = true;
    this_thread().found = nullptr;
  }
};

[[gnu::noinline, gnu::cold]] Found* make_found() {
  thread_local OwnFound t_own;
  t_own.found = std::make_unique<Found>();
  return t_own.found.get();
}

long this_thread_id() noexcept {
  ThisThread& thread = this_thread();
  if (thread.id == 0) thread.id = syscall(SYS_gettid);
  return thread.id;
}

// Leaves the mark by which autograd's threads know that they work for this thread, and returns it. Each block does so
// anew: a hook of backward() may run with a state of its own, which ends with the hook.
std::string mark_this_thread() {
  std::string mark = "turnpike.guard." + std::to_string(this_thread_id());
  leave_mark(mark);
  return mark;
}

// With the registry's lock held.
std::vector<Entered>::iterator find(std::uint64_t number) noexcept {
  auto& entered = registry().entered;
  return std::find_if(entered.begin(), entered.end(), [=](const Entered& one) { return one.number == number; });
}

bool is_for_all(const Scope& scope, bool is_process) noexcept {
  return scope.rules().threads.value_or(is_process ? Threads::kAll : Threads::kOnlyOwn) == Threads::kAll;
}

template <typename Visit>
void each_of_this_thread(Visit visit) {
  const bool is_worker = does(this_thread(), Work::kAutograd);
  const long own_id = this_thread_id();
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.everywhere != nullptr && (is_for_all(*all.everywhere, true) || record::is_main_thread())) {
    visit(all.everywhere);
  }
  // What others entered for everybody is around what this thread entered.
  for (const Entered& one : all.entered) {
    if (!one.is_paused && one.thread_id != own_id && is_for_all(*one.scope, false)) visit(one.scope);
  }
  for (const Entered& one : all.entered) {
    if (one.is_paused) continue;
    const bool is_own = one.thread_id == own_id;
    if (is_for_all(*one.scope, false)) {
      if (is_own) visit(one.scope);
      continue;
    }
    if (!is_own && !(is_worker && has_mark(one.mark))) continue;
    // The thread that waits in backward() keeps its state; of our own, the number may be that of a thread that ended.
    const void* python = is_own ? python_thread() : one.python_thread;
    if (is_inside(one.context, python)) visit(one.scope);
  }
}

// Each kind by the innermost block that mentions it.
void take_words(Reach& reach) noexcept {
  Kinds decided;
  for (auto scope = reach.scopes.rbegin(); scope != reach.scopes.rend(); ++scope) {
    const PreparedRules& prepared = (*scope)->prepared();
    prepared.mentioned.each([&](Kind kind) {
      if (decided.has(kind)) return true;
      const std::optional<Rule>& rule = prepared.rules.of(kind);
      if (rule->level != Level::kAllow) reach.words[static_cast<std::size_t>(kind)] = {*rule, scope->get()};
      return true;
    });
    decided.add(prepared.mentioned);
  }
  for (std::size_t i = 0; i < kKindCount; ++i) {
    if (reach.words[i].scope != nullptr) reach.asked.add(static_cast<Kind>(i));
  }
}

void note_plain(Reach& reach) noexcept {
  reach.plain = reach.logged_plainly = {};
  reach.plain_log = nullptr;
  if (reach.has_allow_list) return;
  reach.asked.each([&](Kind kind) {
    const Word& word = reach.on(kind);
    const Rules& rules = word.scope->rules();
    // Whether the bytes went up before is asked of each call.
    if (!rules.guards_capture || rules.skip != 0 || kind == Kind::kRepeat) return true;
    reach.plain.add(kind);
    if (word.rule.level != Level::kLog) return true;
    LogTable* log = &word.scope->log_table();
    if (reach.plain_log == nullptr) reach.plain_log = log;
    if (reach.plain_log == log) reach.logged_plainly.add(kind);
    return true;
  });
}

void find(Reach& reach) {
  reach.scopes.clear();
  each_of_this_thread([&](const std::shared_ptr<Scope>& scope) { reach.scopes.push_back(scope); });
  reach.words = {};
  reach.asked = {};
  reach.asks_capture = reach.has_allow_list = false;
  for (const auto& scope : reach.scopes) {
    reach.asks_capture = reach.asks_capture || !scope->rules().guards_capture;
    reach.has_allow_list = reach.has_allow_list || !scope->rules().allowances.empty();
  }
  take_words(reach);
  note_plain(reach);
}

[[gnu::noinline, gnu::cold]] void find_again(Found& found, std::uint64_t generation, std::uint64_t contexts) {
  found.generation = 0;  // if memory runs out
  find(found.reach);
  found.generation = generation;
  found.contexts = contexts;
}

// With the registry's lock held.
void note_change() noexcept {
  g_generation.fetch_add(1, std::memory_order_release);
}

// A forked child is in none of its parent's blocks: CUDA, where the parent uses it, does not work there anyway. What is
// around the whole process holds on.
void in_forked_child() noexcept {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.entered.clear();
  note_change();
  g_entered_count.store(all.everywhere == nullptr ? 0 : 1, std::memory_order_relaxed);
  this_thread().id = 0;
}

// Before any thread can use the tables, and behind the handler of their mutexes. What a thread constructs while another
// one forks, the child would wait for. Whoever holds the registry's mutex may take that of the tables, the older one.
[[maybe_unused]] const int kHandlesForks = [] {
  tables_mutex();
  registry();
  log_of_blocks();
  return pthread_atfork(nullptr, nullptr, in_forked_child);
}();

}  // namespace

TURNPIKE_HOT bool is_anything_guarded() noexcept {
  return g_entered_count.load(std::memory_order_relaxed) != 0;
}

std::uint64_t enter(std::shared_ptr<Scope> scope) {
  std::string mark = mark_this_thread();
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.entered.push_back({.number = all.next_number,
                         .thread_id = this_thread_id(),
                         .python_thread = python_thread(),
                         .context = python_context(),
                         .is_paused = false,
                         .mark = std::move(mark),
                         .scope = std::move(scope)});
  note_change();
  g_entered_count.fetch_add(1, std::memory_order_relaxed);
  return all.next_number++;
}

void pause(std::uint64_t number) noexcept {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (const auto found = find(number); found != all.entered.end()) found->is_paused = true;
  note_change();
}

void resume(std::uint64_t number) noexcept {
  std::string mark = mark_this_thread();
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = find(number);
  if (found == all.entered.end()) return;
  found->thread_id = this_thread_id();
  found->mark = std::move(mark);
  found->python_thread = python_thread();
  found->context = python_context();
  found->is_paused = false;
  std::rotate(found, found + 1, all.entered.end());  // the innermost one now
  note_change();
}

std::shared_ptr<Scope> leave(std::uint64_t number) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = find(number);
  if (found == all.entered.end()) return nullptr;
  std::shared_ptr<Scope> scope = std::move(found->scope);
  all.entered.erase(found);
  note_change();
  g_entered_count.fetch_sub(1, std::memory_order_relaxed);
  return scope;
}

bool leave_if_uneventful(std::uint64_t number) noexcept {
  Registry& all = registry();
  std::shared_ptr<Scope> scope;  // dies without the lock
  const std::lock_guard lock(all.mutex);
  const auto found = find(number);
  if (found == all.entered.end()) return true;
  if (!found->scope->is_uneventful()) return false;
  scope = std::move(found->scope);
  all.entered.erase(found);
  note_change();
  g_entered_count.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void enter_everywhere(std::shared_ptr<Scope> scope) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.everywhere == nullptr) g_entered_count.fetch_add(1, std::memory_order_relaxed);
  all.everywhere = std::move(scope);
  note_change();
}

std::shared_ptr<Scope> everywhere() noexcept {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return all.everywhere;
}

bool Reach::has_deferred() const noexcept {
  return is_anything_deferred() &&
         std::any_of(scopes.begin(), scopes.end(), [](const auto& scope) { return scope->has_deferred(); });
}

TURNPIKE_HOT Found* found_of(ThisThread& thread) {
  if (thread.found == nullptr && !thread.is_ending) thread.found = make_found();
  return thread.found;
}

TURNPIKE_HOT const Reach* reach_of_this_thread(ThisThread& thread) {
  Found* const own = found_of(thread);
  if (own == nullptr) return nullptr;
  Found& found = *own;
  // Read before the blocks are: what changes meanwhile is looked at again.
  const std::uint64_t generation = g_generation.load(std::memory_order_acquire);
  // For whom a thread of autograd works, and where that one is, changes without a word.
  const std::uint64_t contexts = does(thread, Work::kAutograd) ? 0 : hash_of_contexts(python_thread());
  if (contexts == 0 || found.generation != generation || found.contexts != contexts) {
    find_again(found, generation, contexts);
  }
  return found.reach.scopes.empty() ? nullptr : &found.reach;
}

}  // namespace turnpike::guard
