// Beside another profiler of the process: both have what they would have alone, apart from the device's records of the
// time when both want them, which are the profiler's.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/reader.h"
#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

using trace::Loss;

constexpr char kProfile[] = "profile: 20 copies, 0 kernels, 0 foreign buffers\n";

std::size_t copies(const Trace& trace, std::uint64_t bytes) {
  return trace.copies_of(bytes).size();
}

class Profiled : public testing::TestWithParam<const char*> {};
TEST_P(Profiled, BothGetWhatTheyWouldGetAlone) {
  const std::vector<std::string> arguments{"profiled", PROFILER, GetParam()};
  const VictimRun plain(arguments, {.is_recorded = false});
  const VictimRun run(arguments);
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, plain.outcome().out);
  EXPECT_TRUE(plain.outcome().out.starts_with(std::string(kProfile) + kProfile)) << plain.outcome().out;
  const Trace trace = run.trace();
  EXPECT_EQ(copies(trace, 21), 20u);
  EXPECT_EQ(copies(trace, 22), 0u);
  EXPECT_EQ(copies(trace, 23), 20u);
  EXPECT_EQ(copies(trace, 24), 0u);
  EXPECT_EQ(copies(trace, 25), 20u);
  EXPECT_EQ(trace.calls_named("cudaMemcpyAsync").size(), 100u) << "calls are heard all the time";
  EXPECT_EQ(trace.loss(Loss::kOtherCuptiUser), 2u) << "one for each profile";
  EXPECT_EQ(run.truth().at("unzeroed_buffers"), 0u);
}
INSTANTIATE_TEST_SUITE_P(Libraries, Profiled, testing::Values("first", "late"));

TEST(ProfilerBeside, WithoutASubscriberNeedsNoSilence) {
  const std::vector<std::string> arguments{"profiled_without_subscriber", PROFILER};
  const VictimRun plain(arguments, {.is_recorded = false});
  const VictimRun run(arguments);
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, plain.outcome().out);
  const Trace trace = run.trace();
  EXPECT_EQ(copies(trace, 21), 20u);
  EXPECT_EQ(copies(trace, 22), 0u);
  EXPECT_EQ(copies(trace, 23), 20u);
  EXPECT_GT(copies(trace, 25), is_sanitized() ? 0u : 80u) << "a second after it has switched its kinds off";
  EXPECT_LT(copies(trace, 25), 200u);
  EXPECT_EQ(trace.loss(Loss::kOtherCuptiUser), 2u) << trace.losses();
}

// As with TEARDOWN_CUPTI=1: CUPTI is the recorder's.
TEST(ProfilerBeside, CannotEndCupti) {
  const std::vector<std::string> arguments{"profiled_and_torn_down", PROFILER};
  const VictimRun plain(arguments, {.is_recorded = false});
  EXPECT_EQ(plain.outcome().out, std::string(kProfile) + "heard of the calls: 1\nafter the teardown: 0\n");
  const VictimRun run(arguments);
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, std::string(kProfile) + "heard of the calls: 0\nafter the teardown: 0\n");
  const Trace trace = run.trace();
  EXPECT_EQ(copies(trace, 23), 20u);
  EXPECT_EQ(copies(trace, 24), 20u);
  EXPECT_EQ(trace.calls_named("cudaMemcpyAsync").size(), 80u);
}

