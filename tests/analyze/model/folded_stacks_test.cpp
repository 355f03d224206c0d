// Of very many stacks the costliest stay whole, and the others keep what a row needs.
#include "analyze/model/folded_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/model/stacks.h"
#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using trace::CallKind;

const std::string kPackages = "/venv/lib/python3.12/site-packages/";

// A copy in an optimizer that line 1 of a library called, on behalf of line 10 of the program.
std::vector<std::uint32_t> frames_of_path(ProcessBuilder& builder, std::uint32_t library, std::uint32_t program) {
  return {builder.op("copy_"), builder.python("put", kPackages + "lightning/data.py", library),
          builder.python("step", kPackages + "torch/optim/adam.py", 5),
          builder.python("train", "/home/me/train.py", program), builder.python("main", "/home/me/train.py", 90)};
}

TEST(FoldedStacks, AreNoneWhereThereIsRoomForAll) {
  ProcessBuilder builder;
  const auto stack = builder.stack(frames_of_path(builder, 1, 10));
  const auto loaded = builder.take();
  const FoldedStacks folded(loaded.process, loaded.timeline, 1);
  EXPECT_TRUE(folded.is_whole(stack));
  EXPECT_EQ(folded.count(), 0u);
}

TEST(FoldedStacks, AreThoseWhoseCallsTookLeast) {
  ProcessBuilder builder;
  const auto cheap = builder.stack(frames_of_path(builder, 1, 10));
  const auto launches = builder.stack(frames_of_path(builder, 2, 10));
  const auto dear = builder.stack(frames_of_path(builder, 3, 10));
  const auto on_device = builder.stack(frames_of_path(builder, 4, 10));
  builder.call({.start_ns = 0, .end_ns = 10, .correlation = 1, .stack = cheap});
  builder.call({.kind = CallKind::kLaunch, .start_ns = 10, .end_ns = 9'000, .correlation = 2, .stack = launches});
  builder.call({.start_ns = 9'000, .end_ns = 9'500, .correlation = 3, .stack = dear});
  builder.call({.start_ns = 9'500, .end_ns = 9'501, .correlation = 4, .stack = on_device});
  builder.copy({.start_ns = 10'000, .end_ns = 12'000, .correlation = 4, .bytes = 8});
  const auto loaded = builder.take();
  const FoldedStacks folded(loaded.process, loaded.timeline, 2);
  EXPECT_TRUE(folded.is_whole(dear));
  EXPECT_TRUE(folded.is_whole(on_device));
  EXPECT_FALSE(folded.is_whole(cheap));
  EXPECT_FALSE(folded.is_whole(launches));
  EXPECT_EQ(folded.count(), 1u) << "that of launches alone is no loss";
}

TEST(FoldedStacks, AreTheLaterOfThoseThatCostTheSame) {
  ProcessBuilder builder;
  std::vector<std::uint32_t> stacks;
  for (std::uint32_t path = 0; path < 4; ++path) stacks.push_back(builder.stack(frames_of_path(builder, path + 1, 10)));
  for (const std::uint32_t stack : stacks) builder.call({.start_ns = 0, .end_ns = 10, .stack = stack});
  const auto loaded = builder.take();
  const FoldedStacks folded(loaded.process, loaded.timeline, 2);
  std::vector<bool> are_whole;
  for (const std::uint32_t stack : stacks) are_whole.push_back(folded.is_whole(stack));
  EXPECT_THAT(are_whole, ElementsAre(true, true, false, false));
  EXPECT_EQ(folded.count(), 2u);
}

TEST(FoldedStacks, KeepOperatorPhaseAndLineOfTheProgram) {
  ProcessBuilder builder;
  const auto frames = frames_of_path(builder, 1, 10);
  const auto stack = builder.stack(frames);
  const auto loaded = builder.take();
  FoldedStacks folded(loaded.process, loaded.timeline, 0);
  EXPECT_THAT(folded.rest_of(stack), IsEmpty()) << "there is room for nothing";
  FoldedStacks one(loaded.process, loaded.timeline, 0);
  EXPECT_EQ(one.count(), 0u) << "nothing was called there";

  ProcessBuilder two;
  const auto first_frames = frames_of_path(two, 1, 10);
  const auto first = two.stack(first_frames);
  auto second_frames = first_frames;
  second_frames[1] = two.python("put", kPackages + "lightning/data.py", 2);
  const auto second = two.stack(second_frames);
  two.stack(frames_of_path(two, 3, 10));
  const auto both = two.take();
  FoldedStacks of_both(both.process, both.timeline, 1);
  EXPECT_THAT(of_both.rest_of(first), ElementsAre(first_frames[0], first_frames[2], first_frames[3]));
  EXPECT_EQ(&of_both.rest_of(first), &of_both.rest_of(second));
}

// A stack of libraries alone shows its innermost line, as a whole one does.
TEST(FoldedStacks, KeepALineOfALibraryWhereThereIsNoOther) {
  ProcessBuilder builder;
  const auto innermost = builder.python("put", kPackages + "lightning/data.py", 1);
  const auto copy = builder.op("copy_");
  const auto stack = builder.stack({copy, innermost, builder.python("run", kPackages + "lightning/run.py", 2)});
  builder.stack({copy});
  const auto loaded = builder.take();
  FoldedStacks folded(loaded.process, loaded.timeline, 1);
  EXPECT_THAT(folded.rest_of(stack), ElementsAre(copy, innermost));
}

// More different rests than there is room for: the line alone, and at last nothing.
TEST(FoldedStacks, KeepLessWhereRestsAreTooMany) {
  ProcessBuilder builder;
  const auto line = builder.python("train", "/home/me/train.py", 10);
  std::vector<std::uint32_t> stacks;
  for (const char* name : {"copy_", "item", "to"}) stacks.push_back(builder.stack({builder.op(name), line}));
  const auto other_line = builder.python("train", "/home/me/train.py", 11);
  stacks.push_back(builder.stack({builder.op("cpu"), other_line}));
  const auto loaded = builder.take();
  FoldedStacks folded(loaded.process, loaded.timeline, 1);
  EXPECT_EQ(folded.rest_of(stacks[0]).size(), 2u);
  EXPECT_THAT(folded.rest_of(stacks[1]), ElementsAre(line));
  EXPECT_THAT(folded.rest_of(stacks[2]), ElementsAre(line));
  EXPECT_THAT(folded.rest_of(stacks[3]), IsEmpty());
}

TEST(FoldedStacks, LeadToThePlaceOfTheirLine) {
  ProcessBuilder builder;
  std::vector<std::uint32_t> shared = frames_of_path(builder, 1, 10);
  std::vector<std::uint32_t> stacks;
  for (std::uint32_t line = 1; line <= 3; ++line) {
    shared[1] = builder.python("put", kPackages + "lightning/data.py", line);
    stacks.push_back(builder.stack(shared));
    builder.call({.start_ns = line * 100, .end_ns = line * 100 + line, .correlation = line, .stack = stacks.back()});
  }
  const auto loaded = builder.take();
  Stacks known(loaded.process, loaded.timeline, 1);
  EXPECT_EQ(known.folded_count(), 2u);
  const std::uint32_t whole = known.of_stack(stacks[2]);
  const std::uint32_t folded = known.of_stack(stacks[0]);
  EXPECT_EQ(known.of_stack(stacks[1]), folded);
  EXPECT_NE(whole, folded);
  EXPECT_EQ(known.facts(whole).place.library_site, "lightning: data.py:3");
  const StackFacts& facts = known.facts(folded);
  EXPECT_TRUE(facts.is_place_known);
  EXPECT_EQ(facts.place.site, "train.py:10");
  EXPECT_EQ(facts.place.op, "aten::copy_");
  EXPECT_EQ(facts.place.phase, Phase::kOptimizer);
  EXPECT_EQ(facts.place.library_site, std::nullopt);
  EXPECT_THAT(facts.place.stack, IsEmpty());
  EXPECT_THAT(known.path_of(facts), IsEmpty());
}

}  // namespace
}  // namespace turnpike::analyze
