// Native stacks: every return address is the one that the compiler's own unwinder finds.
#include "record/stacks/native_stack.h"

#include <alloca.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <cstdarg>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline))
// Frames that GCC makes only in optimized code. clang, which builds for the sanitizers, makes its usual ones.
#ifdef __clang__
#define OPTIMIZED(...) NOINLINE
#else
#define OPTIMIZED(...) __attribute__((noinline, optimize("O2" __VA_OPT__(, ) __VA_ARGS__)))
#endif

namespace turnpike::record {
namespace {

struct Both {
  std::vector<std::uintptr_t> ours;
  std::vector<std::uintptr_t> compilers;
  bool is_truncated = false;
};

Both g_both;

UnwindTable& table() {
  static UnwindTable table(Omit::kNothing);
  return table;
}

_Unwind_Reason_Code keep(_Unwind_Context* context, void* to) {
  static_cast<std::vector<std::uintptr_t>*>(to)->push_back(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}

NOINLINE int capture_both(int depth) {
  g_both = Both{};
  NativeStack stack;
  table().walk(0, stack);
  g_both.ours.assign(stack.return_addresses.begin(), stack.return_addresses.begin() + stack.count);
  g_both.is_truncated = stack.is_truncated;
  _Unwind_Backtrace(keep, &g_both.compilers);
  return depth;
}

// The two were taken by two calls of one function: the first addresses differ, the callers' do not.
void expect_same() {
  ASSERT_GT(g_both.ours.size(), 3u);
  ASSERT_GE(g_both.compilers.size(), g_both.ours.size());
  for (std::size_t i = 1; i < g_both.ours.size(); ++i) {
    ASSERT_EQ(g_both.ours[i], g_both.compilers[i]) << "frame " << i;
  }
  if (!g_both.is_truncated) {
    // The compiler's may add a null frame at the end.
    EXPECT_LE(g_both.compilers.size() - g_both.ours.size(), 1u);
  }
}

using Shape = int (*)(int);
int next(int depth);
volatile int g_sink;

NOINLINE int plain(int depth) {
  return next(depth) + 1;
}

OPTIMIZED("omit-frame-pointer") int without_frame_pointer(int depth) {
  volatile char room[200];
  room[depth & 127] = 1;
  return next(depth) + room[3];
}

OPTIMIZED("no-omit-frame-pointer") int with_frame_pointer(int depth) {
  return next(depth) + 1;
}

NOINLINE int with_alloca(int depth) {
  auto* room = static_cast<volatile char*>(alloca(static_cast<std::size_t>(depth) * 33 + 17));
  room[0] = 1;
  return next(depth) + room[0];
}

NOINLINE int realigned(int depth) {
  alignas(128) volatile char room[256];
  room[depth & 127] = 1;
  return next(depth) + room[1];
}

// A realigned stack of a size that is not known: the caller is found through a saved pointer (GCC's DRAP).
OPTIMIZED() int realigned_with_alloca(int depth) {
  alignas(64) volatile char room[64];
  auto* more = static_cast<volatile char*>(alloca(static_cast<std::size_t>(depth) * 7 + 1));
  room[0] = 1;
  more[0] = 1;
  return next(depth) + room[0] + more[0];
}

NOINLINE int with_many_arguments(int depth, ...) {
  va_list arguments;
  va_start(arguments, depth);
  const int sum = va_arg(arguments, int) + next(depth);
  va_end(arguments);
  return sum;
}
NOINLINE int calls_with_many_arguments(int depth) {
  return with_many_arguments(depth, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) + 1;
}

NOINLINE int that_catches(int depth) {
  try {
    if (depth > 1000) throw depth;
    return next(depth) + 1;
  } catch (int) {
    return 0;
  }
}

NOINLINE int through_libc(int depth) {
  struct Call {
    static int compare(const void* key, const void*) { return next(*static_cast<const int*>(key)) * 0; }
  };
  const std::array<int, 1> one{1};
  return bsearch(&depth, one.data(), 1, sizeof(int), Call::compare) == nullptr ? 1 : 2;
}

#if defined(__aarch64__)
// Functions that sign their return address, as distributions build all of theirs.
__attribute__((noinline, target("branch-protection=pac-ret"))) int signed_by_key_a(int depth) {
  return next(depth) + 1;
}
__attribute__((noinline, target("branch-protection=pac-ret+b-key"))) int signed_by_key_b(int depth) {
  volatile char room[2000];
  room[depth & 127] = 1;
  return next(depth) + room[3];
}
#endif

constexpr Shape kShapes[] = {
    plain,           without_frame_pointer,     with_frame_pointer, with_alloca, realigned, realigned_with_alloca,
    that_catches,    calls_with_many_arguments, through_libc,
#if defined(__aarch64__)
    signed_by_key_a, signed_by_key_b,
#endif
};
unsigned g_seed;

NOINLINE int next(int depth) {
  if (depth == 0) return capture_both(depth);
  g_seed = g_seed * 1103515245u + 12345u;
  const int result = kShapes[(g_seed >> 16) % std::size(kShapes)](depth - 1);
  g_sink = result;
  return result + 1;
}

TEST(NativeStack, AgreesWithTheCompilersUnwinderInEveryShapeOfFunction) {
  for (const Shape shape : kShapes) {
    g_seed = 7;
    shape(0);
    expect_same();
    EXPECT_FALSE(g_both.is_truncated);
  }
}

TEST(NativeStack, AgreesWithTheCompilersUnwinderInRandomMixtures) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    g_seed = seed;
    next(static_cast<int>(seed % 18));
    expect_same();
    EXPECT_FALSE(g_both.is_truncated);
  }
}

TEST(NativeStack, AgreesWithTheCompilersUnwinderOnWalksThatWereTakenBefore) {
  for (unsigned round = 0; round < 600; ++round) {
    // Six walks in turn, some of which begin at the same depth, and one that is always new.
    const unsigned seed = round % 7 == 6 ? 1000 + round : 100 + round % 7;
    g_seed = seed;
    next(static_cast<int>(seed % 3 + 4));
    expect_same();
    EXPECT_FALSE(g_both.is_truncated);
  }
}

#if defined(__aarch64__)
// The shapes above show nothing of signatures where the processor makes none.
TEST(NativeStack, ReturnAddressesAreSignedHere) {
  constexpr unsigned long kAddressKeys = 1ul << 30;  // HWCAP_PACA
  struct Signed {
    __attribute__((noinline, target("branch-protection=pac-ret"))) static bool look(int depth) {
      const auto* record = static_cast<const std::uintptr_t*>(__builtin_frame_address(0));
      const bool is_signed = record[1] != reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
      g_sink = depth;
      return (depth > 0 && look(depth - 1)) || is_signed;  // one signature in many thousands is 0
    }
  };
  EXPECT_EQ(Signed::look(5), (getauxval(AT_HWCAP) & kAddressKeys) != 0);
}
#endif

TEST(NativeStack, KeepsTheInnermostOfADeepStackAndSaysSo) {
  g_seed = 3;
  next(60);
  EXPECT_EQ(g_both.ours.size(), kMaxNativeFrames);
  EXPECT_TRUE(g_both.is_truncated);
  expect_same();
}

TEST(NativeStack, ReachesTheEndOfAThreadWithItsOwnStack) {
  constexpr std::size_t kStackBytes = 2 * 1024 * 1024;  // sanitizers want room of their own
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, memory, kStackBytes);
  pthread_t thread;
  const auto run = [](void*) -> void* {
    next(5);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  munmap(memory, kStackBytes);
  expect_same();
  EXPECT_FALSE(g_both.is_truncated);
}

TEST(NativeStack, ReachesTheEndOfACppThread) {
  std::thread([] { next(5); }).join();
  expect_same();
  EXPECT_FALSE(g_both.is_truncated);
}

TEST(NativeStack, ReadsNothingOnAStackWhoseEndNobodyKnows) {
  constexpr std::size_t kStackBytes = 64 * 1024;
  static ucontext_t home, fiber;
  static std::vector<char> memory(kStackBytes);
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = memory.data();
  fiber.uc_stack.ss_size = kStackBytes;
  fiber.uc_link = &home;
  // Without the compiler's unwinder: that one walks off the end of such a stack.
  static NativeStack stack;
  makecontext(&fiber, +[] { table().walk(0, stack); }, 0);
  ASSERT_EQ(swapcontext(&home, &fiber), 0);
  EXPECT_EQ(stack.count, 0u);
  EXPECT_TRUE(stack.is_truncated);
}

TEST(NativeStack, StopsAtCodeThatBelongsToNoModule) {
#if defined(__aarch64__)
  // stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret
  constexpr std::array<std::uint32_t, 5> kCode{0xA9BF7BFD, 0x910003FD, 0xD63F0000, 0xA8C17BFD, 0xD65F03C0};
  constexpr std::uintptr_t kBehindTheCall = 12;
#else
  // push rbp; mov rbp, rsp; call rdi; pop rbp; ret
  constexpr std::array<unsigned char, 8> kCode{0x55, 0x48, 0x89, 0xE5, 0xFF, 0xD7, 0x5D, 0xC3};
  constexpr std::uintptr_t kBehindTheCall = 6;
#endif
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(code, MAP_FAILED);
  std::memcpy(code, kCode.data(), sizeof kCode);
  __builtin___clear_cache(static_cast<char*>(code), static_cast<char*>(code) + sizeof kCode);
  if (mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0) GTEST_SKIP() << "this system forbids code made at run time";
  static NativeStack stack;
  reinterpret_cast<void (*)(void (*)())>(code)([] {
    table().walk(0, stack);
    g_sink = 1;  // keeps this frame: a call at the end would be a jump
  });
  ASSERT_GE(stack.count, 2u);
  EXPECT_EQ(stack.return_addresses[stack.count - 1], reinterpret_cast<std::uintptr_t>(code) + kBehindTheCall);
  EXPECT_TRUE(stack.is_truncated);
  munmap(code, 4096);
}

TEST(NativeStack, StopsBelowTheFrameThatHoldsTheEvaluatorsAddress) {
  struct Evaluator {
    static NOINLINE std::uint32_t run() {
      volatile std::uint64_t marker = 1;
      NativeStack stack;
      call(reinterpret_cast<std::uintptr_t>(&marker), stack);
      g_sink = static_cast<int>(marker);
      EXPECT_FALSE(stack.is_truncated);
      return stack.count;
    }
    static NOINLINE void call(std::uintptr_t evaluator, NativeStack& stack) {
      table().walk(evaluator, stack);
      g_sink = 1;
    }
  };
  EXPECT_EQ(Evaluator::run(), 1u);
}

// glibc reads the bounds of the main thread's stack in /proc. In a process of its own: a thread's are read once.
TEST(NativeStackDeathTest, IsWalkedToItsEndAlsoWhereFilesCannotBeOpened) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto walk = [] {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) _exit(3);
    capture_both(0);
    const bool is_whole = !g_both.is_truncated && g_both.ours.size() > 3 && g_both.ours[3] == g_both.compilers[3];
    _exit(is_whole ? 0 : 1);
  };
  EXPECT_EXIT(walk(), testing::ExitedWithCode(0), "");
}

