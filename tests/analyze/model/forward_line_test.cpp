// The forward call behind a backward one, and the cases in which it must not be guessed.
#include "analyze/model/forward_line.h"

#include <gtest/gtest.h>

#include <limits>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using trace::AutogradRole;

constexpr std::uint32_t kAutogradThread = 200;

CallSpec forward(std::int64_t start_ns, std::uint64_t sequence, std::uint32_t thread = kMainThread) {
  return {.start_ns = start_ns,
          .end_ns = start_ns + 1,
          .thread = thread,
          .role = AutogradRole::kForward,
          .sequence = sequence};
}

// The start of the forward call that is found for node `node` at time 1000; -1: none.
std::int64_t find(const std::vector<CallSpec>& calls, std::uint64_t node) {
  ProcessBuilder builder;
  for (const CallSpec& call : calls) builder.call(call);
  builder.call(
      {.start_ns = 1000, .end_ns = 1001, .thread = kAutogradThread, .role = AutogradRole::kBackward, .sequence = node});
  const Timeline timeline = builder.take().timeline;
  for (const Call& call : timeline.calls) {
    if (call.autograd_role != AutogradRole::kBackward) continue;
    const std::uint32_t found = ForwardLines(timeline).find(call);
    return found == kNone ? -1 : timeline.calls[found].start_ns;
  }
  return -1;
}

TEST(ForwardLine, IsTheFirstCallAfterTheNodeWasMade) {
  EXPECT_EQ(find({forward(10, 0), forward(20, 1), forward(30, 1), forward(40, 2)}, 0), 20);
  EXPECT_EQ(find({forward(10, 0), forward(20, 1), forward(30, 1), forward(40, 2)}, 1), 40);
}

TEST(ForwardLine, DoesNotDependOnTheOrderOfRecords) {
  EXPECT_EQ(find({forward(30, 1), forward(20, 1)}, 0), 20);
}

TEST(ForwardLine, IsUnknownWhenTheOperationCalledNothing) {
  EXPECT_EQ(find({forward(10, 0), forward(20, 3)}, 0), -1);  // the call is of node 2
}

TEST(ForwardLine, IsUnknownWhenTheNodeWasNotSeen) {
  EXPECT_EQ(find({forward(10, 0), forward(20, 1)}, 5), -1);
  EXPECT_EQ(find({}, 0), -1);
}

TEST(ForwardLine, IsUnknownWhenTwoThreadsMadeSuchANode) {
  EXPECT_EQ(find({forward(20, 1, 1), forward(30, 1, 2)}, 0), -1);
  EXPECT_EQ(find({forward(20, 1, 1), forward(30, 7, 2)}, 0), -1);  // the other one passed it without a call
}

TEST(ForwardLine, IsKnownWhenTheOtherThreadDidNotGetThatFar) {
  EXPECT_EQ(find({forward(20, 6, 1), forward(30, 2, 2)}, 5), 20);
}

TEST(ForwardLine, LiesBeforeTheBackwardCall) {
  EXPECT_EQ(find({forward(10, 0), forward(2000, 1)}, 0), -1);
  EXPECT_EQ(find({forward(20, 1, 1), forward(2000, 1, 2)}, 0), 20);
}

TEST(ForwardLine, IsUnknownWhenAThreadIdWasUsedTwice) {
  EXPECT_EQ(find({forward(10, 1), forward(20, 2), forward(30, 0), forward(40, 1)}, 0), -1);
}

TEST(ForwardLine, OfAGradientAccumulatorIsUnknown) {
  EXPECT_EQ(find({forward(10, 0)}, std::numeric_limits<std::uint64_t>::max()), -1);
}

TEST(ForwardLine, IsOnlyAskedOfBackwardCalls) {
  ProcessBuilder builder;
  builder.call(forward(10, 1));
  builder.call(forward(20, 0));
  builder.call({.start_ns = 30, .end_ns = 31});
  const Timeline timeline = builder.take().timeline;
  const ForwardLines lines(timeline);
  for (const Call& call : timeline.calls) EXPECT_EQ(lines.find(call), kNone);
}

}  // namespace
}  // namespace turnpike::analyze
