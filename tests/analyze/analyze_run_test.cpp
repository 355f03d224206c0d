// Runs on disk: which files are read, what is said of those that cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "analyze/analyze.h"
#include "analyze/inputs.h"
#include "trace/writer.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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
void write_process(const fs::path& path, std::uint64_t bytes, const trace::FileHeader& header = {}) {
  trace::Writer writer;
  ASSERT_TRUE(writer.open(path.c_str(), header));
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
  const auto report = analyze_run({run.path()}, own_files());
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
  const auto report = analyze_run({first.path(), second / "1.tpt"}, own_files());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->totals[0].bytes, 120u);
}

TEST(AnalyzeRun, CarriesOnWithoutAFileThatCannotBeRead) {
  const Folder run;
  write_process(run / "1.tpt", 100);
  write_text(run / "2.tpt", "This is not a trace.");
  const auto report = analyze_run({run.path(), run / "missing.tpk"}, own_files());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->totals[0].bytes, 100u);
  EXPECT_THAT(report->losses, ElementsAre(Pair("unreadable_file", 2u)));
}

TEST(AnalyzeRun, FailsWhenNoFileCanBeRead) {
  const Folder run;
  write_text(run / "1.tpt", "This is not a trace.");
  const auto report = analyze_run({run.path()}, own_files());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, ::testing::HasSubstr("1.tpt"));
  EXPECT_FALSE(analyze_run({run / "missing.tpk"}, own_files()));
  EXPECT_FALSE(analyze_run({}, own_files()));
}

// Files of one byte: what it is tells the kind, and how many processes are in it.
FileReader letters() {
  const auto letter_of = [](const fs::path& file) {
    return std::string(1, static_cast<char>(std::ifstream(file).get()));
  };
  return {.kind_of = [=](const fs::path& file) -> Result<std::string> { return letter_of(file); },
          .read = [=](const fs::path& file, const auto& sink_of_process,
                      const auto&) -> Result<std::vector<trace::Process>> {
            std::vector<trace::Process> processes(letter_of(file) == "2" ? 2 : 1);
            for (std::size_t i = 0; i < processes.size(); ++i) {
              trace::MemcpyRecord copy{};
              copy.bytes = 10;
              copy.copy_kind = trace::CopyKind::kHostToDevice;
              sink_of_process().on(copy);
            }
            return processes;
          }};
}

TEST(AnalyzeRun, TakesEveryProcessOfAFile) {
  const Folder run;
  write_text(run / "1.tpt", "1");
  write_text(run / "2.tpt", "2");
  const auto report = analyze_run({run / "2.tpt"}, letters());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->source.kind, "2");
  EXPECT_EQ(report->source.process_count, 2u);
  EXPECT_EQ(report->totals[0].bytes, 20u);
}

TEST(AnalyzeRun, CallsInputsOfSeveralKindsMixed) {
  const Folder run;
  for (const char* name : {"1", "2", "3"}) write_text(run / (std::string(name) + ".tpt"), name);
  const auto report = analyze_run({run / "1.tpt", run / "2.tpt"}, letters());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->source.kind, "mixed");
  EXPECT_EQ(analyze_run({run.path()}, letters())->source.kind, "mixed");
}

TEST(AnalyzeRun, CountsProgressOverAllFiles) {
  const Folder run;
  write_process(run / "1.tpt", 100);
  write_process(run / "2.tpt", 20);
  std::uint64_t last_done = 0;
  std::uint64_t last_all = 0;
  const auto report =
      analyze_run({run.path()}, own_files(), {}, [&](std::uint64_t done_bytes, std::uint64_t all_bytes) {
        EXPECT_GE(done_bytes, last_done);
        last_done = done_bytes;
        last_all = all_bytes;
      });
  ASSERT_TRUE(report);
  EXPECT_EQ(last_all, fs::file_size(run / "1.tpt") + fs::file_size(run / "2.tpt"));
  EXPECT_EQ(last_done, last_all);
}

// A file of one process with one copy of 1 us.
void write_run(const fs::path& path, std::int64_t start_ns) {
  trace::Writer writer;
  ASSERT_TRUE(writer.open(path.c_str(), trace::FileHeader{}));
  trace::MemcpyRecord copy{};
  copy.header = {trace::RecordKind::kMemcpy, sizeof copy};
  copy.start_ns = start_ns;
  copy.end_ns = start_ns + 1000;
  copy.copy_kind = trace::CopyKind::kHostToDevice;
  ASSERT_TRUE(writer.append(trace::ChunkType::kRecords, &copy, sizeof copy));
}

