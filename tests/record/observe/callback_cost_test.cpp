// What the observer costs each call of CUDA, in instructions: a clock says nothing on a machine that does other work.
#include <cupti.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "count_instructions.h"
#include "record/observe/observed_calls.h"

namespace turnpike::record {
namespace {

class CallbackCost : public ApiObserverTest {
 protected:
  // Of both callbacks of a call that was made before, from the same place.
  template <typename Make>
  std::uint64_t taken_by(const Make& call) {
    constexpr int kCountedCalls = 3;
    std::uint64_t fewest = ~std::uint64_t{0};
    for (int turn = 0; turn < 100 + kCountedCalls; ++turn) {
      const bool is_counted = turn >= 100;
      if (is_counted) begin_counting();
      call();
      if (is_counted) fewest = std::min(fewest, end_counting());
      handover_->drain([](const std::byte*) {});
    }
    return fewest;
  }
  // Without what the test itself takes, and CUPTI's callback while the recorder does not listen.
  template <typename Make>
  std::uint64_t added_to(const Make& call) {
    observer_->set_listening(false);
    const std::uint64_t plain = taken_by(call);
    observer_->set_listening(true);
    return taken_by(call) - plain;
  }

  const cudaMemcpyAsync_v3020_params kSmallCopy = {pointer(11), pointer(12), 13, cudaMemcpyDeviceToDevice,
                                                   static_cast<cudaStream_t>(pointer(14))};
};

// Each limit is about 1.2 times what was counted with GCC 12 at -O2.
TEST_F(CallbackCost, OfWhatIsRecorded) {
  ASSERT_TRUE(subscribe());
  EXPECT_LE(added_to([&] { make({.id = kCopy, .correlation = ++next_correlation_, .parameters = &kSmallCopy}); }),
            1400u);
  EXPECT_LE(added_to([&] { make({.id = kSync, .correlation = ++next_correlation_}); }), 1500u);
  EXPECT_LE(added_to([&] { make({.id = kRecord, .correlation = ++next_correlation_}); }), 630u);
  EXPECT_LE(added_to([&] {
              make({.domain = CallbackDomain::kDriverApi, .id = kLaunch, .correlation = ++next_correlation_});
            }),
            660u);
}

TEST_F(CallbackCost, WithoutStacks) {
  Options options;
  options.has_stacks = false;
  ASSERT_TRUE(subscribe(options));
  EXPECT_LE(added_to([&] { make({.id = kCopy, .correlation = ++next_correlation_, .parameters = &kSmallCopy}); }),
            730u);
  EXPECT_LE(added_to([&] { make({.id = kSync, .correlation = ++next_correlation_}); }), 660u);
}

// A driver call inside of a call of the runtime, which alone is recorded.
TEST_F(CallbackCost, OfACallWithinAnother) {
  ASSERT_TRUE(subscribe());
  Call outer{.id = kCopy, .correlation = ++next_correlation_, .parameters = &kSmallCopy};
  at(CallbackSite::kEnter, outer);
  EXPECT_LE(added_to([&] {
              make({.domain = CallbackDomain::kDriverApi, .id = kDriverCopy, .correlation = next_correlation_});
            }),
            155u);
  at(CallbackSite::kExit, outer);
}

TEST_F(CallbackCost, WhileNotListening) {
  ASSERT_TRUE(subscribe());
  // Most of it is the test's own.
  EXPECT_LE(taken_by([&] { make({.id = kSync, .correlation = ++next_correlation_}); }), 365u);
}

}  // namespace
}  // namespace turnpike::record
