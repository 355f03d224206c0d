// What a link is expected to do by its generation, its lanes, and the model of its GPU.
#include "machine/link_limit.h"

#include <gtest/gtest.h>

namespace turnpike::machine {
namespace {

std::string basis_of(const std::string& model) {
  const auto limit = limit_of_model(model);
  return limit ? limit->basis : "none";
}

TEST(LinkLimit, IsThatOfTheGenerationAndTheLanes) {
  ASSERT_TRUE(limit_of_pcie(5, 16));
  EXPECT_EQ(limit_of_pcie(5, 16)->basis, "PCIe 5 x16");
  EXPECT_DOUBLE_EQ(limit_of_pcie(5, 16)->h2d_gbps, 55);
  EXPECT_DOUBLE_EQ(limit_of_pcie(5, 16)->d2h_gbps, 55);
  EXPECT_DOUBLE_EQ(limit_of_pcie(4, 16)->h2d_gbps, 25);
  EXPECT_DOUBLE_EQ(limit_of_pcie(3, 8)->h2d_gbps, 6.25);
  EXPECT_FALSE(limit_of_pcie(5, 16)->is_c2c);
}

TEST(LinkLimit, IsLessThanTheWireCarries) {
  const double wire_gbps[] = {4.0, 8.0, 15.8, 31.5, 63.0, 121.0};  // 16 lanes, encoding taken off
  for (std::uint32_t generation = 1; generation <= 6; ++generation) {
    const auto limit = limit_of_pcie(generation, 16);
    ASSERT_TRUE(limit) << generation;
    EXPECT_LT(limit->h2d_gbps, 0.92 * wire_gbps[generation - 1]) << generation;
    EXPECT_GT(limit->h2d_gbps, 0.7 * wire_gbps[generation - 1]) << generation;
  }
}

TEST(LinkLimit, IsNoneOfWhatThereIsNot) {
  for (const auto& [generation, width] : {std::pair{0u, 16u}, {7u, 16u}, {5u, 0u}, {5u, 3u}, {5u, 255u}}) {
    EXPECT_FALSE(limit_of_pcie(generation, width)) << generation << " x" << width;
  }
}

TEST(LinkLimit, IsKnownByTheModel) {
  EXPECT_EQ(basis_of("NVIDIA H100 80GB HBM3"), "PCIe 5 x16");
  EXPECT_EQ(basis_of("NVIDIA A100-SXM4-80GB"), "PCIe 4 x16");
  EXPECT_EQ(basis_of("NVIDIA A10"), "PCIe 4 x16");
  EXPECT_EQ(basis_of("NVIDIA L40S"), "PCIe 4 x16");
  EXPECT_EQ(basis_of("Tesla V100-SXM2-16GB"), "PCIe 3 x16");
  EXPECT_EQ(basis_of("Tesla T4"), "PCIe 3 x16");
  EXPECT_EQ(basis_of("NVIDIA GeForce RTX 4090"), "PCIe 4 x16");
}

TEST(LinkLimit, OfAGraceIsNoPcie) {
  const auto limit = limit_of_model("NVIDIA GH200 480GB");
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->basis, "NVLink-C2C");
  EXPECT_TRUE(limit->is_c2c);
  EXPECT_GT(limit->h2d_gbps, limit->d2h_gbps);
}

TEST(LinkLimit, IsNotGuessedFromAPartOfAName) {
  for (const char* name : {"", "GPU", "NVIDIA A1000", "NVIDIA XH100", "H1001", "Fake GPU 0"}) {
    EXPECT_FALSE(limit_of_model(name)) << name;
  }
}

}  // namespace
}  // namespace turnpike::machine
