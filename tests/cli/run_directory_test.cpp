// The names that runs get by themselves, and folders that cannot be made.
#include "cli/run_directory.h"

#include <gtest/gtest.h>

namespace turnpike::cli {
namespace {

TEST(DefaultRunName, IsThatOfTheScript) {
  EXPECT_EQ(default_run_name({"python", "train.py"}), "train");
  EXPECT_EQ(default_run_name({"/usr/bin/python3", "-X", "dev", "dir/train.py", "eval.py"}), "train");
  EXPECT_EQ(default_run_name({"torchrun", "--nproc-per-node", "2", "train.py"}), "train");
  EXPECT_EQ(default_run_name({"./train.py"}), "train");
}

TEST(DefaultRunName, IsThatOfTheModule) {
  EXPECT_EQ(default_run_name({"python3.12", "-m", "package.train", "--epochs", "2"}), "train");
  EXPECT_EQ(default_run_name({"python", "-m", "torch.distributed.run", "train.py"}), "train");
}

TEST(DefaultRunName, IsThatOfTheProgramOtherwise) {
  EXPECT_EQ(default_run_name({"./build/inference", "-m", "model.pt"}), "inference");
  EXPECT_EQ(default_run_name({"./run.sh"}), "run");
  EXPECT_EQ(default_run_name({"a.out"}), "a.out");
  EXPECT_EQ(default_run_name({"python", "-c", "pass"}), "python");
  EXPECT_EQ(default_run_name({"python", "-m"}), "python");
}

TEST(DefaultRunName, IsNeverEmpty) {
  EXPECT_EQ(default_run_name({""}), "run");
  EXPECT_EQ(default_run_name({"dir/"}), "run");
  EXPECT_EQ(default_run_name({".py"}), ".py");
}

TEST(DefaultRunName, LooksPastWhatIsNoScript) {
  EXPECT_EQ(default_run_name({"python", "-file.py", "train.py"}), "train") << "an option is no script";
  EXPECT_EQ(default_run_name({"python", "-m", "unittest"}), "unittest");
  EXPECT_EQ(default_run_name({"bash", "-m", "thing"}), "bash") << "another program's -m is something else";
  EXPECT_EQ(default_run_name({".sh"}), ".sh");
  EXPECT_EQ(default_run_name({"a.sh.sh"}), "a.sh");
  EXPECT_EQ(default_run_name({}), "run");
  EXPECT_EQ(default_run_name({"python", ".py", "-m", "package.module"}), "module");
}

}  // namespace
std::string failure_of(const std::string& path) {
  const auto made = RunDirectory::make_at(path, false);
  return made ? "" : made.error().message;
}

TEST(RunDirectory, NamesTheFolderThatIsMissing) {
  EXPECT_EQ(
      failure_of("/proc/none/deep/a.tpk"),
      "cannot make the run directory /proc/none/deep/a.tpk: its folder /proc/none is not there and cannot be made: "
      "No such file or directory. Name another with -o.");
}

TEST(RunDirectory, NamesTheFolderThatIsAFile) {
  EXPECT_EQ(
      failure_of("/proc/version/a.tpk"),
      "cannot make the run directory /proc/version/a.tpk: its folder /proc/version is a file. Name another with -o.");
}

TEST(RunDirectory, NamesTheRunThatIsAFile) {
  EXPECT_EQ(failure_of("/proc/version"),
            "cannot make the run directory /proc/version: Not a directory. Name another with -o.");
}

}  // namespace turnpike::cli
