// Who the process is, from its environment; its memory; the shared page.
#include "record/collect/process_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "record/collect/resident_memory.h"
#include "record/options.h"
#include "record/session.h"
#include "trace/format.h"

namespace turnpike::record {
namespace {

// Sets variables for one test; all that these tests look at are unset before.
class Environment : public testing::Test {
 protected:
  Environment() {
    for (const char* name : kNames) ::unsetenv(name);
  }
  ~Environment() override {
    for (const char* name : kNames) ::unsetenv(name);
  }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }

  static constexpr const char* kNames[] = {TURNPIKE_ENV_STATUS,
                                           "RANK",
                                           "OMPI_COMM_WORLD_RANK",
                                           "PMI_RANK",
                                           "SLURM_PROCID",
                                           "LOCAL_RANK",
                                           "OMPI_COMM_WORLD_LOCAL_RANK",
                                           "SLURM_LOCALID",
                                           "WORLD_SIZE",
                                           "OMPI_COMM_WORLD_SIZE",
                                           "SLURM_NTASKS",
                                           "LOCAL_WORLD_SIZE",
                                           "OMPI_COMM_WORLD_LOCAL_SIZE",
                                           "GROUP_RANK",
                                           "NODE_RANK",
                                           "SLURM_NODEID",
                                           "JOB_COMPLETION_INDEX",
                                           "SLURMD_NODENAME",
                                           "NODE_NAME",
                                           "K8S_NODE_NAME",
                                           "SLURM_JOB_ID",
                                           "RAY_JOB_ID",
                                           "TORCHELASTIC_RUN_ID",
                                           "TORCHELASTIC_RESTART_COUNT",
                                           "SLURM_RESTART_COUNT",
                                           "KUBERNETES_SERVICE_HOST"};
};

class ProcessMetadata : public Environment {
 protected:
  static std::string at(const Metadata& metadata, const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? "none" : found->second;
  }
};

TEST_F(ProcessMetadata, TellsTheRankAsEveryLauncherDoes) {
  const std::string pid = std::to_string(::getpid());
  EXPECT_EQ(at(describe_process({}), "rank"), "none");
  EXPECT_EQ(trace_file_name(1), pid + ".tpt");
  EXPECT_EQ(trace_file_name(2), pid + "-2.tpt");
  set("SLURM_PROCID", "1");
  EXPECT_EQ(at(describe_process({}), "rank"), "1");
  set("PMI_RANK", "2");
  EXPECT_EQ(at(describe_process({}), "rank"), "2");
  set("OMPI_COMM_WORLD_RANK", "3");
  EXPECT_EQ(at(describe_process({}), "rank"), "3");
  set("RANK", "14");
  EXPECT_EQ(at(describe_process({}), "rank"), "14");
  EXPECT_EQ(trace_file_name(1), "rank14-" + pid + ".tpt");
  EXPECT_EQ(trace_file_name(3), "rank14-" + pid + "-3.tpt");
  set("RANK", "../1");
  EXPECT_EQ(trace_file_name(1), pid + ".tpt") << "what is no number is no part of a name";
  set("RANK", "");
  EXPECT_EQ(at(describe_process({}), "rank"), "3");
  set("SLURM_LOCALID", "4");
  set("SLURM_NTASKS", "5");
  EXPECT_EQ(at(describe_process({}), "local_rank"), "4");
  EXPECT_EQ(at(describe_process({}), "world_size"), "5");
  set("OMPI_COMM_WORLD_LOCAL_RANK", "6");
  set("OMPI_COMM_WORLD_SIZE", "7");
  EXPECT_EQ(at(describe_process({}), "local_rank"), "6");
  EXPECT_EQ(at(describe_process({}), "world_size"), "7");
  set("LOCAL_RANK", "8");
  set("WORLD_SIZE", "9");
  EXPECT_EQ(at(describe_process({}), "local_rank"), "8");
  EXPECT_EQ(at(describe_process({}), "world_size"), "9");
}

TEST_F(ProcessMetadata, TellsTheJobOfTorchrunInsideOfSlurm) {
  const Metadata none = describe_process({});
  for (const char* key : {"local_world_size", "node_rank", "node", "job_id", "restart_count", "launcher"}) {
    EXPECT_EQ(at(none, key), "none") << key;
  }
  set("SLURM_JOB_ID", "9001");
  set("SLURM_NODEID", "1");
  set("SLURMD_NODENAME", "gpu-17");
  set("SLURM_RESTART_COUNT", "1");
  const Metadata slurm = describe_process({});
  EXPECT_EQ(at(slurm, "job_id"), "9001");
  EXPECT_EQ(at(slurm, "node_rank"), "1");
  EXPECT_EQ(at(slurm, "node"), "gpu-17");
  EXPECT_EQ(at(slurm, "restart_count"), "1");
  EXPECT_EQ(at(slurm, "launcher"), "slurm");
  set("TORCHELASTIC_RUN_ID", "mine");
  set("TORCHELASTIC_RESTART_COUNT", "3");
  set("GROUP_RANK", "2");
  set("LOCAL_WORLD_SIZE", "8");
  const Metadata both = describe_process({});
  EXPECT_EQ(at(both, "job_id"), "9001");
  EXPECT_EQ(at(both, "node_rank"), "2");
  EXPECT_EQ(at(both, "restart_count"), "3");
  EXPECT_EQ(at(both, "local_world_size"), "8");
  EXPECT_EQ(at(both, "launcher"), "torchrun slurm");
}

TEST_F(ProcessMetadata, TellsTheJobOfTorchrunAlone) {
  set("TORCHELASTIC_RUN_ID", "none");
  EXPECT_EQ(at(describe_process({}), "job_id"), "none") << "no key";
  EXPECT_EQ(at(describe_process({}), "launcher"), "torchrun");
  set("TORCHELASTIC_RUN_ID", "mine");
  EXPECT_EQ(at(describe_process({}), "job_id"), "mine");
}

TEST_F(ProcessMetadata, TellsTheJobOfRayInKubernetes) {
  set("RAY_JOB_ID", "02000000");
  set("NODE_RANK", "1");
  set("KUBERNETES_SERVICE_HOST", "10.0.0.1");
  set("K8S_NODE_NAME", "node-c");
  set("JOB_COMPLETION_INDEX", "7");
  EXPECT_EQ(at(describe_process({}), "job_id"), "02000000");
  EXPECT_EQ(at(describe_process({}), "node_rank"), "1");
  EXPECT_EQ(at(describe_process({}), "node"), "node-c");
  EXPECT_EQ(at(describe_process({}), "launcher"), "ray kubernetes");
  ::unsetenv("NODE_RANK");
  EXPECT_EQ(at(describe_process({}), "node_rank"), "7") << "an indexed job of Kubernetes";
}

TEST_F(ProcessMetadata, TellsTheJobOfMpi) {
  set("OMPI_COMM_WORLD_RANK", "3");
  set("OMPI_COMM_WORLD_LOCAL_SIZE", "4");
  EXPECT_EQ(at(describe_process({}), "local_world_size"), "4");
  EXPECT_EQ(at(describe_process({}), "launcher"), "mpi");
}

TEST_F(ProcessMetadata, TellsWhatIsRecorded) {
  const Metadata whole = describe_process({});
  EXPECT_EQ(at(whole, "turnpike_version"), TURNPIKE_VERSION);
  EXPECT_EQ(at(whole, "cwd"), std::filesystem::current_path().string());
  EXPECT_EQ(at(whole, "executable"), std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_EQ(at(whole, "program").back() == '\0' || at(whole, "program").empty(), false);
  EXPECT_EQ(at(whole, "detail"), "full");
  EXPECT_EQ(at(whole, "stacks"), "1");
  EXPECT_EQ(at(whole, "capture_range"), "none");
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host), 0);
  EXPECT_EQ(at(whole, "host"), host);
  const Metadata part = describe_process(
      {.detail = Detail::kTransfers, .has_stacks = false, .capture_range = {CaptureRange::Kind::kNvtx, "step"}});
  EXPECT_EQ(at(part, "detail"), "transfers");
  EXPECT_EQ(at(part, "stacks"), "0");
  EXPECT_EQ(at(part, "capture_range"), "nvtx:step");
  Options profiler;
  profiler.capture_range.kind = CaptureRange::Kind::kCudaProfilerApi;
  EXPECT_EQ(at(describe_process(profiler), "capture_range"), "cuda-profiler-api");
}

