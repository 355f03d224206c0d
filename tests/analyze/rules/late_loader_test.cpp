// The wait for the next batch.
#include <gtest/gtest.h>

#include <functional>

#include "analyze/rules/step_program.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kLateLoader = "late_loader";

enum class Sampled { kNothing, kDataSet, kWorkers };

std::vector<Finding> late_loader_findings(std::int64_t loading_ns, std::int64_t kernel_ns,
                                          Sampled sampled = Sampled::kNothing, const char* cpu = "",
                                          const char* ranks = "") {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  builder.process().metadata["cpu"] = cpu;
  builder.process().metadata["local_world_size"] = ranks;
  const std::uint32_t to = program.stack(40, {"copy_", "to_dtype_layout"});
  const std::uint32_t loop = builder.python("train", "/home/me/train.py", 39);
  const char* library = "/opt/lib/python3.12/site-packages/torch/utils/data/";
  const std::uint32_t in_data_set =
      builder.stack({builder.python("Images.__getitem__", "/home/me/images.py", 12),
                     builder.python("fetch", std::string(library) + "_utils/fetch.py", 50), loop});
  const std::uint32_t in_workers = builder.stack(
      {builder.python("_MultiProcessingDataLoaderIter._try_get_data", std::string(library) + "dataloader.py", 1200),
       loop});
  program.steps(8, [&](int) {
    program.work(loading_ns / 2);
    if (sampled == Sampled::kDataSet) program.sample(in_data_set);
    if (sampled == Sampled::kWorkers) program.sample(in_workers);
    program.work(loading_ns / 2);
    program.upload({.stack = to, .bytes = kMiB, .duration_ns = 50 * kUs});
    program.kernel(kernel_ns);
  });
  return program.findings(kLateLoader);
}

TEST(LateLoader, IsToldWhereTheBatchIsTaken) {
  const auto findings = late_loader_findings(6000 * kUs, 500 * kUs);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:40");
  EXPECT_GT(findings[0].saving_pct.value_or(0), 80);
}

TEST(LateLoader, NamesTheDataSetThatLoadsInTheMainProcess) {
  const auto findings = late_loader_findings(6000 * kUs, 500 * kUs, Sampled::kDataSet);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("the main process loads the data itself"), std::string::npos)
      << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find("images.py:12"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].advice.find("num_workers"), std::string::npos);
}

TEST(LateLoader, TellsToRaiseTheNumberOfWorkersThatThereAre) {
  const auto findings = late_loader_findings(6000 * kUs, 500 * kUs, Sampled::kWorkers);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("it waited for the worker processes"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].advice.find("twice as many (num_workers="), std::string::npos);
}

// The advice reaches a part of what ready batches would save: a figure of the whole says that it is one.
TEST(LateLoader, TellsWhatReadyBatchesWouldSaveWhereTheAdviceReachesAPartOfIt) {
  const auto whole = late_loader_findings(6000 * kUs, 500 * kUs, Sampled::kDataSet);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].evidence.find("would"), std::string::npos) << whole[0].evidence;
  EXPECT_EQ(whole[0].saving_reason, "");
  const auto part = late_loader_findings(6000 * kUs, 500 * kUs, Sampled::kWorkers);
  ASSERT_EQ(part.size(), 1u);
  EXPECT_EQ(part[0].evidence.find("would"), std::string::npos) << part[0].evidence;
  EXPECT_EQ(part[0].saving_reason, "if each batch were ready, a step would take " +
                                       time_text(static_cast<double>(part[0].saving_step_ns.value_or(0))) +
                                       " less, and this reaches a part of it: twice as many workers load twice as "
                                       "fast, as far as the CPU has cores for them");
  EXPECT_LT(part[0].saving_step_high_ns, part[0].saving_step_ns);
}

TEST(LateLoader, ReachesAllThatTwiceTheWorkersReachWhereTheCpuHasRoomForThem) {
  const auto findings = [](const char* cpu) {
    return late_loader_findings(6000 * kUs, 500 * kUs, Sampled::kWorkers, cpu);
  };
  const auto unknown = findings(""), room = findings("cores=4 busy=1.00"), full = findings("cores=4 busy=1.02");
  ASSERT_EQ(room.size(), 1u);
  EXPECT_GT(room[0].saving_step_low_ns, unknown.at(0).saving_step_low_ns);
  EXPECT_EQ(room[0].saving_step_high_ns, unknown[0].saving_step_high_ns);
  EXPECT_TRUE(room[0].saving_reason.ends_with(
      "twice as many workers load twice as fast (of 4 CPU cores, 3.0 had nothing to do)"))
      << room[0].saving_reason;
  EXPECT_EQ(full.at(0).saving_step_low_ns, unknown[0].saving_step_low_ns);
  EXPECT_TRUE(
      full[0].saving_reason.ends_with("as far as the CPU has cores for them (of 4 CPU cores, 3.0 had nothing to do)"))
      << full[0].saving_reason;
}