TEST(NativeStack, OmitsItsOwnModulesFrames) {
  UnwindTable recorders(Omit::kOwnAndDriver);
  NativeStack stack;
  recorders.walk(0, stack);
  NativeStack all;
  table().walk(0, all);
  EXPECT_FALSE(stack.is_truncated);
  EXPECT_LT(stack.count, all.count);
  // What is left are the frames of the C library that called main.
  EXPECT_GT(stack.count, 0u);
}

TEST(NativeStack, SameCallSameHashOtherCallOtherHash) {
  std::array<NativeStack, 2> same;
  NativeStack other;
  // Volatile, or the compiler makes two calls of the loop's one.
  volatile std::size_t rounds = same.size();
  for (std::size_t round = 0; round < rounds; ++round) table().walk(0, same[round]);
  table().walk(0, other);
  EXPECT_EQ(same[0].hash, same[1].hash);
  EXPECT_NE(same[0].hash, other.hash);
}

// Two libraries that differ in the size of one function's frame alone, so that the loader puts the second where the
// first was, and the return address through it is the same.
TEST(NativeStack, FollowsALibraryThatTookAnothersPlace) {
  using Through = int (*)(int (*)(int), int);
  std::uintptr_t addresses[2]{};
  for (int i = 0; i < 2; ++i) {
    void* library = dlopen(i == 0 ? TURNPIKE_SMALL_FRAME_LIBRARY : TURNPIKE_LARGE_FRAME_LIBRARY, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto through = reinterpret_cast<Through>(dlsym(library, "call_through"));
    addresses[i] = reinterpret_cast<std::uintptr_t>(through);
    // The worst case: not one new address meets the walk, and it notices within its 64.
    for (int walk = 0; walk < 64; ++walk) through(capture_both, 0);
    expect_same();
    EXPECT_FALSE(g_both.is_truncated);
    dlclose(library);
  }
  EXPECT_EQ(addresses[0], addresses[1]) << "the loader chose another place: the test shows less than it should";
}

TEST(NativeStack, ManyThreadsWalkAtOnce) {
  UnwindTable fresh(Omit::kNothing);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::uint32_t count = 0;
      for (int i = 0; i < 2000; ++i) {
        NativeStack stack;
        fresh.walk(0, stack);
        if (i > 0 && stack.count != count) ++wrong;
        if (stack.is_truncated) ++wrong;
        count = stack.count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace turnpike::record