TEST(AnalyzeRun, SaysThatRunsShareNeitherTimeNorProgram) {
  const Folder run;
  write_run(run / "1.tpt", 0);
  write_run(run / "2.tpt", 1000);  // touches the first
  write_run(run / "3.tpt", 2001);
  const auto notes = [&](const std::vector<std::string>& names) {
    std::vector<fs::path> inputs;
    for (const std::string& name : names) inputs.push_back(run / name);
    return analyze_run(inputs, own_files())->source.inputs.notes;
  };
  EXPECT_THAT(notes({"1.tpt", "2.tpt"}), IsEmpty());
  EXPECT_THAT(notes({"2.tpt", "1.tpt"}), IsEmpty());
  const std::string stranger = ": several runs are taken for ranks of one program. `turnpike diff` compares two.";
  EXPECT_THAT(notes({"2.tpt", "3.tpt"}),
              ElementsAre((run / "3.tpt").string() + " shares neither time nor program with " +
                          (run / "2.tpt").string() + stranger));
  EXPECT_THAT(notes({"3.tpt", "2.tpt"}),
              ElementsAre((run / "2.tpt").string() + " shares neither time nor program with " +
                          (run / "3.tpt").string() + stranger));
  EXPECT_THAT(
      notes({"1.tpt", "2.tpt", "3.tpt"}),
      ElementsAre((run / "3.tpt").string() + " shares neither time nor program with the runs before it" + stranger));
}

std::vector<std::string> notes_on(const trace::Process& process, const Timeline& timeline) {
  Inputs inputs({"run"});
  inputs.add_process({.path = "run", .input = 0}, process, timeline);
  return inputs.remarks().notes;
}