TEST(LateLoader, IsNotOneThatTheGpuHides) {
  EXPECT_TRUE(late_loader_findings(6000 * kUs, 12'000 * kUs).empty());
}

std::string said_of_workers(std::int64_t loading_us, const char* cpu = "", const char* ranks = "") {
  const auto findings = late_loader_findings(loading_us * kUs, 500 * kUs, Sampled::kNothing, cpu, ranks);
  return findings.empty() ? "nothing" : findings[0].advice.substr(0, 100);
}

// A step without the wait takes 500 + 1 us, as its upload runs ahead; the wait is that of 7 steps over 8.
TEST(LateLoader, CountsTheWorkersThatHideTheLoading) {
  EXPECT_EQ(said_of_workers(2270),  // 1987 us are 3.97 steps
            "Load in workers: tp.prefetch(DataLoader(..., num_workers=5, pin_memory=True), device). They load in ");
  EXPECT_EQ(said_of_workers(2310),  // 2022 us are 4.04
            "Load in workers: tp.prefetch(DataLoader(..., num_workers=6, pin_memory=True), device). They load in ");
  EXPECT_EQ(said_of_workers(8570),  // 7500 us are 14.97
            "Load in workers: tp.prefetch(DataLoader(..., num_workers=16, pin_memory=True), device). They load in");
  EXPECT_EQ(said_of_workers(8610),  // 7535 us are 15.04
            "Do less for each sample, or prepare the data once and store it. Loading takes so much longer than th");
}

TEST(LateLoader, AdvisesAsManyWorkersAsThereAreCoresFor) {
  const auto workers = [](std::int64_t loading_us, const char* cpu, const char* ranks = "") {
    return said_of_workers(loading_us, cpu, ranks)[57];
  };
  EXPECT_EQ(workers(2270, "cores=8 busy=1.00"), '5') << "it needs no more";
  EXPECT_EQ(workers(2270, "cores=4 busy=0.50"), '4') << "3.5 are idle, and the main process loads no more";
  EXPECT_EQ(workers(2270, "cores=2 busy=2.00"), '1');
  EXPECT_EQ(workers(2270, "cores=4 busy=0.00", "2"), '3') << "two ranks share the idle ones";
  EXPECT_EQ(workers(8610, "cores=2 busy=1.00"), '2') << "also where so many could not hide it anyway";
  const auto few = late_loader_findings(2270 * kUs, 500 * kUs, Sampled::kNothing, "cores=2 busy=1.00");
  const auto all = late_loader_findings(2270 * kUs, 500 * kUs);
  ASSERT_EQ(few.size(), 1u);
  EXPECT_TRUE(few[0].advice.ends_with("too: the CPU has no cores for more workers.")) << few[0].advice;
  EXPECT_TRUE(
      few[0].saving_reason.ends_with("2 workers load a batch in 994 us (of 2 CPU cores, 1.0 had nothing to do)"))
      << few[0].saving_reason;
  EXPECT_EQ(few[0].saving_step_ns, all.at(0).saving_step_ns);
  EXPECT_LT(few[0].saving_step_high_ns, all[0].saving_step_low_ns);
  EXPECT_GT(few[0].saving_step_low_ns, 0);
  const auto none = late_loader_findings(2270 * kUs, 500 * kUs, Sampled::kNothing, "cores=2 busy=1.01");
  EXPECT_EQ(none.at(0).saving_step_low_ns, 0);
}

TEST(LateLoader, IsToldOfTwoWaitsOfALoaderAndOfHalfOfTheStepsElsewhere) {
  const auto count = [](int slow_steps, bool is_sampled) {
    StepProgram program;
    const std::uint32_t to = program.stack(40, {"copy_", "to_dtype_layout"});
    const std::uint32_t in_workers = program.builder().stack(
        {program.builder().python("_try_get_data", "/opt/lib/python3.12/site-packages/torch/utils/data/x.py", 1)});
    program.steps(10, [&](int step) {
      if (step >= 10 - slow_steps) {
        program.work(3000 * kUs);
        if (is_sampled) program.sample(in_workers);
        program.work(3000 * kUs);
      }
      program.upload({.stack = to, .bytes = kMiB, .duration_ns = 50 * kUs});
      program.kernel(500 * kUs);
    });
    return program.findings(kLateLoader).size();
  };
  EXPECT_EQ(count(9, false), 1u);
  EXPECT_EQ(count(5, false), 1u);
  EXPECT_EQ(count(4, false), 0u);
  EXPECT_EQ(count(2, true), 1u);
  EXPECT_EQ(count(1, true), 0u);
}

// Each batch is two tensors of ordinary memory, each of which the CPU waits 2 ms for. Samples show a data set.
StepProgram uploads_behind_loading(const std::function<std::int64_t(int)>& loading_ns) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  const std::uint32_t pictures = program.stack(40, {"copy_", "to_dtype_layout"});
  const std::uint32_t labels = program.stack(41, {"copy_", "to_dtype_layout"});
  const std::uint32_t constants = program.stack(44, {"copy_", "to_dtype_layout"});
  const std::uint32_t in_data_set =
      builder.stack({builder.python("fetch", "/opt/lib/python3.12/site-packages/torch/utils/data/_utils/fetch.py", 50),
                     builder.python("train", "/home/me/train.py", 39)});
  const auto upload = [&](std::uint32_t stack) {
    program.upload({.stack = stack,
                    .bytes = 16 * kMiB,
                    .duration_ns = 2000 * kUs,
                    .host = trace::MemoryKind::kPageable,
                    .wait = Wait::kBehind});
  };
  program.steps(8, [&](int step) {
    program.work(loading_ns(step) / 2);
    program.sample(in_data_set);
    program.work(loading_ns(step) / 2);
    upload(pictures);
    upload(labels);
    program.kernel(500 * kUs);
    program.work(600 * kUs);
    upload(constants);
    program.kernel(500 * kUs);
    program.sync(constants, "cudaStreamSynchronize");
  });
  return program;
}

double saved_us(StepProgram program, const LinkRates& rates) {
  const auto findings = program.findings(kLateLoader, rates);
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? 0 : static_cast<double>(findings[0].saving_step_ns.value_or(0)) / kUs;
}

// The advice pins the batch and brings it up ahead: what is left of its uploads is the calls. The third upload of a
// step is no part of the batch.
TEST(LateLoader, ClaimsWhatItsWholeAdviceGains) {
  const auto loading = [](int) { return 6000 * kUs; };
  const double wait_us = saved_us(uploads_behind_loading(loading), {});
  const double all_us = saved_us(uploads_behind_loading(loading), link_of(50));
  EXPECT_NEAR(wait_us, 5900, 10);
  EXPECT_NEAR(all_us - wait_us, 4000, 600);
}

// It is as late in the steps in which it is late by less than what tells a loader.
TEST(LateLoader, CountsTheShorterWaitsForTheSameLoader) {
  const auto now_and_then = [](int step) { return (step % 2 == 0 ? 3000 : 1500) * kUs; };
  EXPECT_NEAR(saved_us(uploads_behind_loading(now_and_then), {}), (3000 + 1500) / 2 - 100, 10);
  const auto findings = uploads_behind_loading(now_and_then).findings(kLateLoader);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("in 7 of 8 steps the program did nothing"), std::string::npos)
      << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find("a batch is 16.8 MB"), std::string::npos) << findings[0].evidence;
}