TEST_F(ProcessMetadata, IsEncodedInPaddedPairs) {
  for (std::size_t size = 0; size < 10; ++size) {
    const std::vector<std::byte> payload = encode({{"key", std::string(size, 'v')}, {"z", "1"}});
    const std::size_t first = sizeof(trace::MetadataEntry) + (3 + size + 7) / 8 * 8;
    ASSERT_EQ(payload.size(), first + sizeof(trace::MetadataEntry) + 8) << size;
    trace::MetadataEntry entry;
    std::memcpy(&entry, payload.data(), sizeof entry);
    EXPECT_EQ(entry.key_bytes, 3u);
    EXPECT_EQ(entry.value_bytes, size);
    EXPECT_EQ(std::memcmp(payload.data() + sizeof entry, ("key" + std::string(size, 'v')).data(), 3 + size), 0);
    std::memcpy(&entry, payload.data() + first, sizeof entry);
    EXPECT_EQ(entry.key_bytes, 1u);
    EXPECT_EQ(entry.value_bytes, 1u);
    EXPECT_EQ(std::memcmp(payload.data() + first + sizeof entry, "z1\0\0\0\0\0\0", 8), 0);
  }
  EXPECT_TRUE(encode({}).empty());
}

TEST(MemoryWatch, LooksTenTimesASecondAndRecordsOnceASecond) {
  constexpr std::int64_t kMs = 1'000'000;
  MemoryWatch watch;
  ASSERT_TRUE(watch.look(0, false));
  EXPECT_FALSE(watch.look(100 * kMs - 1, false));
  EXPECT_TRUE(watch.look(100 * kMs - 1, true)) << "the last in any case";
  EXPECT_FALSE(watch.look(1'100 * kMs - 2, false));
  EXPECT_FALSE(watch.look(1'200 * kMs - 3, false)) << "looked at a moment ago";
  EXPECT_TRUE(watch.look(1'200 * kMs - 2, false));
  EXPECT_FALSE(watch.look(2'200 * kMs - 3, false));
  MemoryWatch next;
  EXPECT_TRUE(next.look(0, false));
  EXPECT_FALSE(next.look(999 * kMs, false));
  // More than a mebibyte in either direction is worth a record.
  std::vector<char> large(8u << 20, 'x');
  EXPECT_TRUE(next.look(1'099 * kMs, false));
  EXPECT_FALSE(next.look(1'300 * kMs, false));
  const auto bytes = resident_bytes();
  ASSERT_TRUE(bytes);
  EXPECT_GT(*bytes, 8u << 20);
  EXPECT_LT(*bytes, std::uint64_t{4} << 30);
  EXPECT_EQ(*bytes % static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)), 0u);
  EXPECT_EQ(large[12'345], 'x');
}

}  // namespace
}  // namespace turnpike::record
