// turnpike_detach: after a recording CUPTI is detached from the process, where the environment asks for it and it is
// safe.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "trace/reader.h"
#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

constexpr char kDetached[] = "detached: 1 0\n";
constexpr char kStays[] = "detached: 0 1\n";
constexpr char kWholeProfile[] = "profile: 20 copies, 0 kernels, 0 foreign buffers\n";

// A program that records itself, by an order of scenarios.h.
class Ordered {
 public:
  explicit Ordered(const std::string& order, Variables variables = {})
      : run_(arguments(order), {.is_settled = false, .variables = by_hand(std::move(variables))}) {
    EXPECT_EQ(run_.outcome().exit_code, 0) << order << run_.outcome().err;
  }
  const std::string& out() const { return run_.outcome().out; }
  std::uint64_t truth(const std::string& name) const { return run_.truth().at(name); }
  Trace trace(std::size_t number) const {
    const auto files = trace::run_files(run_path(number));
    EXPECT_TRUE(files && files->size() == 1) << number;
    return read_trace(files->at(0));
  }

 private:
  static Variables by_hand(Variables variables) {
    variables.insert({{"CUDA_INJECTION64_PATH", ""},
                      {"NVTX_INJECTION64_PATH", ""},
                      {TURNPIKE_ENV_RUN, ""},
                      {TURNPIKE_ENV_DETACH, "1"}});
    return variables;
  }
  std::string run_path(std::size_t number) const { return folder_.path() / (std::to_string(number) + ".tpk"); }
  std::vector<std::string> arguments(const std::string& order) const {
    std::vector<std::string> made{"sessions_and_profiles", record_library(), PROFILER, order};
    for (std::size_t at = 0; at < order.size(); ++at) made.push_back(run_path(at));
    return made;
  }

  ScratchFolder folder_;
  VictimRun run_;
};

TEST(Detach, LeavesTheNextRecordingWhole) {
  const Ordered run("[.1]x.[.1]x");
  EXPECT_EQ(run.out(), std::string(kDetached) + kDetached);
  EXPECT_EQ(run.truth("finalizes"), 2u);
  EXPECT_EQ(run.truth("kinds_on"), 0u);
  EXPECT_EQ(run.truth("subscribers"), 0u);
  EXPECT_EQ(run.truth("unzeroed_buffers"), 0u);
  for (const std::size_t number : {0, 1}) {
    const Trace trace = run.trace(number);
    EXPECT_EQ(trace.losses(), "");
    EXPECT_EQ(trace.copies.size(), 40u);
    EXPECT_EQ(trace.calls_named("cudaMemcpyAsync").size(), 40u);
    EXPECT_EQ(trace.streams.size(), 2u) << "the default streams of two contexts";
    // CUPTI gives contexts and calls other ids once it was detached.
    for (const auto& copy : trace.copies) {
      const trace::CallRecord* call = trace.call_of(copy.correlation);
      ASSERT_NE(call, nullptr);
      EXPECT_EQ(call->device, copy.device);
      EXPECT_EQ(call->context, copy.context);
    }
  }
}

struct Case {
  const char* name;
  const char* order;
  Variables variables = {};
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.order; }
};
std::string name_of(const testing::TestParamInfo<Case>& one) {
  return one.param.name;
}

class StaysAttached : public testing::TestWithParam<Case> {};
TEST_P(StaysAttached, WhereItIsNotSafe) {
  const Ordered run(GetParam().order, GetParam().variables);
  EXPECT_NE(run.out().find(kStays), std::string::npos) << run.out();
  EXPECT_EQ(run.out().find(kDetached), std::string::npos) << run.out();
  EXPECT_EQ(run.truth("finalizes"), 0u);
  EXPECT_EQ(run.trace(0).copies_of(101).size(), 20u);
}
INSTANTIATE_TEST_SUITE_P(Each, StaysAttached,
                         testing::Values(Case{"AGraphWasLaunched", "c[.g]xg[.]xg"}, Case{"OfTransfersAlone", "{.]x"},
                                         Case{"OfARecordingBefore", "c[.g][.]xg"},
                                         Case{"CuptiOfCuda125", "[.]x", {{"FAKE_CUPTI_VERSION", "23"}}},
                                         Case{"CuptiOfCuda130", "[.]x", {{"FAKE_CUPTI_VERSION", "130000"}}},
                                         Case{"NotAskedFor", "[.]x", {{TURNPIKE_ENV_DETACH, ""}}},
                                         Case{"AskedForTooLate", "[.d]x", {{TURNPIKE_ENV_DETACH, ""}}},
                                         Case{"NotAskedForBefore", "[.]d[.]x", {{TURNPIKE_ENV_DETACH, ""}}},
                                         Case{"TransfersBefore", "{.][.]x"}, Case{"AProfilerIsThere", "[.(.]x.)"},
                                         Case{"AProfilerWasThere", "[.(.).]x[.]x"},
                                         Case{"AProfilerCameBetween", "[.](.)x[.]x"}, Case{"WhileRecording", "[.x.]"},
                                         Case{"AThreadHasCalled", "[.t]xj"}, Case{"InARecordingBefore", "[.t][.]xj"},
                                         Case{"AThreadHasAsked", "[.q]xj"}, Case{"OfNccl", "n[.]xj"},
                                         Case{"AThreadRuns", "r[.]xj"}, Case{"AGraphIsBeingCaptured", "[.<]x>"},
                                         Case{"ItsCaptureBeganBefore", "<[.=]x>"}),
                         name_of);

TEST(Detach, NotWhereAThreadIsUnknownForWantOfMemory) {
  if (is_sanitized()) GTEST_SKIP() << "the sanitizer ends the program where memory is short";
  EXPECT_EQ(Ordered("[.z]xj[.]x").out(), std::string(kStays) + kStays) << "who knows whether it has ended";
}

