// What becomes of an exception in frames as compilers make them: what is predicted, against what happens.
#include "guard/landing.h"

#include <gtest/gtest.h>
#include <unwind.h>

#include <stdexcept>
#include <vector>

namespace turnpike::guard {
namespace {

// The landings of the frames above, from the caller on, up to the test's.
std::vector<Landing> g_landings;

_Unwind_Reason_Code visit(_Unwind_Context* context, void*) {
  int is_before = 0;
  const auto address = static_cast<std::uintptr_t>(_Unwind_GetIPInfo(context, &is_before)) - (is_before != 0 ? 0 : 1);
  const auto* table = reinterpret_cast<const unsigned char*>(_Unwind_GetLanguageSpecificData(context));
  g_landings.push_back(table == nullptr
                           ? Landing::kPasses
                           : landing_at(table, static_cast<std::uintptr_t>(_Unwind_GetRegionStart(context)), address));
  return _URC_NO_REASON;
}

// A call that may throw, for all that the compiler knows.
[[gnu::noinline]] void look() {
  g_landings.clear();
  _Unwind_Backtrace(visit, nullptr);
  asm volatile("");
}

Landing first_decision() {
  for (const Landing one : g_landings) {
    if (one != Landing::kPasses) return one;
  }
  return Landing::kPasses;
}

void (*volatile g_look)() = look;

struct Cleans {
  ~Cleans() { asm volatile(""); }
};

[[gnu::noinline]] void call_with_cleanup() {
  const Cleans it;
  g_look();
}
TEST(Landing, HandlersThatTakeARuntimeErrorCatch) {
  try {
    g_look();
  } catch (const std::exception&) {
  }
  EXPECT_EQ(first_decision(), Landing::kCatches);
  try {
    call_with_cleanup();
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(first_decision(), Landing::kCatches);
  try {
    g_look();
  } catch (...) {
  }
  EXPECT_EQ(first_decision(), Landing::kCatches);
}

[[gnu::noinline]] void catch_others() {
  try {
    g_look();
  } catch (const std::logic_error&) {
  } catch (int) {
  }
}

TEST(Landing, OtherHandlersAndCleanupsLetItPass) {
  try {
    catch_others();
  } catch (const std::exception&) {
  }
  ASSERT_GE(g_landings.size(), 2u);
  EXPECT_EQ(g_landings[1], Landing::kPasses);
  EXPECT_EQ(first_decision(), Landing::kCatches);
}

#ifndef __clang__  // which writes them as handlers that end the program; nothing in the tables tells those apart
struct LooksAtItsEnd {
  ~LooksAtItsEnd() { g_look(); }
};
[[gnu::noinline]] void destroy() {
  const LooksAtItsEnd it;
}

[[gnu::noinline]] void call_noexcept() noexcept {
  g_look();
  asm volatile("");
}

TEST(Landing, DestructorsAndNoexceptTerminate) {
  try {
    destroy();
  } catch (...) {
  }
  EXPECT_EQ(first_decision(), Landing::kTerminates);
  try {
    call_noexcept();
  } catch (...) {
  }
  EXPECT_EQ(first_decision(), Landing::kTerminates);
}
#endif

}  // namespace
}  // namespace turnpike::guard
