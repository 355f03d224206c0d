// The names of kept runs.
#include "record/kept_run.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

namespace turnpike::record {
namespace {

TEST(KeptRun, StandsBesideTheRun) {
  EXPECT_EQ(kept_run_path("/runs/train.tpk", 1), "/runs/train-1.tpk");
  EXPECT_EQ(kept_run_path("/runs/train.tpk/", 12), "/runs/train-12.tpk");
  EXPECT_EQ(kept_run_path("out", 2), "out-2.tpk");
  EXPECT_EQ(kept_run_path("/runs/train.tpk.new-4711", 1), "/runs/train-1.tpk");
  EXPECT_EQ(kept_run_path("/runs/train.tpk/.new-4711", 1), "/runs/train-1.tpk");
  EXPECT_EQ(kept_run_path("/runs/a.new-one.tpk", 1), "/runs/a.new-one-1.tpk");
}

TEST(KeptRun, IsNeverOneThatExists) {
  std::string folder = std::filesystem::temp_directory_path() / "turnpike-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string run = folder + "/a.tpk";
  mkdir((folder + "/a-1.tpk").c_str(), 0777);
  mkdir((folder + "/a-3.tpk").c_str(), 0777);
  EXPECT_EQ(claim_kept_run(run, 0), 2u);
  EXPECT_EQ(claim_kept_run(run, 2), 4u);
  EXPECT_TRUE(std::filesystem::is_directory(folder + "/a-4.tpk"));
  EXPECT_EQ(claim_kept_run(folder + "/nowhere/a.tpk", 0), 0u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace turnpike::record
