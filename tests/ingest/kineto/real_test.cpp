// Real traces add up to what another JSON parser counts in them. They are not part of the repository:
// TURNPIKE_TEST_DATA names their folder.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "ingest/kineto_trace.h"
#include "ingest/run_reader.h"

namespace turnpike::ingest {
namespace {

namespace fs = std::filesystem;

fs::path real_traces() {
  const char* folder = std::getenv("TURNPIKE_TEST_DATA");
  return fs::path(folder != nullptr ? folder : TURNPIKE_DEFAULT_TEST_DATA) / "kineto";
}

std::string text_of(const fs::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  std::string buffer(1u << 20, '\0');
  for (int count = 0; (count = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0;) {
    text.append(buffer, 0, static_cast<std::size_t>(count));
  }
  gzclose(file);
  return text;
}

// Count, bytes and device time, by what the name of a copy starts with ("Memcpy HtoD").
struct Sum {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t time_ns = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};
using Sums = std::map<std::string, Sum>;

struct Counted {
  Sums copies;
  std::uint64_t kernels = 0;
  std::int64_t kernel_time_ns = 0;
  std::uint64_t annotations = 0;
  std::map<std::string, std::uint64_t> calls;
};

// Through a double, which is exact for times as short as these.
std::int64_t rounded_ns(const nlohmann::json& microseconds) {
  return std::llround(microseconds.get<double>() * 1'000);
}

Counted counted(const std::string& text) {
  Counted counts;
  const auto json = nlohmann::json::parse(text);
  for (const auto& event : json.at("traceEvents")) {
    if (event.value("ph", "") != "X") continue;
    const std::string category = event.value("cat", "");
    const std::string name = event.value("name", "");
    if (category == "gpu_memcpy" || category == "gpu_memset") {
      Sum& sum = counts.copies[name.substr(0, name.find(" ("))];
      ++sum.count;
      sum.bytes += event.at("args").at("bytes").get<std::uint64_t>();
      sum.time_ns += rounded_ns(event.at("dur"));
    } else if (category == "kernel") {
      ++counts.kernels;
      counts.kernel_time_ns += rounded_ns(event.at("dur"));
    } else if (category == "user_annotation") {
      ++counts.annotations;
    } else if (category == "cuda_runtime" || category == "cuda_driver") {
      ++counts.calls[name];
    }
  }
  return counts;
}

std::string name_of(trace::CopyKind kind) {
  switch (kind) {
    case trace::CopyKind::kHostToDevice:
      return "Memcpy HtoD";
    case trace::CopyKind::kDeviceToHost:
      return "Memcpy DtoH";
    case trace::CopyKind::kDeviceToDevice:
      return "Memcpy DtoD";
    case trace::CopyKind::kPeerToPeer:
      return "Memcpy PtoP";
    default:
      return "other";
  }
}

template <typename Record>
void add(Sum& sum, const Record& record) {
  ++sum.count;
  sum.bytes += record.bytes;
  sum.time_ns += record.end_ns - record.start_ns;
}

Sums sums_of(const Records& records) {
  Sums sums;
  for (const auto& copy : records.copies) add(sums[name_of(copy.copy_kind)], copy);
  for (const auto& memset : records.memsets) add(sums["Memset"], memset);
  return sums;
}

class RealKineto : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(real_traces())) {
      GTEST_SKIP() << real_traces() << " is not here; TURNPIKE_TEST_DATA names the folder of real traces";
    }
  }
};

TEST_F(RealKineto, AddsUpToWhatIsInTheFile) {
  std::size_t file_count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(real_traces())) {
    if (!entry.is_regular_file()) continue;
    ++file_count;
    const fs::path& path = entry.path();
    Records records;
    const auto processes = read_file(path, [&]() -> trace::RecordSink& { return records; });
    ASSERT_TRUE(processes) << processes.error().message;
    ASSERT_EQ(processes->size(), 1u);
    EXPECT_TRUE(processes->front().losses.empty()) << path;
    const Counted counts = counted(text_of(path));
    EXPECT_EQ(sums_of(records), counts.copies) << path;
    EXPECT_EQ(records.kernels.size(), counts.kernels) << path;
    std::int64_t kernel_time_ns = 0;
    for (const auto& kernel : records.kernels) kernel_time_ns += kernel.end_ns - kernel.start_ns;
    EXPECT_EQ(kernel_time_ns, counts.kernel_time_ns) << path;
    EXPECT_EQ(records.ranges.size(), counts.annotations) << path;
    std::map<std::string, std::uint64_t> calls;
    for (const auto& call : records.calls) ++calls[processes->front().string(call.name)];
    for (const char* name :
         {"cudaMemcpyAsync", "cudaLaunchKernel", "cuLaunchKernel", "cudaStreamSynchronize", "cudaMemsetAsync"}) {
      EXPECT_EQ(calls.contains(name) ? calls.at(name) : 0, counts.calls.contains(name) ? counts.calls.at(name) : 0)
          << path << ' ' << name;
    }
  }
  EXPECT_GE(file_count, 10u);
}

TEST_F(RealKineto, FindsOperatorAndPythonOfEveryUpload) {
  Records records;
  const auto processes =
      read_file(real_traces() / "ddp_rank0.json.gz", [&]() -> trace::RecordSink& { return records; });
  ASSERT_TRUE(processes);
  const trace::Process& process = processes->front();
  EXPECT_EQ(process.metadata.at("rank"), "0");
  std::size_t upload_count = 0;
  for (const auto& copy : records.copies) {
    if (copy.copy_kind != trace::CopyKind::kHostToDevice) continue;
    const auto call = std::find_if(records.calls.begin(), records.calls.end(),
                                   [&](const auto& each) { return each.correlation == copy.correlation; });
    ASSERT_NE(call, records.calls.end());
    ++upload_count;
    const auto& frames = process.stacks.at(call->stack).frames;
    EXPECT_EQ(process.frames.at(frames.front()).function, "aten::copy_");
    EXPECT_TRUE(std::any_of(frames.begin(), frames.end(), [&](std::uint32_t id) {
      return process.frames.at(id).kind == trace::FrameKind::kPython && process.frames.at(id).file.ends_with("ddp.py");
    }));
  }
  EXPECT_EQ(upload_count, 12u);
  EXPECT_GT(records.samples.size(), 1'000u);
}

TEST_F(RealKineto, IsTheSameThroughSmallWindows) {
  const std::string text = text_of(real_traces() / "ddp_rank0.json.gz");
  const ReadTrace whole = read_text(text);
  for (const auto& [piece, window] : {std::pair{4'096u, 4'096u}, std::pair{777u, 64u}, std::pair{65'536u, 65'536u}}) {
    EXPECT_EQ(read_text(text, piece, window).records.bytes, whole.records.bytes) << piece << ' ' << window;
  }
}

}  // namespace
}  // namespace turnpike::ingest
