// Which threads launch, and which are autograd's.
#include "analyze/model/threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using trace::AutogradRole;
using trace::CallKind;

LoadedProcess calls_of(const std::vector<CallSpec>& calls) {
  ProcessBuilder builder;
  for (const CallSpec& call : calls) builder.call(call);
  return builder.take();
}

TEST(Threads, ThatLaunchAKernelOrAGraphAreTheHost) {
  const LoadedProcess process = calls_of({{.kind = CallKind::kLaunch, .thread = 1},
                                          {.kind = CallKind::kGraphLaunch, .thread = 2},
                                          {.kind = CallKind::kCopy, .thread = 3}});
  EXPECT_THAT(host_threads_of(process.timeline), UnorderedElementsAre(1u, 2u));
}

TEST(Threads, AreAllTheHostWhereNoneLaunches) {
  const LoadedProcess process =
      calls_of({{.kind = CallKind::kCopy, .thread = 3}, {.kind = CallKind::kSynchronize, .thread = 4}});
  EXPECT_THAT(host_threads_of(process.timeline), UnorderedElementsAre(3u, 4u));
}

TEST(Threads, AreNamedForAutogradByPyTorch) {
  ProcessBuilder builder;
  builder.thread(1, "python");
  builder.thread(2, "pt_autograd_0");
  builder.thread(3, "my_pt_autograd");
  const LoadedProcess process = builder.take();
  EXPECT_THAT(threads_named_for_autograd(process.process, process.timeline), UnorderedElementsAre(2u));
}

TEST(Threads, AreBusyWithBackwardWhereMoreOfTheirCallsAreThanWithForward) {
  const LoadedProcess process = calls_of({{.start_ns = 10, .end_ns = 15, .thread = 1, .role = AutogradRole::kBackward},
                                          {.start_ns = 20, .end_ns = 25, .thread = 2, .role = AutogradRole::kForward},
                                          {.start_ns = 30, .end_ns = 35, .thread = 2, .role = AutogradRole::kBackward},
                                          {.start_ns = 40, .end_ns = 45, .thread = 3}});
  const std::vector<std::uint32_t> all = {0, 1, 2, 3};
  EXPECT_THAT(threads_busy_with_backward(process.timeline, all), UnorderedElementsAre(1u));
  const std::vector<std::uint32_t> without_forward = {2, 3};
  EXPECT_THAT(threads_busy_with_backward(process.timeline, without_forward), UnorderedElementsAre(2u));
  EXPECT_THAT(threads_busy_with_backward(process.timeline, {}), IsEmpty());
}

}  // namespace
}  // namespace turnpike::analyze
