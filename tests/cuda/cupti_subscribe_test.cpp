// Under which name CUPTI is subscribed to, and who is said to hold it.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "cuda/cupti.h"

namespace turnpike::cuda {
namespace {

constexpr CuptiResult kInvalidParameter = 1;

void on_nothing(void*, CallbackDomain, std::uint32_t, const void*) {}

int g_plain_count = 0;

Cupti cupti_that_answers(CuptiResult (*subscribe_by_name)(void**, CallbackFunction, void*, void*)) {
  g_plain_count = 0;
  Cupti cupti{};
  cupti.subscribe = [](void** subscriber, CallbackFunction, void*) {
    ++g_plain_count;
    *subscriber = &g_plain_count;
    return kCuptiSuccess;
  };
  cupti.subscribe_by_name = subscribe_by_name;
  return cupti;
}

TEST(CuptiSubscription, HasOurNameWhereCuptiKnowsNames) {
  Cupti cupti{};
  std::string message;
  ASSERT_TRUE(load_cupti(TURNPIKE_FAKE_CUPTI, cupti, message)) << message;
  ASSERT_NE(cupti.subscribe_by_name, nullptr);
  void* ours = nullptr;
  void* second = nullptr;
  std::string holder = "of an earlier call";
  ASSERT_EQ(cupti.subscribe_as_turnpike(&ours, on_nothing, nullptr, holder), kCuptiSuccess);
  EXPECT_EQ(holder, "");
  ASSERT_EQ(cupti.subscribe_as_turnpike(&second, on_nothing, nullptr, holder), kCuptiMultipleSubscribers);
  EXPECT_EQ(holder, "CUPTI for turnpike");
}

TEST(CuptiSubscription, IsThePlainOneOfALibraryWithoutNames) {
  const Cupti cupti = cupti_that_answers(nullptr);
  void* subscriber = nullptr;
  std::string holder;
  EXPECT_EQ(cupti.subscribe_as_turnpike(&subscriber, on_nothing, nullptr, holder), kCuptiSuccess);
  EXPECT_EQ(g_plain_count, 1);
}

TEST(CuptiSubscription, IsThePlainOneWhereOurParametersAreRefused) {
  const Cupti cupti =
      cupti_that_answers([](void**, CallbackFunction, void*, void*) -> CuptiResult { return kInvalidParameter; });
  void* subscriber = nullptr;
  std::string holder;
  EXPECT_EQ(cupti.subscribe_as_turnpike(&subscriber, on_nothing, nullptr, holder), kCuptiSuccess);
  EXPECT_EQ(g_plain_count, 1);
}

TEST(CuptiSubscription, IsNotTriedTwiceWhereAnotherToolHoldsCupti) {
  const Cupti cupti =
      cupti_that_answers([](void**, CallbackFunction, void*, void*) { return kCuptiMultipleSubscribers; });
  void* subscriber = nullptr;
  std::string holder;
  EXPECT_EQ(cupti.subscribe_as_turnpike(&subscriber, on_nothing, nullptr, holder), kCuptiMultipleSubscribers);
  EXPECT_EQ(g_plain_count, 0);
  EXPECT_EQ(holder, "");
}

// The first four words of CUpti_SubscriberParams.
struct Parameters {
  std::size_t size_bytes;
  const char* name;
  char* holder;
  std::size_t holder_bytes;
};

TEST(CuptiSubscription, EndsWhatCuptiWroteToTheLastByte) {
  const Cupti cupti = cupti_that_answers([](void**, CallbackFunction, void*, void* given) {
    const auto* parameters = static_cast<const Parameters*>(given);
    EXPECT_EQ(parameters->size_bytes, sizeof(Parameters)) << "of CUDA 13.0, which all later versions know";
    EXPECT_STREQ(parameters->name, "turnpike");
    EXPECT_GE(parameters->holder_bytes, 64u);
    std::memset(parameters->holder, 'x', parameters->holder_bytes);
    return kCuptiMultipleSubscribers;
  });
  void* subscriber = nullptr;
  std::string holder;
  EXPECT_EQ(cupti.subscribe_as_turnpike(&subscriber, on_nothing, nullptr, holder), kCuptiMultipleSubscribers);
  EXPECT_EQ(holder, std::string(127, 'x'));
}

}  // namespace
}  // namespace turnpike::cuda
