// The wait for the GPUs' work, on a driver that is scripted.
#include "cuda/detach.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace turnpike::cuda {
namespace {

constexpr DriverCode kInvalidContext = 201;
constexpr std::int64_t kLong = 60'000'000'000;

// Two GPUs of three have a context.
struct Script {
  std::vector<std::string> calls;
  std::string failing;        // this call fails,
  DriverCode code = 0;        // with this code
  int questions_in_vain = 0;  // before the work of a GPU is done
  int questions = 0;          // of the event that was recorded last
  int events = 0;             // that exist
  int retained = 0;           // contexts
  int pushed = 0;
};
Script g_script;

DriverCode called(const char* name) {
  g_script.calls.emplace_back(name);
  return g_script.failing == name ? g_script.code : 0;
}

CUctx_st* context_of(int device) {
  return reinterpret_cast<CUctx_st*>(std::uintptr_t{100} + static_cast<std::uintptr_t>(device));
}

Driver scripted_driver() {
  Driver driver;
  driver.device_get_count = [](int* count) {
    *count = 3;
    return called("device_get_count");
  };
  driver.device_get = [](int* device, int ordinal) {
    *device = 10 + ordinal;
    return called("device_get");
  };
  driver.device_primary_ctx_get_state = [](int device, unsigned int*, int* is_active) {
    *is_active = device != 11 ? 1 : 0;
    return called("state");
  };
  driver.device_primary_ctx_retain = [](CUctx_st** context, int device) {
    EXPECT_NE(device, 11) << "that would make a context";
    *context = context_of(device);
    const DriverCode code = called("retain");
    g_script.retained += code == 0;
    return code;
  };
  driver.device_primary_ctx_release = [](int) {
    --g_script.retained;
    return called("release");
  };
  driver.ctx_push_current = [](CUctx_st*) {
    const DriverCode code = called("push");
    g_script.pushed += code == 0;
    return code;
  };
  driver.ctx_pop_current = [](CUctx_st**) {
    --g_script.pushed;
    return called("pop");
  };
  driver.event_create = [](CUevent_st** event, unsigned int flags) {
    EXPECT_EQ(flags, kEventDisableTiming);
    *event = reinterpret_cast<CUevent_st*>(std::uintptr_t{7});
    const DriverCode code = called("create");
    g_script.events += code == 0;
    return code;
  };
  driver.ctx_record_event = [](CUctx_st* context, CUevent_st*) {
    EXPECT_TRUE(context == context_of(10) || context == context_of(12));
    g_script.questions = 0;
    return called("record");
  };
  driver.event_query = [](CUevent_st*) {
    const DriverCode code = called("query");
    return code != 0 ? code : g_script.questions++ < g_script.questions_in_vain ? kNotReady : 0;
  };
  driver.event_destroy = [](CUevent_st*) {
    --g_script.events;
    return called("destroy");
  };
  return driver;
}

class WaitForGpus : public testing::Test {
 protected:
  WaitForGpus() { g_script = {}; }
  ~WaitForGpus() override {
    EXPECT_EQ(g_script.events, 0);
    EXPECT_EQ(g_script.retained, 0);
    EXPECT_EQ(g_script.pushed, 0);
  }
  static auto times(const char* call) { return std::count(g_script.calls.begin(), g_script.calls.end(), call); }
};

TEST_F(WaitForGpus, AsksEachThatHasAContextUntilItIsDone) {
  g_script.questions_in_vain = 3;
  EXPECT_TRUE(wait_for_gpus(scripted_driver(), kLong));
  EXPECT_EQ(times("record"), 2);
  EXPECT_EQ(times("query"), 2 * 4);
}

TEST_F(WaitForGpus, AsksOnceWhereNothingIsQueued) {
  EXPECT_TRUE(wait_for_gpus(scripted_driver(), 0));
  EXPECT_EQ(times("query"), 2);
}

TEST_F(WaitForGpus, GivesUpOnWorkThatDoesNotEnd) {
  g_script.questions_in_vain = 1'000'000'000;
  EXPECT_FALSE(wait_for_gpus(scripted_driver(), 5'000'000));
  EXPECT_EQ(times("record"), 1) << "the time is of all together";
}

TEST_F(WaitForGpus, SaysNoWhereACallFails) {
  for (const char* call : {"device_get_count", "device_get", "state", "retain", "push", "create", "record", "query"}) {
    g_script = {};
    g_script.failing = call;
    g_script.code = kInvalidContext;
    EXPECT_FALSE(wait_for_gpus(scripted_driver(), kLong)) << call;
  }
}

TEST_F(WaitForGpus, AsksNothingOfADriverThatCannotTell) {
  Driver driver = scripted_driver();
  driver.ctx_record_event = nullptr;
  EXPECT_FALSE(wait_for_gpus(driver, kLong));
  EXPECT_TRUE(g_script.calls.empty());
}

}  // namespace
}  // namespace turnpike::cuda