TEST(Detach, NotInAClientOfMps) {
  const ScratchFolder pipes;
  std::ofstream(pipes.path() / "control").put('x');
  EXPECT_EQ(Ordered("[.]x", {{"CUDA_MPS_PIPE_DIRECTORY", pipes.path()}}).out(), kStays);
}

class IsDetached : public testing::TestWithParam<Case> {};
TEST_P(IsDetached, AndTheProgramGoesOn) {
  const Ordered run(GetParam().order, GetParam().variables);
  EXPECT_NE(run.out().find(kDetached), std::string::npos) << run.out();
  EXPECT_EQ(run.out().find(kStays), std::string::npos) << run.out();
  EXPECT_EQ(run.out().find("child"), std::string::npos) << "in a forked child, CUPTI is not attached: " << run.out();
  EXPECT_EQ(run.truth("kinds_on"), 0u);
}
INSTANTIATE_TEST_SUITE_P(
    Each, IsDetached,
    testing::Values(Case{"AGraphWasLaunchedBefore", "cg[.]xg[.]xg"}, Case{"AGraphWasMadeMeanwhile", "[.c]xgg[.]"},
                    Case{"AGraphIsLaunchedInBetween", "[.c]gxg"}, Case{"ACaptureHasEnded", "[.<]>[.]x"},
                    Case{"CuptiOfCuda126", "[.]x", {{"FAKE_CUPTI_VERSION", "24"}}},
                    Case{"AProcessForks", "[.]fxff[.]x"}, Case{"ARecordingFails", "[.]!x[.]x"},
                    Case{"AThreadHasEnded", "[.tj]x"}, Case{"AThreadSleeps", "s[.]xj"},
                    Case{"AThreadHasPyTorchsName", "m[.]xj"}, Case{"OnlyAutogradHasCalled", "[.u]xj"}),
    name_of);

TEST(Detach, FirstWaitsForTheGpuWhereItMayHappen) {
  EXPECT_EQ(Ordered("w[.w]wxw[.t]wjw[.<]w>w[.]w").out(), "idle: 0\nidle: 0\nidle: 1\n" + std::string(kDetached) +
                                                             "idle: 0\nidle: 0\nidle: 1\nidle: 0\nidle: 0\n"
                                                             "idle: 1\n");
}

// In the midst of cuptiFinalize, another thread comes.
TEST(Detach, HasAForkWait) {
  const Ordered run("[.]Xf[.]x");
  EXPECT_EQ(run.out(), "detached: 1 0, which was waited for\n" + std::string(kDetached));
  EXPECT_EQ(run.trace(1).copies.size(), 20u);
  EXPECT_EQ(run.trace(1).losses(), "");
}

TEST(Detach, HasTheNextRecordingWait) {
  const Ordered run("[.]X[.]x");
  EXPECT_EQ(run.out(), "detached: 1 1, which was waited for\n" + std::string(kDetached))
      << "that recording has attached CUPTI again";
  EXPECT_EQ(run.truth("finalizes"), 2u);
  for (const std::size_t number : {0, 1}) {
    EXPECT_EQ(run.trace(number).copies.size(), 20u);
    EXPECT_EQ(run.trace(number).losses(), "");
  }
}

TEST(Detach, HasAProfilerWait) {
  const Ordered run("[.]X(.)[.]x");
  EXPECT_EQ(run.out(), "detached: 1 1, which was waited for\n" + std::string(kWholeProfile) + kStays);
  EXPECT_EQ(run.trace(1).copies.size(), 20u);
  EXPECT_EQ(run.trace(1).losses(), "");
}

TEST(Detach, DoesNothingTwice) {
  EXPECT_EQ(Ordered("x[.]xx").out(), "detached: 0 0\ndetached: 1 0\ndetached: 0 0\n");
}

// Nothing stays on of a recording that could not begin.
TEST(Detach, AfterAStartThatFails) {
  const Ordered run("!.");
  EXPECT_EQ(run.truth("kinds_on"), 0u);
  EXPECT_EQ(run.truth("subscribers"), 0u);
  EXPECT_EQ(run.truth("produced"), 0u);
}

// A profiler that comes when CUPTI was detached has it to itself, and then the recorder leaves it attached.
TEST(Detach, BeforeAProfilerComes) {
  const Ordered run("[.]x(.)[.]x(.)[.(.).]");
  EXPECT_EQ(run.truth("finalizes"), 1u);
  EXPECT_EQ(run.out(), std::string(kDetached) + kWholeProfile + kStays + kWholeProfile + kWholeProfile);
  EXPECT_EQ(run.trace(0).copies.size(), 20u);
  EXPECT_EQ(run.trace(1).copies.size(), 20u);
  EXPECT_EQ(run.trace(2).copies.size(), 40u);
}

// CUPTI keeps a buffer each time.
TEST(Detach, OftenLosesNothing) {
  constexpr std::size_t kTimes = 30;
  std::string order;
  std::string out;
  for (std::size_t i = 0; i < kTimes; ++i) {
    order += "[.]x";
    out += kDetached;
  }
  const Ordered run(order, {{"FAKE_CUPTI_KEEP", "1"}});
  EXPECT_EQ(run.out(), out);
  EXPECT_EQ(run.truth("unzeroed_buffers"), 0u);
  for (std::size_t number = 0; number < kTimes; ++number) {
    const Trace trace = run.trace(number);
    EXPECT_EQ(trace.copies.size(), 20u);
    EXPECT_EQ(trace.losses(), "");
  }
}

}  // namespace
}  // namespace turnpike::record_tests
