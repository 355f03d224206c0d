// Very many transfers: none is lost and the recorder's memory does not grow with them.
//
// A million by default, a fifth of that under a sanitizer, whose memory says nothing about ours;
// TURNPIKE_SOAK_TRANSFERS=10000000 is the long form.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "trace/reader.h"
#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

// Keeps counts alone: ten million records are too many to keep.
struct Counts : trace::RecordSink {
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
  std::uint64_t calls = 0;
  void on(const trace::MemcpyRecord& record) override {
    ++copies;
    bytes += record.bytes;
  }
  void on(const trace::CallRecord& record) override { calls += record.kind == trace::CallKind::kCopy; }
};

TEST(Soak, LosesNoTransferAndKeepsItsMemory) {
  const char* wanted = std::getenv("TURNPIKE_SOAK_TRANSFERS");
  const std::uint64_t count =
      wanted == nullptr ? (is_sanitized() ? 200'000 : 1'000'000) : std::strtoull(wanted, nullptr, 10);
  const Variables fast = {{"FAKE_CUDA_WORK_NS", "100"}};
  const auto start = std::chrono::steady_clock::now();
  const VictimRun plain({"many", std::to_string(count)}, {.is_recorded = false, .variables = fast});
  const auto between = std::chrono::steady_clock::now();
  const VictimRun run({"many", std::to_string(count)}, {.variables = fast});
  const auto end = std::chrono::steady_clock::now();
  ASSERT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, plain.outcome().out);

  Counts counts;
  const auto files = run.files();
  ASSERT_EQ(files.size(), 1u);
  const auto process = trace::read_file(files[0], counts);
  ASSERT_TRUE(process);
  EXPECT_EQ(counts.copies, count + 1);  // and the one of the checksum
  EXPECT_EQ(counts.calls, count + 1);
  EXPECT_EQ(counts.bytes, count * 8 + 65536);
  EXPECT_TRUE(process->losses.empty());
  const std::int64_t own_bytes = run.outcome().peak_memory_bytes - plain.outcome().peak_memory_bytes;
  if (!is_sanitized()) {
    EXPECT_LT(own_bytes, std::int64_t{160} << 20);
  }
  using Seconds = std::chrono::duration<double>;
  std::printf("%lu transfers: %.1f s plain, %.1f s recorded, %ld MiB of memory, %lu MiB of file\n", count,
              Seconds(between - start).count(), Seconds(end - between).count(), own_bytes >> 20,
              std::filesystem::file_size(files[0]) >> 20);
}

}  // namespace
}  // namespace turnpike::record_tests
