// Stacks from spans: the order of spans, the tree of chains, and where a chain is cut.
#include "ingest/kineto/stacks.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace turnpike::ingest {
namespace {

using ::testing::ElementsAre;
using trace::AutogradRole;

std::vector<std::uint32_t> frames_of(const StackTree& tree, std::uint32_t stack) {
  trace::Process process;
  tree.write_to(process);
  const auto frames = process.stacks.at(stack).frames;
  return {frames.begin(), frames.end()};
}

// Spans of `run_count` sorted runs, each twice as long as the one before it began later.
std::vector<HostSpan> spans_in_runs(std::uint32_t run_count) {
  std::vector<HostSpan> spans;
  for (std::uint32_t run = 0; run < run_count; ++run) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      const std::int64_t start_ns = 100 * i + 7 * (run % 5);
      spans.push_back({.start_ns = start_ns, .end_ns = start_ns + 1'000 - run, .frame = 1 + run * 3 + i});
    }
  }
  return spans;
}

TEST(KinetoSpans, AreSortedFromTheOuterToTheInner) {
  for (const std::uint32_t run_count : {0u, 1u, 2u, 3u, 4u, 5u, 31u, 62u, 63u, 64u, 65u, 66u, 100u}) {
    std::vector<HostSpan> spans = spans_in_runs(run_count);
    std::vector<std::uint32_t> expected;
    auto sorted = spans;
    std::stable_sort(sorted.begin(), sorted.end(), [](const HostSpan& a, const HostSpan& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    });
    for (const HostSpan& span : sorted) expected.push_back(span.frame);
    sort_spans(spans);
    std::vector<std::uint32_t> found;
    for (const HostSpan& span : spans) found.push_back(span.frame);
    EXPECT_EQ(found, expected) << run_count;
  }
}

TEST(KinetoSpans, ThatAreEqualKeepTheirOrder) {
  std::vector<HostSpan> spans = {{.start_ns = 5, .end_ns = 9, .frame = 1},
                                 {.start_ns = 5, .end_ns = 9, .frame = 2},
                                 {.start_ns = 1, .end_ns = 9, .frame = 3},
                                 {.start_ns = 5, .end_ns = 9, .frame = 4}};
  sort_spans(spans);
  std::vector<std::uint32_t> found;
  for (const HostSpan& span : spans) found.push_back(span.frame);
  EXPECT_THAT(found, ElementsAre(3, 1, 2, 4));
}

TEST(StackTree, GivesOneNumberToOneChain) {
  StackTree tree;
  const std::uint32_t a = tree.child(0, 7);
  const std::uint32_t b = tree.child(a, 8);
  EXPECT_EQ(a, 1u);
  EXPECT_EQ(b, 2u);
  EXPECT_EQ(tree.child(0, 7), a);
  EXPECT_EQ(tree.child(a, 8), b);
  EXPECT_NE(tree.child(0, 8), b);
  EXPECT_NE(tree.child(b, 7), a);
  tree.use(b);
  trace::Process process;
  EXPECT_EQ(tree.write_to(process), 0u);
  EXPECT_EQ(process.stacks.size(), 1u);
  EXPECT_THAT(frames_of(tree, b), ElementsAre(8, 7));
}

TEST(StackTree, CutsWhatIsDeeperThanTheLimit) {
  StackTree tree;
  std::uint32_t node = 0;
  for (std::uint32_t depth = 1; depth <= StackTree::kMaxDepth + 2; ++depth) {
    node = tree.child(node, depth);
    if (depth >= StackTree::kMaxDepth) tree.use(node);
  }
  trace::Process process;
  EXPECT_EQ(StackTree::kMaxDepth, 512u);
  EXPECT_EQ(tree.write_to(process), 2u);
  ASSERT_EQ(process.stacks.size(), 3u);
  EXPECT_EQ(process.stacks.at(512).frames.size(), 512u);
  EXPECT_FALSE(process.stacks.at(512).is_truncated);
  EXPECT_EQ(process.stacks.at(513).frames.size(), 512u);
  EXPECT_TRUE(process.stacks.at(513).is_truncated);
  EXPECT_EQ(process.stacks.at(513).frames.front(), 513u);
  EXPECT_EQ(process.stacks.at(513).frames.back(), 2u);
  EXPECT_TRUE(process.stacks.at(514).is_truncated);
}

class OpenSpansTest : public testing::Test {
 protected:
  std::vector<AutogradMark> marks_ = {{AutogradRole::kForward, 11},
                                      {AutogradRole::kBackward, 12},
                                      {AutogradRole::kBackward, 13},
                                      {AutogradRole::kForward, 14}};
  StackTree tree_;
};

TEST_F(OpenSpansTest, HoldTheirStartAndNotTheirEnd) {
  const std::vector<HostSpan> spans = {{.start_ns = 10, .end_ns = 40, .frame = 1},
                                       {.start_ns = 10, .end_ns = 20, .frame = 2},
                                       {.start_ns = 20, .end_ns = 30, .frame = 3},
                                       {.start_ns = 40, .end_ns = 50, .frame = 4}};
  OpenSpans open(spans, marks_, tree_);
  const auto frames_at = [&](std::int64_t time_ns) {
    open.move_to(time_ns);
    const std::uint32_t stack = open.stack();
    return stack == trace::kNoId ? std::vector<std::uint32_t>() : frames_of(tree_, stack);
  };
  EXPECT_THAT(frames_at(9), ElementsAre());
  EXPECT_THAT(frames_at(10), ElementsAre(2, 1));
  EXPECT_THAT(frames_at(19), ElementsAre(2, 1));
  EXPECT_THAT(frames_at(20), ElementsAre(3, 1));
  EXPECT_THAT(frames_at(30), ElementsAre(1));
  EXPECT_THAT(frames_at(39), ElementsAre(1));
  EXPECT_THAT(frames_at(40), ElementsAre(4));
  EXPECT_THAT(frames_at(50), ElementsAre());
}

TEST_F(OpenSpansTest, TellTheNodeOfTheBackwardPass) {
  const std::vector<HostSpan> spans = {{.start_ns = 0, .end_ns = 100, .frame = 1},
                                       {.start_ns = 10, .end_ns = 90, .frame = 2, .mark = 0},
                                       {.start_ns = 20, .end_ns = 80, .frame = 3, .mark = 1},
                                       {.start_ns = 30, .end_ns = 70, .frame = 4, .mark = 3},
                                       {.start_ns = 40, .end_ns = 60, .frame = 5, .mark = 2},
                                       {.start_ns = 45, .end_ns = 50, .frame = 6}};
  OpenSpans open(spans, marks_, tree_);
  const auto sequence_at = [&](std::int64_t time_ns) -> std::uint64_t {
    open.move_to(time_ns);
    return open.mark() == nullptr ? 0 : open.mark()->sequence;
  };
  EXPECT_EQ(sequence_at(5), 0u);
  EXPECT_EQ(sequence_at(15), 11u);
  EXPECT_EQ(sequence_at(25), 12u);
  EXPECT_EQ(sequence_at(35), 12u);  // a mark of the forward pass inside of a backward pass
  EXPECT_EQ(sequence_at(42), 13u);
  EXPECT_EQ(sequence_at(47), 13u);
  EXPECT_EQ(sequence_at(55), 13u);
  EXPECT_EQ(sequence_at(65), 12u);
  EXPECT_EQ(sequence_at(85), 11u);
  EXPECT_EQ(sequence_at(95), 0u);
  EXPECT_EQ(sequence_at(100), 0u);
}

}  // namespace
}  // namespace turnpike::ingest