// CUPTI keeps a buffer that is empty at a flush: the next records are in it, whoever's they are.
TEST(ProfilerBeside, EachGetsItsRecordsInWhoeversBuffer) {
  for (const char* order : {"[.(.).(.).]", "[.](.)[.].", "[.(.].)[.]"}) {
    const ScratchFolder folder;
    const std::string run_a = folder.path() / "a.tpk";
    const std::string run_b = folder.path() / "b.tpk";
    const VictimRun run({"sessions_and_profiles", record_library(), PROFILER, order, run_a, run_b},
                        {.variables = {{"CUDA_INJECTION64_PATH", ""},
                                       {"NVTX_INJECTION64_PATH", ""},
                                       {TURNPIKE_ENV_RUN, ""},
                                       {"FAKE_CUPTI_KEEP", "1"}}});
    EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
    EXPECT_TRUE(run.outcome().out.starts_with("profile: ")) << order << run.outcome().out;
    EXPECT_EQ(run.outcome().out.find(" 0 copies"), std::string::npos) << order << run.outcome().out;
    std::size_t found = 0;
    for (const std::string& one : {run_a, run_b}) {
      const auto files = trace::run_files(one);
      if (files && files->size() == 1) found += read_trace(files->at(0)).copies.size();
    }
    const std::size_t points = std::string_view(order).starts_with("[.(.).") ? 3 : 2;
    EXPECT_EQ(found, 20 * points) << order;
    EXPECT_EQ(run.truth().at("unzeroed_buffers"), 0u) << order;
  }
}

struct Order {
  const char* name;
  const char* order;
  std::vector<std::vector<std::uint64_t>> copied;  // in each recording
  std::vector<int> profiled;
  friend void PrintTo(const Order& one, std::ostream* out) { *out << one.order; }
};
class Orders : public testing::TestWithParam<Order> {};
TEST_P(Orders, OfRecordingsAndProfiles) {
  const ScratchFolder folder;
  std::vector<std::string> arguments{"sessions_and_profiles", record_library(), PROFILER, GetParam().order};
  for (std::size_t number = 0; number < GetParam().copied.size(); ++number) {
    arguments.push_back(folder.path() / (std::to_string(number) + ".tpk"));
  }
  const VictimRun run(
      arguments, {.variables = {{"CUDA_INJECTION64_PATH", ""}, {"NVTX_INJECTION64_PATH", ""}, {TURNPIKE_ENV_RUN, ""}}});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  std::string out;
  for (const int profiled : GetParam().profiled) {
    out += "profile: " + std::to_string(profiled) + " copies, 0 kernels, 0 foreign buffers\n";
  }
  EXPECT_EQ(run.outcome().out, out);
  for (std::size_t number = 0; number < GetParam().copied.size(); ++number) {
    const auto files = trace::run_files(arguments[4 + number]);
    ASSERT_TRUE(files && files->size() == 1) << arguments[4 + number] << run.outcome().out;
    const Trace trace = read_trace(files->at(0));
    std::vector<std::uint64_t> copied;
    for (std::uint64_t bytes = 100; bytes < 120; ++bytes) {
      if (copies(trace, bytes) == 20) copied.push_back(bytes);
    }
    EXPECT_EQ(copied, GetParam().copied[number]);
    EXPECT_EQ(trace.copies.size(), 20 * copied.size());
  }
}
INSTANTIATE_TEST_SUITE_P(Each, Orders,
                         testing::Values(Order{"Inside", "[.(.).]", {{101, 103}}, {20}},
                                         Order{"After", "[.](.)[.](.)", {{101}, {103}}, {20, 20}},
                                         Order{"Between", "[.](.)[.(.).]", {{101}, {103, 105}}, {20, 20}},
                                         Order{"BeginsLater", "[.](.[.).]", {{101}, {104}}, {40}},
                                         Order{"EndsEarlier", "[.(.].).[.]", {{101}, {105}}, {40}},
                                         Order{"IsInside", "[.](.[.].)[.]", {{101}, {}, {105}}, {60}}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(ProfilerBeside, ThatCameBeforeTheRecorderIsNamed) {
  const ScratchFolder folder;
  const VictimRun run({"sessions_and_profiles", record_library(), PROFILER, "(.)[", (folder.path() / "0.tpk").string()},
                      {.variables = {{"CUDA_INJECTION64_PATH", ""}, {TURNPIKE_ENV_RUN, ""}}});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_NE(run.outcome().out.find("start: another tool is using CUPTI in this process"), std::string::npos)
      << run.outcome().out;
  EXPECT_NE(run.outcome().out.find("Start recording before torch.profiler does"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::record_tests
