// A real export adds up to what SQL counts in it. The file is not part of the repository: TURNPIKE_TEST_DATA names its
// folder.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ingest/nsys_database.h"

namespace turnpike::ingest {
namespace {

std::filesystem::path real_export() {
  const char* folder = std::getenv("TURNPIKE_TEST_DATA");
  const std::filesystem::path data = folder != nullptr ? folder : TURNPIKE_DEFAULT_TEST_DATA;
  return data / "nsys" / "h100_2gpu_1s.sqlite";
}

class RealExport : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(real_export())) {
      GTEST_SKIP() << real_export() << " is not here; TURNPIKE_TEST_DATA names the folder of real traces";
    }
  }

  static std::uint64_t count(const std::string& sql) {
    return static_cast<std::uint64_t>(number_in_database(real_export(), sql));
  }
};

TEST_F(RealExport, AddsUpToWhatSqlCounts) {
  const ReadExport read = read_export(real_export());
  ASSERT_EQ(read.processes.size(), 2u) << read.error;
  for (const trace::Process& process : read.processes) EXPECT_TRUE(process.losses.empty());
  for (std::size_t i = 0; i < 2; ++i) {
    const Collected& records = read.records[i];
    const std::string of_process = " WHERE (globalPid >> 24) & 0xFFFFFF = " + number(read.processes[i].pid);
    const std::string of_thread = " WHERE (globalTid >> 24) & 0xFFFFFF = " + number(read.processes[i].pid);
    EXPECT_EQ(records.calls.size(), count("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME" + of_thread));
    EXPECT_EQ(records.kernels.size(), count("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL" + of_process));
    EXPECT_EQ(records.copies.size(), count("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY" + of_process));
    EXPECT_EQ(records.memsets.size(), count("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMSET" + of_process));
    EXPECT_EQ(records.ranges.size(), count("SELECT count(*) FROM NVTX_EVENTS" + of_thread +
                                           " AND (text LIKE 'FSDP::%' OR text LIKE 'detach_,%')"));
    EXPECT_EQ(records.threads.size(), count("SELECT count(*) FROM ThreadNames" + of_thread));

    const std::string copies = "SELECT coalesce(sum(bytes), 0) FROM CUPTI_ACTIVITY_KIND_MEMCPY" + of_process;
    std::uint64_t pageable_uploads = 0;
    std::uint64_t bytes = 0;
    std::int64_t device_ns = 0;
    for (const trace::MemcpyRecord& copy : records.copies) {
      bytes += copy.bytes;
      device_ns += copy.end_ns - copy.start_ns;
      if (copy.copy_kind == trace::CopyKind::kHostToDevice && copy.src_kind == trace::MemoryKind::kPageable) {
        pageable_uploads += copy.bytes;
      }
    }
    EXPECT_EQ(bytes, count(copies));
    EXPECT_EQ(pageable_uploads, count(copies + " AND copyKind = 1 AND srcKind = 0"));
    EXPECT_EQ(device_ns,
              static_cast<std::int64_t>(count("SELECT sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY" + of_process)));

    std::uint64_t synchronisations = 0;
    std::uint64_t with_stream = 0;
    std::int64_t host_ns = 0;
    for (const trace::CallRecord& call : records.calls) {
      host_ns += call.end_ns - call.start_ns;
      if (call.kind != trace::CallKind::kSynchronize && call.kind != trace::CallKind::kStreamWait) continue;
      ++synchronisations;
      if (call.stream != trace::kUnknownId) ++with_stream;
    }
    EXPECT_EQ(synchronisations, count("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" + of_process));
    EXPECT_EQ(with_stream, synchronisations);
    EXPECT_EQ(host_ns,
              static_cast<std::int64_t>(count("SELECT sum(end - start) FROM CUPTI_ACTIVITY_KIND_RUNTIME" + of_thread)));
  }
}

TEST_F(RealExport, KnowsTheOperatorOfEachCopy) {
  const ReadExport read = read_export(real_export());
  std::size_t copies = 0;
  std::size_t with_operator = 0;
  for (const Collected& records : read.records) {
    for (const trace::CallRecord& call : records.calls) {
      if (call.kind != trace::CallKind::kCopy) continue;
      ++copies;
      if (call.stack != trace::kNoId) ++with_operator;
    }
  }
  EXPECT_EQ(copies,
            count("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value LIKE "
                  "'cudaMemcpy%'"));
  EXPECT_GT(with_operator * 10, copies * 9);
}

}  // namespace
}  // namespace turnpike::ingest
