// Everything at once, for ten seconds or TURNPIKE_STRESS_SECONDS: recordings that start and stop amid copies of several
// threads, ranges, and forks amid these.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "trace/reader.h"
#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

std::string seconds() {
  const char* given = std::getenv("TURNPIKE_STRESS_SECONDS");
  return given == nullptr ? "10" : given;
}

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

TEST(Stress, OfRecordingsCopiesAndForks) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer's own locks hang such children, recorded or not";
#endif
#ifdef __SANITIZE_ADDRESS__
  // Before LLVM 18, a fork leaves the locks of its allocator to the child as other threads hold them.
  GTEST_SKIP() << "AddressSanitizer's own locks hang such children";
#endif
  const ScratchFolder folder;
  const VictimRun run({"stress", record_library(), folder.path(), seconds()},
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

}  // namespace
}  // namespace turnpike::record_tests
