// Which of its sources the rate of a link is taken from.
#include "analyze/graph/links.h"

#include <gtest/gtest.h>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

// A process on one GPU of `model`, with a copy up of 55 MB in so many microseconds; 0: none.
class FindLinks : public ::testing::Test {
 protected:
  void copy_in_us(std::int64_t duration_us, trace::MemoryKind memory = trace::MemoryKind::kPinned) {
    builder_.copy({.start_ns = 0, .end_ns = duration_us * 1000, .bytes = 55'000'000, .src = memory});
  }
  void is_recorded(const std::string& link) { builder_.process().metadata["link.0"] = link; }
  KnownRate up(const std::string& model, const LinkRates& rates = {}) {
    builder_.device(0, model);
    const LoadedProcess loaded = builder_.take();
    links_ = find_links(loaded.process, loaded.timeline, rates);
    return links_.at(0).h2d.value_or(KnownRate{-1, LinkSource::kMeasured, "unknown"});
  }

  ProcessBuilder builder_;
  std::map<std::uint32_t, Link> links_;
};

constexpr const char* kH100 = "NVIDIA H100 80GB HBM3";
constexpr const char* kFull = "generation=5 width=16 max_generation=5 max_width=16 busy_reads=1";
constexpr const char* kReduced = "generation=4 width=8 max_generation=5 max_width=16 busy_reads=3";

TEST_F(FindLinks, TakesWhatWasMeasuredFirst) {
  copy_in_us(1000);
  is_recorded(kFull);
  const auto rate = up(kH100, [](const std::string&, const std::string&) { return LinkRate{53.5, {}}; });
  EXPECT_EQ(rate.gbps, 53.5);
  EXPECT_EQ(rate.source, LinkSource::kMeasured);
  EXPECT_EQ(rate.basis, "");
  EXPECT_EQ(links_.at(0).d2h->source, LinkSource::kGeneration) << "each direction by itself";
}

TEST_F(FindLinks, KeepsWhatWasMeasuredOfCopiesIntoCaches) {
  up(kH100, [](const std::string&, const std::string&) { return LinkRate{53.5, 52.5, 31.5}; });
  EXPECT_EQ(links_.at(0).d2h->gbps, 52.5);
  EXPECT_EQ(links_.at(0).d2h_cached_gbps, 31.5);
  up(kH100);
  EXPECT_EQ(links_.at(0).d2h_cached_gbps, std::nullopt);
}

TEST_F(FindLinks, TakesWhatCopiesReachedNext) {
  copy_in_us(1100);
  is_recorded(kFull);
  const auto rate = up(kH100);
  EXPECT_DOUBLE_EQ(rate.gbps, 50);
  EXPECT_EQ(rate.source, LinkSource::kLearnt);
}

TEST_F(FindLinks, TakesTheGenerationWhereAllCopiesWereSlow) {
  copy_in_us(2000);
  is_recorded(kFull);
  const auto rate = up("");
  EXPECT_EQ(rate.gbps, 55);
  EXPECT_EQ(rate.source, LinkSource::kGeneration);
  EXPECT_EQ(rate.basis, "PCIe 5 x16");
}

TEST_F(FindLinks, TakesTheGenerationAtWhichTheLinkRan) {
  is_recorded(kReduced);
  const auto rate = up(kH100);
  EXPECT_EQ(rate.gbps, 12.5);
  EXPECT_EQ(rate.basis, "PCIe 4 x8") << "and not what the model has";
}

TEST_F(FindLinks, DoesNotTakeTheGenerationOfAnIdleGpu) {
  is_recorded("generation=1 width=16 max_generation=5 max_width=16 busy_reads=0");
  EXPECT_EQ(up("").basis, "PCIe 5 x16");
  EXPECT_EQ(links_.at(0).share_of_card, 1);
}

TEST_F(FindLinks, TakesTheModelLast) {
  const auto rate = up(kH100);
  EXPECT_EQ(rate.gbps, 55);
  EXPECT_EQ(rate.source, LinkSource::kModel);
  EXPECT_EQ(rate.basis, "PCIe 5 x16");
}

TEST_F(FindLinks, BelievesCopiesRatherThanTheModel) {
  copy_in_us(5000);
  EXPECT_EQ(up(kH100).source, LinkSource::kLearnt);
}

TEST_F(FindLinks, LearnsNothingFromPageableMemory) {
  copy_in_us(1000, trace::MemoryKind::kPageable);
  EXPECT_EQ(up("").basis, "unknown");
}

TEST_F(FindLinks, DoesNotTakeThePcieOfAGrace) {
  is_recorded("generation=4 width=1 max_generation=4 max_width=1 busy_reads=1");
  EXPECT_EQ(up("NVIDIA GH200 480GB").basis, "NVLink-C2C");
}

TEST_F(FindLinks, CompareTheLinkWithItsCard) {
  is_recorded(kReduced);
  up("");
  EXPECT_EQ(links_.at(0).pcie, "PCIe 4 x8");
  EXPECT_EQ(links_.at(0).card_pcie, "PCIe 5 x16");
  EXPECT_DOUBLE_EQ(links_.at(0).share_of_card, 12.5 / 55);
}

TEST_F(FindLinks, SeeByAFastCopyThatTheLinkIsNotReduced) {
  copy_in_us(1000);
  is_recorded(kReduced);
  up("");
  EXPECT_EQ(links_.at(0).share_of_card, 1);
}

}  // namespace
}  // namespace turnpike::analyze
