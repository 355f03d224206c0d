// What cannot be read is named: a Python that the recorder does not know, and a sandbox that forbids to look.
#include <gtest/gtest.h>

#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

using trace::Loss;

struct FakePython {
  const char* name;
  const char* hex;
  const char* version;
  bool is_free_threaded;
  const char* text;  // what the recording says of it
};

class UnknownPython : public testing::TestWithParam<FakePython> {};

TEST_P(UnknownPython, IsALossWithItsVersion) {
  if (is_sanitized()) GTEST_SKIP() << "the sanitizer's runtime must be loaded first";
  Variables variables = {
      {"LD_PRELOAD", FAKE_PYTHON}, {"FAKE_PYTHON_HEX", GetParam().hex}, {"FAKE_PYTHON_VERSION", GetParam().version}};
  if (GetParam().is_free_threaded) variables["FAKE_PYTHON_FREE_THREADED"] = "1";
  const VictimRun run({"uploads", "20"}, {.variables = variables});
  const Outcome unrecorded = VictimRun({"uploads", "20"}, {.is_recorded = false}).outcome();
  EXPECT_EQ(run.outcome().exit_code, unrecorded.exit_code) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, unrecorded.out);
  const Trace trace = run.trace();
  EXPECT_EQ(trace.copies.size(), 21u);
  EXPECT_EQ(trace.metadata("unknown_python_version"), GetParam().text);
  EXPECT_GE(trace.loss(Loss::kPythonUnknown), 21u) << trace.losses();
  EXPECT_EQ(trace.loss(Loss::kStackNotWalked), 0u);
  EXPECT_TRUE(trace.samples.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Versions, UnknownPython,
    testing::Values(
        FakePython{"Before", "030900F0", "3.9.18 (main)", false, "3.9.18"},
        FakePython{"Later", "031000F0", "3.16.0 (main)", false, "3.16.0"},
        FakePython{"Beta", "030F00B1", "3.15.0b1+ (main)", false, "3.15.0b1+"},
        FakePython{"FreeThreaded", "030E02F0", "3.14.2 free-threading build (main)", true, "3.14.2 (free-threaded)"},
        FakePython{"FirstFreeThreaded", "030D00F0", "3.13.0 experimental", true, "3.13.0 (free-threaded)"},
        FakePython{"Garbled", "030E02F0", "3.14.2 (main)", false, "3.14.2 (whose published offsets make no sense)"},
        FakePython{"LongNamed", "031000F0", "3.16.0+a-version-of-very-many-letters-that-someone-made", false,
                   "3.16.0+a-version-of-"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(WithoutPython, NoPythonIsUnknown) {
  const Trace trace = VictimRun({"uploads", "20"}).trace();
  EXPECT_EQ(trace.metadata("unknown_python_version"), "");
  EXPECT_EQ(trace.losses(), "");
}

TEST(Sandbox, ThatForbidsToReadIsALoss) {
  const VictimRun run({"sandboxed", victim_path(), "contents"});
  if (run.outcome().exit_code == 77) GTEST_SKIP() << run.outcome().err;
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, VictimRun({"contents"}, {.is_recorded = false}).outcome().out);
  const Trace trace = run.trace();
  EXPECT_TRUE(trace.contents.empty());
  EXPECT_EQ(trace.loss(Loss::kMemoryUnreadable), VictimRun({"contents"}).trace().contents.size()) << trace.losses();
}

}  // namespace
}  // namespace turnpike::record_tests
