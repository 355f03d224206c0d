// Lines of source beside the figures.
#include "report/text/source_lines.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>

namespace turnpike::report {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class SourceLinesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "turnpike_lines_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    source_ = folder_ / "train.py";
    std::ofstream(source_) << "first\n\tsecond  \n\n" << std::string(10'000, 'x') << "\nlast without newline";
    run_ = folder_ / "run.tpk";
    std::ofstream(run_) << "run";
    fs::last_write_time(source_, fs::last_write_time(run_) - 1h);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::optional<std::string> line(std::uint32_t number) const { return SourceLines({run_}).line(source_, number); }

  fs::path folder_, source_, run_;
};

TEST_F(SourceLinesTest, GivesALineWithoutItsIndent) {
  EXPECT_EQ(line(1), "first");
  EXPECT_EQ(line(2), "second");
  EXPECT_EQ(line(5), "last without newline");
}

TEST_F(SourceLinesTest, GivesNothingWhereThereIsNothing) {
  EXPECT_EQ(line(0), std::nullopt);
  EXPECT_EQ(line(3), std::nullopt) << "an empty line";
  EXPECT_EQ(line(6), std::nullopt);
  EXPECT_EQ(line(4'000'000'000), std::nullopt);
  EXPECT_EQ(SourceLines({run_}).line("/no/such/file.py", 1), std::nullopt);
  EXPECT_EQ(SourceLines({run_}).line("train.py", 1), std::nullopt) << "relative to what?";
}

TEST_F(SourceLinesTest, DoesNotShowAFileThatChangedSinceTheRun) {
  fs::last_write_time(source_, fs::last_write_time(run_) + 1h);
  EXPECT_EQ(line(1), std::nullopt);
}

TEST_F(SourceLinesTest, BoundsALineThatNeverEnds) {
  EXPECT_EQ(line(4)->size(), 4096u);
}

TEST_F(SourceLinesTest, DoesNotWaitForAPipe) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(SourceLines({run_}).line(pipe, 1), std::nullopt);
}

TEST_F(SourceLinesTest, AFileThatIsAsOldAsTheRunIsAsItRan) {
  fs::last_write_time(source_, fs::last_write_time(run_));
  EXPECT_EQ(line(1), "first");
  fs::last_write_time(source_, fs::last_write_time(run_) + 1ns);
  EXPECT_EQ(line(1), std::nullopt);
}

TEST_F(SourceLinesTest, TheNewestOfTheRunsCounts) {
  const fs::path other = folder_ / "other.tpk";
  std::ofstream(other) << "run";
  fs::last_write_time(other, fs::last_write_time(source_) - 1h);
  EXPECT_EQ(SourceLines({other}).line(source_, 1), std::nullopt);
  EXPECT_EQ(SourceLines({other, run_}).line(source_, 1), "first");
  EXPECT_EQ(SourceLines({run_, other}).line(source_, 1), "first");
  EXPECT_EQ(SourceLines({"/no/such/run.tpk"}).line(source_, 1), std::nullopt);
  EXPECT_EQ(SourceLines({}).line(source_, 1), std::nullopt);
}

TEST_F(SourceLinesTest, ARunOfManyFilesIsAsNewAsTheNewest) {
  const fs::path run = folder_ / "folder.tpk";
  fs::create_directory(run);
  for (const char* name : {"1.tpt", "2.tpt", "3.tpt"}) std::ofstream(run / name) << "run";
  const auto time = fs::last_write_time(source_);
  for (const char* name : {"1.tpt", "3.tpt"}) fs::last_write_time(run / name, time - 1h);
  fs::last_write_time(run / "2.tpt", time + 1h);
  fs::last_write_time(run, time - 2h);
  EXPECT_EQ(SourceLines({run}).line(source_, 1), "first");
  fs::last_write_time(run / "2.tpt", time - 1h);
  EXPECT_EQ(SourceLines({run}).line(source_, 1), std::nullopt);
}

TEST_F(SourceLinesTest, SpacesAroundALineAreNoPartOfIt) {
  std::ofstream(source_) << " \t\r\n  a \t b\r\n\tx";
  fs::last_write_time(source_, fs::last_write_time(run_) - 1h);
  EXPECT_EQ(line(1), std::nullopt);
  EXPECT_EQ(line(2), "a \t b");
  EXPECT_EQ(line(3), "x");
}

TEST_F(SourceLinesTest, AFolderHasNoLines) {
  EXPECT_EQ(SourceLines({run_}).line(folder_, 1), std::nullopt);
}

}  // namespace
}  // namespace turnpike::report
