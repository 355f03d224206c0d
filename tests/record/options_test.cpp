// The table of options, and what the environment and the C interface make of it.
#include "record/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>

namespace turnpike::record {
namespace {

using namespace std::chrono_literals;

Options without_defaults() {
  Options options;
  options.run_directory = "/runs/a.tpk";
  options.detail = Detail::kTransfers;
  options.has_stacks = false;
  options.has_source = false;
  options.is_content_verified = true;
  options.capture_range = {CaptureRange::Kind::kNvtx, "step"};
  options.delay = 3ms;
  options.duration = 5ms;
  options.max_bytes = 7;
  options.has_link_traffic = false;
  options.last = 9ms;
  options.trigger = *trigger_of("step > 2 x median");
  options.most_triggered = 4;
  options.keep_signal.number = SIGUSR1;
  options.is_quiet = true;
  return options;
}

// No variable of an option is set.
class OptionsTest : public testing::Test {
 protected:
  OptionsTest() { unset(); }
  ~OptionsTest() override { unset(); }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }

 private:
  static void unset() {
    ::unsetenv(TURNPIKE_ENV_RUN);
    for (const Option& option : all_options()) ::unsetenv(option.variable);
  }
};

TEST_F(OptionsTest, AreThoseOfAWholeRunWithoutVariables) {
  const Options options = options_from_environment();
  EXPECT_EQ(options.run_directory, "");
  EXPECT_EQ(options.detail, Detail::kFull);
  EXPECT_TRUE(options.has_stacks);
  EXPECT_TRUE(options.has_source);
  EXPECT_EQ(options.capture_range.kind, CaptureRange::Kind::kWholeRun);
  EXPECT_EQ(options.capture_range.nvtx_name, "");
  EXPECT_EQ(options.delay, 0ms);
  EXPECT_EQ(options.duration, 0ms);
  EXPECT_FALSE(options.is_content_verified);
  EXPECT_EQ(options.max_bytes, 16'000'000'000u);
  EXPECT_FALSE(options.is_quiet);
  EXPECT_TRUE(options.has_note);
  EXPECT_TRUE(options.has_link_traffic);
  EXPECT_EQ(options.last, 0ms);
  EXPECT_FALSE(options.trigger.is_set());
  EXPECT_EQ(options.trigger.text, "");
  EXPECT_EQ(options.most_triggered, 3u);
  EXPECT_EQ(options.keep_signal.number, SIGUSR2);
  EXPECT_STREQ(name_of(Detail::kFull), "full");
  EXPECT_STREQ(name_of(Detail::kTransfers), "transfers");
}

TEST_F(OptionsTest, ComeEachFromItsVariable) {
  set(TURNPIKE_ENV_RUN, "/runs/a.tpk");
  EXPECT_EQ(options_from_environment().run_directory, "/runs/a.tpk");
  set("TURNPIKE_DETAIL", "transfers");
  EXPECT_EQ(options_from_environment().detail, Detail::kTransfers);
  set("TURNPIKE_STACKS", "1");
  EXPECT_TRUE(options_from_environment().has_stacks);
  set("TURNPIKE_STACKS", "0");
  EXPECT_FALSE(options_from_environment().has_stacks);
  set("TURNPIKE_CAPTURE_RANGE", "cuda-profiler-api");
  EXPECT_EQ(options_from_environment().capture_range.kind, CaptureRange::Kind::kCudaProfilerApi);
  EXPECT_EQ(options_from_environment().capture_range.nvtx_name, "");
  set("TURNPIKE_CAPTURE_RANGE", "nvtx:step");
  EXPECT_EQ(options_from_environment().capture_range.kind, CaptureRange::Kind::kNvtx);
  EXPECT_EQ(options_from_environment().capture_range.nvtx_name, "step");
  set("TURNPIKE_CAPTURE_RANGE", "nvtx");
  EXPECT_EQ(options_from_environment().capture_range.kind, CaptureRange::Kind::kWholeRun);
  set("TURNPIKE_DELAY_MS", "3");
  set("TURNPIKE_DURATION_MS", "5");
  EXPECT_EQ(options_from_environment().delay, 3ms);
  EXPECT_EQ(options_from_environment().duration, 5ms);
  set("TURNPIKE_DELAY_MS", "-3");
  set("TURNPIKE_DURATION_MS", "soon");
  EXPECT_EQ(options_from_environment().delay, 0ms);
  EXPECT_EQ(options_from_environment().duration, 0ms);
  set("TURNPIKE_SOURCE", "0");
  EXPECT_FALSE(options_from_environment().has_source);
  EXPECT_FALSE(options_from_environment().is_content_verified);
  set("TURNPIKE_VERIFY_CONTENT", "1");
  EXPECT_TRUE(options_from_environment().is_content_verified);
  set("TURNPIKE_MAX_BYTES", "5000000");
  EXPECT_EQ(options_from_environment().max_bytes, 5'000'000u);
  for (const char* unknown : {"0", "-1", "5 MB", "", "99999999999999999999"}) {
    set("TURNPIKE_MAX_BYTES", unknown);
    EXPECT_EQ(options_from_environment().max_bytes, 16'000'000'000u) << unknown;
  }
  EXPECT_TRUE(options_from_environment().has_link_traffic);
  set("TURNPIKE_LINK_TRAFFIC", "0");
  EXPECT_FALSE(options_from_environment().has_link_traffic);
  EXPECT_FALSE(options_from_environment().is_quiet);
  set("TURNPIKE_QUIET", "1");
  EXPECT_TRUE(options_from_environment().is_quiet);
}

TEST_F(OptionsTest, KeepTheirDefaultsWhereAVariableMeansNothing) {
  for (const char* unknown : {"0", "-1", "4294967296", "two", "2x", ""}) {
    set("TURNPIKE_KEEP", unknown);
    EXPECT_EQ(options_from_environment().most_triggered, 3u) << unknown;
  }
  set("TURNPIKE_KEEP", "4294967295");
  EXPECT_EQ(options_from_environment().most_triggered, 4'294'967'295u);
  for (const char* unknown : {"", "2", "yes", "01"}) {
    set("TURNPIKE_STACKS", unknown);
    set("TURNPIKE_VERIFY_CONTENT", unknown);
    EXPECT_TRUE(options_from_environment().has_stacks) << unknown;
    EXPECT_FALSE(options_from_environment().is_content_verified) << unknown;
  }
  set("TURNPIKE_DETAIL", "most");
  set("TURNPIKE_SIGNAL", "KILL");
  set("TURNPIKE_TRIGGER", "step > x");
  EXPECT_EQ(options_from_environment().detail, Detail::kFull);
  EXPECT_EQ(options_from_environment().keep_signal.number, SIGUSR2);
  EXPECT_FALSE(options_from_environment().trigger.is_set());
  set("TURNPIKE_LAST_MS", "9000000000000000000");
  EXPECT_EQ(options_from_environment().last, 1'000'000'000'000ms) << "its nanoseconds are a number";
}

TEST_F(OptionsTest, ArriveInAnInjectedProcessAsTheyWereGiven) {
  for (const auto& [name, value] : environment_of(without_defaults())) {
    ASSERT_TRUE(value) << name;
    set(name.c_str(), value->c_str());
  }
  const Options options = options_from_environment();
  EXPECT_EQ(options.run_directory, "/runs/a.tpk");
  EXPECT_EQ(options.detail, Detail::kTransfers);
  EXPECT_FALSE(options.has_stacks);
  EXPECT_FALSE(options.has_source);
  EXPECT_TRUE(options.is_content_verified);
  EXPECT_EQ(text_of(options.capture_range), "nvtx:step");
  EXPECT_EQ(options.delay, 3ms);
  EXPECT_EQ(options.duration, 5ms);
  EXPECT_EQ(options.max_bytes, 7u);
  EXPECT_FALSE(options.has_link_traffic);
  EXPECT_EQ(options.last, 9ms);
  EXPECT_EQ(options.trigger.medians, 2);
  EXPECT_EQ(options.trigger.text, "step > 2 x median");
  EXPECT_EQ(options.most_triggered, 4u);
  EXPECT_EQ(options.keep_signal.number, SIGUSR1);
  EXPECT_TRUE(options.is_quiet);
}

TEST_F(OptionsTest, ReadConditionsOnSteps) {
  EXPECT_EQ(trigger_of("step > 1.5 x median")->medians, 1.5);
  EXPECT_EQ(trigger_of(" step>1.5*median ")->medians, 1.5);
  EXPECT_EQ(trigger_of("step > 200 ms")->longer_than, 200ms);
  EXPECT_EQ(trigger_of("step > 1.5s")->longer_than, 1500ms);
  EXPECT_EQ(trigger_of("step > 50 us")->longer_than, 50us);
  const auto said = [](const char* text) { return trigger_of(text).error().message; };
  EXPECT_THAT(said(""), testing::HasSubstr("at its end (character 1) there should be the word step"));
  EXPECT_THAT(said("loss > 3"), testing::HasSubstr("at 'loss > 3' (character 1)"));
  EXPECT_THAT(said("step < 3 ms"), testing::HasSubstr("at '< 3 ms' (character 6) there should be the sign >"));
  EXPECT_THAT(said("step > -3 ms"), testing::HasSubstr("at '-3 ms' (character 8) there should be a number above 0"));
  EXPECT_THAT(said("step > 3"), testing::HasSubstr("at its end (character 9) there should be 'x median', or a unit"));
  EXPECT_THAT(said("step > 3 x mean"), testing::HasSubstr("at 'mean' (character 12) there should be the word median"));
  EXPECT_THAT(said("step > 3 ms or so"), testing::HasSubstr("at 'or so' (character 13) there should be its end"));
  EXPECT_THAT(said("step > 1 x median"), testing::HasSubstr("must be above 1"));
  EXPECT_EQ(trigger_of("step > 1000000000 ms")->longer_than, 1'000'000'000ms);
  EXPECT_EQ(trigger_of("step > 1000000 s")->longer_than, 1'000'000'000ms);
  EXPECT_THAT(said("step > 1000001 s"), testing::HasSubstr("the time is too long"));
  EXPECT_THAT(said("step > 1000000001 us"), testing::HasSubstr("a number above 0"));
  EXPECT_EQ(trigger_of("step > 1.5 x median")->longer_than, 0ms);
  EXPECT_EQ(trigger_of("step > 200 ms")->medians, 0);
  EXPECT_EQ(trigger_of(" step>1.5*median ")->text, " step>1.5*median ");
  for (const char* wrong : {"step > nan ms", "step > inf ms", "step > 1e300 s", "step > 0 ms"}) {
    EXPECT_FALSE(trigger_of(wrong)) << wrong;
  }
}

TEST_F(OptionsTest, KnowTheSignalsThatKeep) {
  EXPECT_EQ(keep_signal_of("USR2")->number, SIGUSR2);
  EXPECT_EQ(keep_signal_of("SIGHUP")->number, SIGHUP);
  EXPECT_EQ(keep_signal_of("off")->number, 0);
  for (const char* wrong : {"", "KILL", "usr2", "12"}) EXPECT_FALSE(keep_signal_of(wrong)) << wrong;
  EXPECT_EQ(text_of(KeepSignal{0}), "off");
  EXPECT_EQ(text_of(KeepSignal{}), "USR2");
}

TEST_F(OptionsTest, RemoveTheVariablesOfAnOuterRecordingButNotItsQuiet) {
  using Variables = std::vector<std::pair<std::string, std::optional<std::string>>>;
  EXPECT_EQ(environment_of({.run_directory = "/b.tpk"}), (Variables{{"TURNPIKE_RUN", "/b.tpk"},
                                                                    {"TURNPIKE_DETAIL", "full"},
                                                                    {"TURNPIKE_STACKS", "1"},
                                                                    {"TURNPIKE_SOURCE", "1"},
                                                                    {"TURNPIKE_VERIFY_CONTENT", std::nullopt},
                                                                    {"TURNPIKE_CAPTURE_RANGE", std::nullopt},
                                                                    {"TURNPIKE_DELAY_MS", std::nullopt},
                                                                    {"TURNPIKE_DURATION_MS", std::nullopt},
                                                                    {"TURNPIKE_MAX_BYTES", std::nullopt},
                                                                    {"TURNPIKE_LINK_TRAFFIC", "1"},
                                                                    {"TURNPIKE_LAST_MS", std::nullopt},
                                                                    {"TURNPIKE_TRIGGER", std::nullopt},
                                                                    {"TURNPIKE_KEEP", std::nullopt},
                                                                    {"TURNPIKE_SIGNAL", std::nullopt}}));
}

TEST_F(OptionsTest, GoThroughTheCInterfaceAndBack) {
  const Options given = without_defaults();
  const TurnpikeOptions in_c = to_c(given);
  EXPECT_EQ(in_c.struct_bytes, sizeof(TurnpikeOptions));
  EXPECT_EQ(in_c.detail, std::uint32_t{TURNPIKE_DETAIL_TRANSFERS});
  EXPECT_EQ(in_c.stacks, 0u);
  EXPECT_EQ(in_c.source, 0u);
  EXPECT_EQ(in_c.verify_content, 1u);
  EXPECT_EQ(in_c.max_bytes, 7u);
  EXPECT_EQ(in_c.run_directory, given.run_directory.c_str());
  const Options options = from_c(in_c);
  EXPECT_EQ(options.run_directory, "/runs/a.tpk");
  EXPECT_EQ(options.detail, Detail::kTransfers);
  EXPECT_FALSE(options.has_stacks);
  EXPECT_FALSE(options.has_source);
  EXPECT_TRUE(options.is_content_verified);
  EXPECT_EQ(options.max_bytes, 7u);
  TurnpikeOptions unsaid = in_c;
  unsaid.max_bytes = 0;
  EXPECT_EQ(from_c(unsaid).max_bytes, 16'000'000'000u);
  EXPECT_EQ(from_c(to_c({})).detail, Detail::kFull);
  EXPECT_TRUE(from_c(to_c({})).has_stacks);
  EXPECT_TRUE(from_c(to_c({})).has_source);
  EXPECT_FALSE(from_c(to_c({})).is_content_verified);
}

TEST_F(OptionsTest, HaveEachTheirOwnNames) {
  std::set<std::string> names, variables, arguments;
  for (const Option& option : all_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_TRUE(variables.insert(option.variable).second) << option.variable;
    EXPECT_TRUE(arguments.insert(option.argument).second) << option.argument;
  }
}

TEST_F(OptionsTest, AreOfAttachTooUnlessTheyMeanAWholeProgram) {
  std::set<std::string> of_record_alone;
  for (const Option& option : all_options()) {
    if (!option.is_for_attach) of_record_alone.insert(option.name);
    EXPECT_EQ(option.is_inherited, std::string(option.name) == "quiet") << option.name;
    const bool is_flag = std::holds_alternative<bool Options::*>(option.field);
    EXPECT_EQ(option.value_name == nullptr, is_flag) << option.name;
  }
  EXPECT_EQ(of_record_alone, (std::set<std::string>{"delay", "last", "trigger", "keep", "signal"}));
}

TEST_F(OptionsTest, KnowSizesFromAMegabyteOn) {
  EXPECT_EQ(*max_bytes_of("1 MB"), 1'000'000u);
  EXPECT_EQ(*max_bytes_of("16GB"), 16'000'000'000u);
  EXPECT_EQ(*max_bytes_of("1000000 TB"), 1'000'000'000'000'000'000u);
  EXPECT_EQ(*max_bytes_of("1.5 GiB"), 1'610'612'736u);
  for (const char* wrong : {"", "1", "0.9 MB", "-1 GB", "1 gb", "2e6 TB", "nan GB"}) {
    EXPECT_FALSE(max_bytes_of(wrong)) << wrong;
  }
}

TEST_F(OptionsTest, KnowTheirWords) {
  EXPECT_EQ(detail_of("full"), Detail::kFull);
  EXPECT_EQ(detail_of("transfers"), Detail::kTransfers);
  EXPECT_EQ(detail_of("Full"), std::nullopt);
  for (const char* unknown : {"", "nvtx", "nvtx:", "cuda-profiler-api "}) EXPECT_FALSE(capture_range_of(unknown));
  EXPECT_EQ(text_of(*capture_range_of("nvtx: ")), "nvtx: ");
  EXPECT_EQ(text_of(*capture_range_of("cuda-profiler-api")), "cuda-profiler-api");
  EXPECT_EQ(text_of(CaptureRange()), "");
}

}  // namespace
}  // namespace turnpike::record
