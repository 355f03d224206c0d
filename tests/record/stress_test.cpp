// Everything at once: recordings that start and stop amid copies of several threads, ranges, and forks amid these.
#include "stress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "trace/reader.h"
#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

void check_file(const std::filesystem::path& file) {
  const Trace trace = read_trace(file);
  EXPECT_TRUE(trace.process.end) << file;
  // The flush at the end takes copies from the device that have no times yet.
  EXPECT_THAT(trace.losses(), testing::MatchesRegex("(invalid_device_times=[0-9]+ )?")) << file;
  std::set<std::uint32_t> called, copied;
  for (const auto& call : trace.calls) called.insert(call.correlation);
  for (const auto& copy : trace.copies_of(6000)) copied.insert(copy.correlation);
  EXPECT_EQ(called, copied) << file;
}

void run_stress(const char* has_forks) {
  const ScratchFolder folder;
  const std::string seconds = std::to_string(static_cast<long>(stress_time(5).count()));
  const VictimRun run({"stress", record_library(), folder.path(), seconds, has_forks},
                      {.variables = {{"CUDA_INJECTION64_PATH", ""}, {TURNPIKE_ENV_RUN, ""}}});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, "failed 0 hung 0 recorded 1\n");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    // Children that were forked between two recordings add a file each to one run.
    const auto files = trace::run_files(entry.path());
    ASSERT_TRUE(files && !files->empty()) << entry.path();
    for (const auto& file : *files) check_file(file);
  }
}

TEST(Stress, OfRecordingsAndCopies) {
  run_stress("no forks");
}

TEST(Stress, OfRecordingsCopiesAndForks) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer's own locks hang such children, recorded or not";
#endif
#ifdef __SANITIZE_ADDRESS__
  // Before LLVM 18, a fork leaves the locks of its allocator to the child as other threads hold them.
  GTEST_SKIP() << "AddressSanitizer's own locks hang such children";
#endif
  run_stress("forks");
}

// A process that waits for `turnpike attach`, makes ranges in one short thread after the other, is recorded for a
// moment and goes on.
TEST(Stress, OfADormantProcessWithShortThreads) {
  const auto end = end_of_stress();
  do {
    const ScratchFolder folder;
    const auto file = folder.path() / "a.tpk";
    const VictimRun run({"ranges_before", record_library(), file, "5000", "100000"},
                        {.variables = {{TURNPIKE_ENV_RUN, ""}, {"TURNPIKE_CONTROL", "1"}}});
    ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().out << run.outcome().err;
    const auto files = trace::run_files(file);
    ASSERT_TRUE(files && files->size() == 1);
    ASSERT_EQ(read_trace(files->at(0)).ranges.size(), 50u);
  } while (std::chrono::steady_clock::now() < end);
}

}  // namespace
}  // namespace turnpike::record_tests