TEST(AnalyzeRun, SaysThatTheClocksOfAFileDisagree) {
  const auto notes = [](std::int64_t offset_ns, std::size_t kernel_count) {
    Timeline timeline;
    for (std::uint32_t i = 0; i < kernel_count; ++i) {
      const std::int64_t start_ns = i * 100'000;
      Call call{};
      call.start_ns = start_ns;
      call.end_ns = start_ns + 5'000;
      timeline.calls.push_back(call);
      Kernel kernel{};
      kernel.start_ns = start_ns + (i < 100 ? offset_ns : 10'000);
      kernel.end_ns = start_ns + 90'000;
      kernel.call = i;
      timeline.kernels.push_back(kernel);
    }
    trace::Process process;
    process.path = "rank0.json";
    return notes_on(process, timeline);
  };
  EXPECT_THAT(notes(-2'000, 100), IsEmpty());
  EXPECT_THAT(notes(-50'000, 10'000), IsEmpty());  // one in a hundred may have other reasons
  EXPECT_THAT(notes(-50'000, 9'900),
              ElementsAre("rank0.json: 100 of 9900 copies and kernels start before the call that asked for them, by "
                          "50.0 us (median). The clocks of the CPU and the GPU disagree in this file, so the verdict "
                          "and savings may be wrong. Record again."));
}

TEST(AnalyzeRun, SaysThatAFileHoldsSeveralProcesses) {
  trace::Process process;
  process.path = "merged.json";
  process.metadata["calling_processes"] = "2";
  EXPECT_THAT(notes_on(process, Timeline{}), IsEmpty());
  Timeline with_work;
  with_work.kernels.push_back(Kernel{});
  with_work.kernels.back().call = kNone;
  EXPECT_THAT(notes_on(process, with_work),
              ElementsAre("merged.json holds the calls of 2 processes, whose work on GPUs cannot be told apart: steps, "
                          "the verdict and savings may be wrong. Give the files of the ranks as they were before they "
                          "were merged."));
}

TEST(AnalyzeRun, SaysWhichRanksOfAJobHaveNoFileOfTorchProfiler) {
  const auto notes = [](const std::vector<std::string>& ranks, const std::string& size, const std::string& group) {
    Inputs inputs({"run"});
    for (const std::string& rank : ranks) {
      trace::Process process;
      process.metadata = {{"rank", rank}, {"world_size", size}};
      if (!group.empty()) process.metadata["process_group"] = group;
      inputs.add_process({.path = "run", .input = 0}, process, Timeline{});
    }
    return inputs.remarks().notes;
  };
  const std::string rest = ": what they did is not in what follows. Name their files, too.";
  EXPECT_THAT(notes({"0"}, "2", "nccl"), ElementsAre("Of a job of 2 ranks there is no file of rank 1" + rest));
  EXPECT_THAT(notes({"1", "4"}, "8", "nccl"),
              ElementsAre("Of a job of 8 ranks there is no file of ranks 0, 2-3, 5-7" + rest));
  EXPECT_THAT(notes({"1"}, "1000000000", "nccl"),
              ElementsAre("Of a job of 1000000000 ranks there is no file of ranks 0, 2-999999999" + rest));
  EXPECT_THAT(notes({"1", "0"}, "2", "nccl"), IsEmpty());
  EXPECT_THAT(notes({"0"}, "1", "nccl"), IsEmpty());
  EXPECT_THAT(notes({"-1", "3"}, "2", "nccl"), IsEmpty());
  // A recording of Turnpike's own is of the ranks that its user recorded.
  EXPECT_THAT(notes({"0"}, "2", ""), IsEmpty());
}

TEST(AnalyzeRun, SaysThatRecordedStacksSlowTheProgramDown) {
  const auto notes = [](bool has_stacks) {
    Inputs inputs({"run"});
    trace::Process process;
    if (has_stacks) process.metadata["profiled_stacks"] = "yes";
    for (int file = 0; file < 2; ++file) inputs.add_process({.path = "run", .input = 0}, process, Timeline{});
    return inputs.remarks().notes;
  };
  EXPECT_THAT(notes(true), ElementsAre(HasSubstr("with_stack=True")));
  EXPECT_THAT(notes(false), IsEmpty());
}

TEST(AnalyzeRun, CountsAFileThatIsGivenTwiceOnce) {
  const Folder run;
  write_process(run / "1.tpt", 100);
  write_process(run / "2.tpt", 20);
  const auto twice = analyze_run({run / "1.tpt", run / "1.tpt"}, own_files());
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->totals[0].bytes, 100u);
  EXPECT_FALSE(twice->source.inputs.is_input_missing);
  EXPECT_THAT(twice->source.inputs.notes, ElementsAre((run / "1.tpt").string() + " is given twice, and counted once."));
  const auto folder = analyze_run({run / "1.tpt", run.path()}, own_files());
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->totals[0].bytes, 120u);
  EXPECT_THAT(folder->source.inputs.notes,
              ElementsAre(run.path().string() + " holds files that are given twice, and counted once."));
}

TEST(AnalyzeRun, CountsACopyOfARecordingOnce) {
  const Folder run;
  trace::FileHeader header{};
  header.pid = 433;
  header.start_realtime_ns = 1'700'000'000'000'000'000;
  write_process(run / "1.tpt", 100, header);
  fs::copy_file(run / "1.tpt", run / "2.tpt");
  header.start_realtime_ns += 1;
  write_process(run / "3.tpt", 20, header);
  const auto report = analyze_run({run.path()}, own_files());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->totals[0].bytes, 120u);
  EXPECT_THAT(report->source.inputs.notes, ElementsAre((run / "2.tpt").string() + " is a copy of " +
                                                       (run / "1.tpt").string() + ", and counted once."));
}

TEST(AnalyzeRun, SaysThatAnInputIsMissing) {
  const Folder run;
  write_process(run / "1.tpt", 100);
  const auto report = analyze_run({run / "1.tpt", run / "none.tpk"}, own_files());
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->source.inputs.is_input_missing);
  EXPECT_EQ(report->source.inputs.unreadable.size(), 1u);
  EXPECT_FALSE(analyze_run({run / "1.tpt"}, own_files())->source.inputs.is_input_missing);
  EXPECT_EQ(analyze_run({}, own_files()).error().message, "There is nothing to analyze. Name a run to report on.");
}

TEST(AnalyzeRun, LoadsEveryProcess) {
  const Folder run;
  write_process(run / "1.tpt", 100);
  write_process(run / "2.tpt", 20);
  const auto loaded = load_run({run.path()}, own_files());
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->processes.size(), 2u);
  EXPECT_EQ(loaded->processes[0].timeline.transfers.at(0).bytes + loaded->processes[1].timeline.transfers.at(0).bytes,
            120u);
  EXPECT_FALSE(load_run({run / "none"}, own_files()));
}

}  // namespace
}  // namespace turnpike::analyze
