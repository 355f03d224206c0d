// Copies of Turnpike's engine are shown at the line that asked for them.
#include "analyze/model/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kEngineThread = 101;

TEST(Labels, AreAPathALineAndACall) {
  const Place place = place_of_label("sub/my train.py:71 tp.prefetch");
  EXPECT_EQ(place.site, "my train.py:71");
  EXPECT_EQ(place.file, "sub/my train.py");
  EXPECT_EQ(place.line, 71u);
  EXPECT_EQ(place.op, "tp.prefetch");
}

TEST(Labels, OfAnotherFormAreTheSite) {
  for (const char* text : {"tp.prefetch", "train.py:seventy tp.prefetch", "train.py tp.prefetch", "a: b", ""}) {
    const Place place = place_of_label(text);
    EXPECT_EQ(place.site, text);
    EXPECT_EQ(place.file, std::nullopt);
    EXPECT_EQ(place.line, std::nullopt);
    EXPECT_EQ(place.op, std::nullopt);
  }
}

void copy(ProcessBuilder& builder, std::uint32_t number, std::uint32_t thread, std::uint32_t stack = trace::kNoId) {
  const std::int64_t at = number * 1'000;
  builder.call({.start_ns = at,
                .end_ns = at + 100,
                .correlation = number,
                .stack = stack,
                .name = "cuMemcpyHtoDAsync_v2",
                .thread = thread});
  builder.copy({.start_ns = at + 200, .end_ns = at + 700, .correlation = number, .bytes = 1'000});
}

TEST(Labels, GatherTheCopiesOfAllThreadsAtTheLine) {
  ProcessBuilder builder;
  const auto stack = builder.line("/home/user/train.py", 72);
  builder.range("train.py:71 tp.prefetch", 900, 2'500, "turnpike", kEngineThread);
  copy(builder, 1, kEngineThread);
  copy(builder, 2, kEngineThread);
  builder.range("train.py:71 tp.prefetch", 2'900, 3'200, "turnpike");
  copy(builder, 3, kMainThread, stack);
  builder.range("train.py:80 tp.to", 3'900, 4'200, "turnpike", kEngineThread);
  copy(builder, 4, kEngineThread);
  copy(builder, 5, kMainThread, stack);  // beside the range of another thread
  copy(builder, 6, kEngineThread);       // behind all ranges
  const Report report = builder.report();

  ASSERT_THAT(report.sites, SizeIs(4));
  std::map<std::string, const Site*> sites;
  for (const Site& site : report.sites) sites[site.site] = &site;
  EXPECT_EQ(sites.at("train.py:71")->bytes, 3'000u);
  EXPECT_EQ(sites.at("train.py:71")->op, "tp.prefetch");
  EXPECT_EQ(sites.at("train.py:80")->op, "tp.to");
  EXPECT_EQ(sites.at("train.py:72")->count, 1u);
  EXPECT_EQ(sites.at("cuMemcpyHtoDAsync_v2")->count, 1u);
}

TEST(Labels, AreNoneInOtherDomains) {
  ProcessBuilder builder;
  builder.range("train.py:71 tp.prefetch", 900, 2'500, "", kEngineThread);
  builder.range("train.py:71 tp.prefetch", 900, 2'500, "another", kEngineThread);
  copy(builder, 1, kEngineThread);
  const Report report = builder.report();
  ASSERT_THAT(report.sites, SizeIs(1));
  EXPECT_EQ(report.sites[0].site, "cuMemcpyHtoDAsync_v2");
}

TEST(Labels, AreNoRangesOfTheProgram) {
  ProcessBuilder builder;
  for (std::int64_t step = 0; step < 5; ++step) {
    builder.range("train_step.py:1 tp.to", step * 1'000, step * 1'000 + 900, "turnpike");
    copy(builder, static_cast<std::uint32_t>(step) + 1, kMainThread);
  }
  const Report report = builder.report();
  EXPECT_THAT(report.ranges, IsEmpty());
  const std::string source = report.steps ? source_text(*report.steps) : "no steps";
  EXPECT_THAT(source, ::testing::Not(::testing::StartsWith("nvtx")));
}

// From the first to the last moment of a range.
TEST(Labels, HoldTheCallsThatLieInThem) {
  const auto is_in = [](std::int64_t start_ns, std::int64_t end_ns) {
    ProcessBuilder builder;
    builder.range("train.py:71 tp.to", 1000, 2000, "turnpike");
    builder.range("train.py:80 tp.to", 3000, 4000, "turnpike");
    builder.call({.start_ns = start_ns, .end_ns = end_ns});
    const LoadedProcess loaded = builder.take();
    const std::uint32_t label = Labels(loaded.process, loaded.timeline).of(loaded.timeline.calls.at(0));
    return loaded.process.string(label);
  };
  EXPECT_EQ(is_in(1000, 2000), "train.py:71 tp.to");
  EXPECT_EQ(is_in(999, 2000), "");
  EXPECT_EQ(is_in(1000, 2001), "");
  EXPECT_EQ(is_in(2500, 2600), "");
  EXPECT_EQ(is_in(3000, 3100), "train.py:80 tp.to");
  EXPECT_EQ(is_in(4001, 4002), "");
  EXPECT_EQ(is_in(trace::kUnknownTime, trace::kUnknownTime), "");
}

}  // namespace
}  // namespace turnpike::analyze
