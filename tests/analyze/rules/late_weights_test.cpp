// Pieces of host memory that go up when they are needed, again and again.
#include <gtest/gtest.h>

#include <functional>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kLateWeights = "late_weights";

struct Layers {
  std::vector<std::int64_t> copies_ns = {300 * kUs, 300 * kUs, 300 * kUs, 300 * kUs};
  std::uint64_t bytes = 16 * kMiB;
  // The host memory of a piece.
  std::function<std::uint64_t(int step, std::size_t piece)> address = [](int, std::size_t piece) {
    return 0x1000 * (piece + 1);
  };
  bool has_kernels_between = true;
  bool has_steps = true;
};

// In each step every piece goes up, and a kernel of 300 us uses it.
std::vector<Finding> late_weights_findings(const Layers& layers) {
  StepProgram program;
  const std::uint32_t stack = program.stack(25, {"copy_", "to"});
  const auto step = [&](int number) {
    for (std::size_t piece = 0; piece < layers.copies_ns.size(); ++piece) {
      program.upload({.stack = stack,
                      .bytes = layers.bytes,
                      .duration_ns = layers.copies_ns[piece],
                      .wait = Wait::kInCall,
                      .address = layers.address(number, piece)});
      if (layers.has_kernels_between) program.kernel(300 * kUs);
    }
    if (!layers.has_kernels_between) program.kernel(1200 * kUs);
    program.sync(trace::kNoId, "cudaDeviceSynchronize");
  };
  if (layers.has_steps) {
    program.steps(6, step);
  } else {
    step(0);
  }
  return program.findings(kLateWeights);
}

TEST(LateWeights, AreToldWithWhatTheNextOneOnItsWayGains) {
  const auto findings = late_weights_findings({});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:25");
  EXPECT_EQ(findings[0].evidence.find("4 times a step, 16.8 MB each, from the same 4 buffers (67.1 MB) in each step, "
                                      "with kernels between them; re-timed with one on its way while one is used, a "
                                      "step takes 1.5"),
            0u)
      << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find("1.52 ms, and hardly less with more"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].advice.find("tp.prefetch(weights, device, depth=1)"), std::string::npos);
  // 300 us of the first copy, and four kernels of 300 us, of 2400 us and what lies between.
  EXPECT_NEAR(findings[0].saving_pct.value_or(0), 37.5, 2.5);
}

TEST(LateWeights, OfDifferentSizesNeedMoreOnTheirWay) {
  // The last one takes so long that it must begin while two others are used.
  const auto findings = late_weights_findings({.copies_ns = {100 * kUs, 100 * kUs, 100 * kUs, 700 * kUs}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].advice.find("depth=3"), std::string::npos) << findings[0].advice;
  EXPECT_NE(findings[0].evidence.find("a step takes 1.7"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find(", with 2 1.4"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find(", with 3 1.3"), std::string::npos) << findings[0].evidence;
}

TEST(LateWeights, AreNotTheBuffersOfABatch) {
  EXPECT_TRUE(late_weights_findings({.copies_ns = {300 * kUs, 300 * kUs, 300 * kUs}}).empty()) << "too few";
  EXPECT_TRUE(late_weights_findings({.has_kernels_between = false}).empty()) << "they are used together";
  EXPECT_TRUE(late_weights_findings({.address =
                                         [](int step, std::size_t piece) {
                                           return 0x1000 * (piece + 1 + 10 * static_cast<std::size_t>(step));
                                         }})
                  .empty())
      << "other memory in each step";
  EXPECT_TRUE(late_weights_findings({.address =
                                         [](int step, std::size_t piece) {
                                           return 0x1000 * ((piece + static_cast<std::size_t>(step)) % 4 + 1);
                                         }})
                  .empty())
      << "in another order";
}

TEST(LateWeights, AreNotToldWhereTheyAreSmallOrUnknown) {
  EXPECT_TRUE(late_weights_findings({.bytes = kMiB - 1}).empty());
  EXPECT_EQ(late_weights_findings({.bytes = kMiB}).size(), 1u);
  EXPECT_TRUE(late_weights_findings({.address = [](int, std::size_t) { return std::uint64_t{0}; }}).empty());
  EXPECT_TRUE(late_weights_findings({.has_steps = false}).empty());
}

}  // namespace
}  // namespace turnpike::analyze
