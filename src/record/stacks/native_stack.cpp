// The native frames of the calling thread: walked by the modules' unwind tables, with a cache of their rules.
#include "record/stacks/native_stack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>

#include "record/stacks/loaded_module.h"
#include "record/stacks/mix.h"
#include "record/stacks/walk_memo.h"

namespace turnpike::record {
namespace {

// 65536 return addresses: a PyTorch program has some thousands on its way to CUDA. 1 MiB, of which used pages count.
constexpr std::size_t kRuleSetsLog2 = 14;
// Frames that are walked over, kept or not.
constexpr std::uint32_t kMaxUnwindSteps = 512;
constexpr std::uint32_t kWalksBetweenChecks = 64;

struct ThreadBounds {
  bool is_known;
  std::uint32_t walk_count;
  std::uintptr_t low;
  std::uintptr_t high;
};
static_assert(std::is_trivially_destructible_v<ThreadBounds>);
thread_local ThreadBounds t_bounds;

// The last walks, by the depth of the stack that they began at: from one depth CUDA is called in a few ways. 32 KiB for
// each thread that calls, and more ways than a training step has.
struct Memos {
  static constexpr std::size_t kSets = 8;
  static constexpr std::size_t kWays = 4;
  struct Set {
    std::array<WalkMemo, kWays> ways;
    std::uint32_t next;  // to be overwritten
  };
  std::array<Set, kSets> sets;
};
static_assert(std::is_trivially_destructible_v<Memos>);
thread_local Memos t_memos;

// glibc's variable. Found early, because callbacks do not enter the loader.
std::atomic<void* const*> g_stack_end{nullptr};

// For the main thread glibc reads them in /proc, which a sandbox may lack. Its frames begin right below where the
// kernel put the arguments, and go as far down as the kernel lets the stack grow.
void find_main_bounds(ThreadBounds& bounds) noexcept {
  constexpr rlim_t kMost = 128 << 20;  // what the kernel leaves free below a stack without a limit
  rlimit limit{};
  const auto* end = g_stack_end.load(std::memory_order_relaxed);
  if (end == nullptr || syscall(SYS_gettid) != getpid() || getrlimit(RLIMIT_STACK, &limit) != 0) return;
  bounds.high = reinterpret_cast<std::uintptr_t>(*end);
  bounds.low = bounds.high - std::min(limit.rlim_cur, kMost);
}

void read_bounds(ThreadBounds& bounds) noexcept {
  bounds.is_known = true;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return find_main_bounds(bounds);
  void* low = nullptr;
  std::size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    bounds.low = reinterpret_cast<std::uintptr_t>(low);
    bounds.high = bounds.low + size;
  }
  pthread_attr_destroy(&attributes);
}

// A return address as it stands on the stack -> the address. On aarch64 it may be signed (pointer authentication): the
// signature depends on the place, so that the same word means the same address in the same place.
std::uintptr_t without_signature(std::uintptr_t word) noexcept {
#if defined(__aarch64__)
  // xpaclri, which older processors take for a nop: they sign nothing. It knows x30 alone.
  register std::uintptr_t link __asm__("x30") = word;
  __asm__("hint #7" : "+r"(link));
  return link;
#else
  return word;
#endif
}

bool is_driver(std::string_view path) noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libcupti.so") || name.starts_with("libcuda.so");
}

}  // namespace

// The registers of a frame that matter, and where its stack may be read.
struct UnwindTable::Cursor {
  std::uintptr_t pc;
  std::uintptr_t sp;
  std::uintptr_t fp;
  std::uintptr_t high;
  std::uintptr_t pc_address;  // where pc was read, and what stood there
  std::uintptr_t pc_word;
  std::uintptr_t fp_address;  // where fp was read; 0: nowhere
  WalkMemo& memo;

  // Reads one word of the stack at or above the frame; false when it is not there.
  bool load(std::uintptr_t address, std::uintptr_t& word) const noexcept {
    if (address < sp || address > high - sizeof word || (address & 7) != 0) return false;
    std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
    return true;
  }

  static std::uintptr_t bytes_of(std::int64_t words) noexcept { return static_cast<std::uintptr_t>(words * 8); }

  bool cfa_of(const UnwindRule& rule, std::uintptr_t& cfa) const noexcept {
    const std::uintptr_t offset = bytes_of(rule.cfa_words());
    if (rule.cfa_kind != CfaKind::kFromSp) use_fp();
    if (rule.cfa_kind == CfaKind::kFromSp) {
      cfa = sp + offset;
    } else if (rule.cfa_kind == CfaKind::kFromFp) {
      cfa = fp + offset;
    } else if (!load(fp + offset, cfa)) {
      return false;
    } else {
      memo.add(fp + offset, cfa, WalkMemo::kLink);
    }
    // Callers stand strictly above: a walk always ends.
    return cfa > sp && cfa <= high && (cfa & 7) == 0;
  }

  bool step(const UnwindRule& rule, std::uintptr_t cfa) noexcept {
    std::uintptr_t caller_fp = 0;
    std::uintptr_t from = 0;
    if (rule.fp_kind == FpKind::kUnchanged) {
      caller_fp = fp;
      from = fp_address;
    } else if (rule.fp_kind != FpKind::kUnknown) {
      if (rule.fp_kind == FpKind::kNearFp) use_fp();
      from = (rule.fp_kind == FpKind::kAtCfa ? cfa : fp) + bytes_of(rule.fp_words);
      if (!load(from, caller_fp)) return false;
    }
    pc_address = cfa + bytes_of(rule.return_words);
    if (!load(pc_address, pc_word)) return false;
    pc = without_signature(pc_word);
    sp = cfa;
    fp = caller_fp;
    fp_address = from;
    return true;
  }