// Other rules report pinning before an upload and work on data that was just downloaded.
TEST(LateLoader, IsNotThePauseOfOtherRules) {
  const auto count = [](trace::CallKind kind, std::uint64_t down_bytes, Wait wait) {
    StepProgram program;
    const std::uint32_t to = program.stack(40, {"copy_", "to_dtype_layout"});
    program.steps(8, [&](int) {
      if (kind != trace::CallKind::kOther) program.call(kind, to, "cudaHostAlloc");
      if (down_bytes > 0) {
        program.download({.stack = to, .bytes = down_bytes, .duration_ns = 10 * kUs, .wait = wait});
      }
      program.work(6000 * kUs);
      program.upload({.stack = to, .bytes = kMiB, .duration_ns = 50 * kUs});
      program.kernel(500 * kUs);
    });
    return program.findings(kLateLoader).size();
  };
  EXPECT_EQ(count(trace::CallKind::kOther, 0, Wait::kNothing), 1u);
  EXPECT_EQ(count(trace::CallKind::kHostAlloc, 0, Wait::kNothing), 0u);
  EXPECT_EQ(count(trace::CallKind::kHostRegister, 0, Wait::kNothing), 0u);
  EXPECT_EQ(count(trace::CallKind::kDeviceAlloc, 0, Wait::kNothing), 1u);
  EXPECT_EQ(count(trace::CallKind::kOther, kMiB, Wait::kInCall), 0u);
  EXPECT_EQ(count(trace::CallKind::kOther, kMiB, Wait::kBehind), 0u);
  EXPECT_EQ(count(trace::CallKind::kOther, kMiB - 1, Wait::kInCall), 1u);
}

}  // namespace
}  // namespace turnpike::analyze
