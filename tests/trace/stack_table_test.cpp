// Stacks by number: what is found, what replaces what, and what stays where it is.
#include "trace/stack_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace turnpike::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Frames = std::vector<std::uint32_t>;

TEST(StackTable, FindsWhatWasSet) {
  StackTable stacks;
  EXPECT_TRUE(stacks.empty());
  stacks.set(1, Frames{7, 8, 9}, true);
  stacks.set(2, Frames{});
  EXPECT_EQ(stacks.size(), 2u);
  EXPECT_THAT(stacks.at(1).frames, ElementsAre(7, 8, 9));
  EXPECT_TRUE(stacks.at(1).is_truncated);
  EXPECT_THAT(stacks.find(2)->frames, IsEmpty());
  EXPECT_FALSE(stacks.find(2)->is_truncated);
  EXPECT_FALSE(stacks.contains(3));
  EXPECT_FALSE(stacks.find(3));
  EXPECT_THROW(stacks.at(3), std::out_of_range);
}

TEST(StackTable, ReplacesAStackThatIsDefinedAgain) {
  StackTable stacks;
  stacks.set(1, Frames{7, 8});
  stacks.set(2, Frames{6});
  stacks.set(1, Frames{9, 9, 9}, true);
  EXPECT_EQ(stacks.size(), 2u);
  EXPECT_THAT(stacks.at(1).frames, ElementsAre(9, 9, 9));
  EXPECT_TRUE(stacks.at(1).is_truncated);
}

// A damaged file can number stacks as it likes: they take no memory for the numbers between them. Numbers that were far
// are near once there are as many stacks.
TEST(StackTable, KeepsNumbersFarAbove) {
  StackTable stacks;
  stacks.set(0xffffffffu, Frames{1});
  stacks.set(2000, Frames{2});
  stacks.set(0, Frames{3});
  for (std::uint32_t id = 1; id < 1500; ++id) stacks.set(id, Frames{id});
  EXPECT_EQ(stacks.size(), 1502u);
  EXPECT_THAT(stacks.at(0xffffffffu).frames, ElementsAre(1));
  EXPECT_THAT(stacks.at(2000).frames, ElementsAre(2));
  EXPECT_THAT(stacks.at(1499).frames, ElementsAre(1499));
  EXPECT_FALSE(stacks.contains(1999));
  EXPECT_FALSE(stacks.contains(0xfffffffeu));
  stacks.set(2000, Frames{4});
  EXPECT_THAT(stacks.at(2000).frames, ElementsAre(4));
  EXPECT_EQ(stacks.size(), 1502u);
}

TEST(StackTable, GoesThroughThemInTheirOrder) {
  StackTable stacks;
  stacks.set(5, Frames{50});
  stacks.set(3, Frames{30});
  stacks.set(5, Frames{51});
  Frames seen;
  for (const auto [id, stack] : stacks) {
    seen.push_back(id);
    seen.insert(seen.end(), stack.frames.begin(), stack.frames.end());
  }
  EXPECT_THAT(seen, ElementsAre(5, 51, 3, 30));
}

// More than a block of frames, and a stack that is larger than one.
TEST(StackTable, LeavesWhatWasLookedUpWhereItIs) {
  StackTable stacks;
  stacks.set(1, Frames{1, 2, 3});
  const Stack first = stacks.at(1);
  Frames deep(100'000);
  std::iota(deep.begin(), deep.end(), 0u);
  stacks.set(2, deep);
  const Stack second = stacks.at(2);
  for (std::uint32_t id = 3; id < 20'000; ++id) stacks.set(id, Frames(17, id));
  EXPECT_THAT(first.frames, ElementsAre(1, 2, 3));
  EXPECT_EQ(first.frames.data(), stacks.at(1).frames.data());
  EXPECT_TRUE(std::equal(second.frames.begin(), second.frames.end(), deep.begin(), deep.end()));
  EXPECT_EQ(stacks.at(19'999).frames[16], 19'999u);
  const StackTable copy = stacks;
  stacks.set(20'000, Frames{5});
  EXPECT_FALSE(copy.contains(20'000));
  EXPECT_NE(copy.at(1).frames.data(), first.frames.data());
  EXPECT_EQ(copy.at(12'345).frames[0], 12'345u);
}

}  // namespace
}  // namespace turnpike::trace