  // fp leads on from here. Elsewhere it may be any number of the program's, and change from walk to walk.
  void use_fp() const noexcept {
    if (fp_address != 0) memo.add(fp_address, fp, WalkMemo::kLink);
  }
};

UnwindTable::UnwindTable(Omit omit) noexcept : rules_(kRuleSetsLog2), omit_(omit) {
  generation_.store(unload_count(), std::memory_order_release);
  g_stack_end.store(static_cast<void* const*>(dlsym(RTLD_DEFAULT, "__libc_stack_end")), std::memory_order_relaxed);
}

void UnwindTable::notice_unloads() noexcept {
  const std::uint64_t count = unload_count();
  if (generation_.exchange(count, std::memory_order_acq_rel) != count) rules_.clear();
}

UnwindRule UnwindTable::rule_of(std::uintptr_t return_address) noexcept {
  std::uint64_t word = 0;
  return rules_.find(return_address, word) ? std::bit_cast<UnwindRule>(word) : look_up(return_address);
}

UnwindRule UnwindTable::look_up(std::uintptr_t return_address) noexcept {
  notice_unloads();
  UnwindRule rule{};
  try {
    // The address behind the call may belong to the next function, when the call never returns.
    const std::uintptr_t call = return_address - 1;
    LoadedModule module;
    if (find_module(call, module)) {
      rule = read_unwind_rule(module, call);
      const auto own = reinterpret_cast<std::uintptr_t>(&read_bounds);
      const bool is_own = own >= module.mapped_begin && own < module.mapped_end;
      rule.is_dropped = omit_ == Omit::kOwnAndDriver && (is_own || is_driver(module.path));
    }
  } catch (const std::bad_alloc&) {
    return {};  // not kept: there may be memory the next time
  }
  rules_.insert(return_address, std::bit_cast<std::uint64_t>(rule));
  return rule;
}

#if defined(__x86_64__) || defined(__aarch64__)

__attribute__((noinline)) void UnwindTable::walk(std::uintptr_t evaluator, NativeStack& stack) noexcept {
  stack.count = 0;
  stack.is_truncated = true;
  stack.hash = kHashSeed;
  ThreadBounds& bounds = t_bounds;
  if (!bounds.is_known) read_bounds(bounds);
  if (bounds.walk_count++ % kWalksBetweenChecks == 0) notice_unloads();
  // A function that calls __builtin_frame_address has a frame pointer, which points to the caller's. The return
  // address follows.
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  // A fiber or an alternate signal stack: nobody says where it ends.
  if (frame < bounds.low || frame + 16 > bounds.high) return;
  const WalkMemo::Key key{this, generation(), frame, evaluator};
  Memos::Set& memos = t_memos.sets[mix(frame, evaluator) % Memos::kSets];
  for (const WalkMemo& memo : memos.ways) {
    stack.count = 0;
    const auto keep = [&](std::uintptr_t word) { stack.return_addresses[stack.count++] = without_signature(word); };
    if (!memo.holds(key, keep)) continue;
    stack.is_truncated = false;
    stack.hash = memo.hash();
    return;
  }
  stack.count = 0;
  WalkMemo& memo = memos.ways[memos.next++ % Memos::kWays];
  stack.hash = mix(stack.hash, key.generation);
  memo.begin(key);
  Cursor cursor{0, frame, 0, bounds.high, frame + 8, 0, 0, memo};
#if defined(__aarch64__)
  // There the two words may stand anywhere in the frame: only this function's own rule says where its caller's begins.
  std::uintptr_t here = 0;
  __asm__("adr %0, .\n\tmov %1, sp" : "=&r"(here), "=r"(cursor.sp));
  cursor.fp = frame;
  std::uintptr_t callers = 0;
  if (!cursor.cfa_of(rule_of(here + 1), callers)) return;
#else
  const std::uintptr_t callers = frame + 16;
#endif
  cursor.fp_address = frame;
  if (!cursor.load(frame, cursor.fp) || !cursor.load(frame + 8, cursor.pc_word)) return;
  cursor.pc = without_signature(cursor.pc_word);
  cursor.sp = callers;
  walk_from(cursor, evaluator, stack);
  if (!stack.is_truncated) memo.finish(stack.hash);
}

void UnwindTable::walk_from(Cursor& cursor, std::uintptr_t evaluator, NativeStack& stack) noexcept {
  for (std::uint32_t step = 0; step < kMaxUnwindSteps; ++step) {
    const UnwindRule rule = rule_of(cursor.pc);
    std::uintptr_t cfa = 0;
    const bool is_end = rule.cfa_kind == CfaKind::kEndOfStack;
    const bool has_cfa = !is_end && rule.cfa_kind != CfaKind::kNone && cursor.cfa_of(rule, cfa);
    const bool is_evaluator = has_cfa && evaluator >= cursor.sp && evaluator < cfa;
    const auto use = is_evaluator || rule.is_dropped ? WalkMemo::kLink : WalkMemo::kKept;
    cursor.memo.add(cursor.pc_address, cursor.pc_word, use);
    if (is_evaluator) {
      stack.is_truncated = false;
      return;
    }
    if (!rule.is_dropped) {
      if (stack.count == kMaxNativeFrames) return;
      stack.return_addresses[stack.count++] = cursor.pc;
      stack.hash = mix(stack.hash, cursor.pc);
    }
    if (is_end || !has_cfa || !cursor.step(rule, cfa)) {
      stack.is_truncated = !is_end;
      return;
    }
  }
}

#else

void UnwindTable::walk(std::uintptr_t, NativeStack& stack) noexcept {
  stack.count = 0;
  stack.is_truncated = false;
  stack.hash = kHashSeed;
}

#endif

}  // namespace turnpike::record
