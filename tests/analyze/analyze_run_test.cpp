// Runs on disk: which files are read, what is said of those that cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "analyze/analyze.h"
#include "trace/writer.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
namespace fs = std::filesystem;

// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "turnpike-analyze-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

// A closed file with one unmatched copy of `bytes`.
void write_process(const fs::path& path, std::uint64_t bytes) {
  trace::Writer writer;
  ASSERT_TRUE(writer.open(path.c_str(), trace::FileHeader{}));
  trace::MemcpyRecord copy{};
  copy.header = {trace::RecordKind::kMemcpy, sizeof copy};
  copy.start_ns = 1'000;
  copy.end_ns = 2'000;
  copy.bytes = bytes;
  copy.correlation = 1;
  copy.copy_kind = trace::CopyKind::kHostToDevice;
  trace::CallRecord call{};
  call.header = {trace::RecordKind::kCall, sizeof call};
  call.kind = trace::CallKind::kCopy;
  call.correlation = 1;
  call.end_ns = 500;
  trace::EndEntry end{};
  end.call_count = 1;
  end.memcpy_count = 1;
  end.memcpy_bytes = bytes;
  ASSERT_TRUE(writer.append(trace::ChunkType::kRecords, &call, sizeof call));
  ASSERT_TRUE(writer.append(trace::ChunkType::kRecords, &copy, sizeof copy));
  ASSERT_TRUE(writer.append(trace::ChunkType::kEnd, &end, sizeof end));
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(AnalyzeRun, TakesEveryFileOfARunForAProcess) {
  const Folder run;
  write_process(run / "1.tpt", 100);
  write_process(run / "2.tpt", 20);
  const auto report = analyze_run({run.path()});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->source.kind, "turnpike");
  EXPECT_THAT(report->source.paths, ElementsAre(run.path().string()));
  EXPECT_EQ(report->source.process_count, 2u);
  EXPECT_EQ(report->totals[0].bytes, 120u);
  EXPECT_THAT(report->losses, IsEmpty());
}

TEST(AnalyzeRun, TakesSeveralRunsTogether) {
  const Folder first;
  const Folder second;
  write_process(first / "1.tpt", 100);
  write_process(second / "1.tpt", 20);
  const auto report = analyze_run({first.path(), second / "1.tpt"});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->totals[0].bytes, 120u);
}

TEST(AnalyzeRun, CarriesOnWithoutAFileThatCannotBeRead) {
  const Folder run;
  write_process(run / "1.tpt", 100);
  write_text(run / "2.tpt", "This is not a trace.");
  const auto report = analyze_run({run.path(), run / "missing.tpk"});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->totals[0].bytes, 100u);
  EXPECT_THAT(report->losses, ElementsAre(Pair("unreadable_file", 2u)));
}

TEST(AnalyzeRun, FailsWhenNoFileCanBeRead) {
  const Folder run;
  write_text(run / "1.tpt", "This is not a trace.");
  const auto report = analyze_run({run.path()});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, ::testing::HasSubstr("1.tpt"));
  EXPECT_FALSE(analyze_run({run / "missing.tpk"}));
  EXPECT_FALSE(analyze_run({}));
}

TEST(AnalyzeRun, CountsProgressOverAllFiles) {
  const Folder run;
  write_process(run / "1.tpt", 100);
  write_process(run / "2.tpt", 20);
  std::uint64_t last_done = 0;
  std::uint64_t last_all = 0;
  const auto report = analyze_run({run.path()}, [&](std::uint64_t done_bytes, std::uint64_t all_bytes) {
    EXPECT_GE(done_bytes, last_done);
    last_done = done_bytes;
    last_all = all_bytes;
  });
  ASSERT_TRUE(report);
  EXPECT_EQ(last_all, fs::file_size(run / "1.tpt") + fs::file_size(run / "2.tpt"));
  EXPECT_EQ(last_done, last_all);
}

}  // namespace
}  // namespace turnpike::analyze
