// The wait for the next batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "analyze/rules/step_program.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kLateLoader = "late_loader";

enum class Sampled { kNothing, kDataSet, kWorkers, kReceiving };

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
  const std::uint32_t receiving = builder.stack(
      {builder.python("rebuild_storage_fd", "/opt/lib/python3.12/site-packages/torch/multiprocessing/reductions.py",
                      540),
       builder.python("_MultiProcessingDataLoaderIter._try_get_data", std::string(library) + "dataloader.py", 1200),
       loop});
  program.steps(8, [&](int) {
    program.work(loading_ns / 2);
    if (sampled == Sampled::kReceiving) program.sample(receiving);
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
  EXPECT_TRUE(findings[0].advice.starts_with("Start 10.9 times as many workers (num_workers=)")) << findings[0].advice;
}

// In bench/field/public, NCF and CIFAR: half as many workers more gained nothing.
TEST(LateLoader, DoesNotAdviseMoreWorkersWhereTakingABatchOverTakesTheTime) {
  const auto findings = late_loader_findings(6000 * kUs, 500 * kUs, Sampled::kReceiving);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("the main process took it over"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].advice.find("pin_memory=True"), std::string::npos) << findings[0].advice;
  EXPECT_EQ(findings[0].saving_step_low_ns, 0);
}

// torch.profiler has no samples without with_stack=True, but PyTorch marks each request to a DataLoader.
std::vector<Finding> findings_with_range(const std::string& iterator) {
  StepProgram program;
  const std::uint32_t to = program.stack(40, {"copy_", "to_dtype_layout"});
  program.steps(8, [&](int) {
    const std::int64_t start_ns = program.now_ns();
    program.work(6000 * kUs);
    program.builder().range("enumerate(DataLoader)#" + iterator + ".__next__", start_ns, program.now_ns());
    program.upload({.stack = to, .bytes = kMiB, .duration_ns = 50 * kUs});
    program.kernel(500 * kUs);
  });
  return program.findings(kLateLoader);
}

TEST(LateLoader, KnowsWhoLoadsByTheRangesOfPyTorch) {
  const auto workers = findings_with_range("_MultiProcessingDataLoaderIter");
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_TRUE(workers[0].advice.starts_with("Start ")) << workers[0].advice;
  const auto main = findings_with_range("_SingleProcessDataLoaderIter");
  ASSERT_EQ(main.size(), 1u);
  EXPECT_NE(main[0].evidence.find("the main process loads the data itself"), std::string::npos) << main[0].evidence;
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
  EXPECT_EQ(part[0].saving_reason, "with every batch ready, a step would take " +
                                       time_text(static_cast<double>(part[0].saving_step_ns.value_or(0))) +
                                       " less; this reaches a part of it: 10.9 times as many workers load 10.9 "
                                       "times as fast, as far as the CPU has cores for them");
  EXPECT_LT(part[0].saving_step_expected_ns, part[0].saving_step_ns);
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

// Stacks of a thread that runs a loop over a DataLoader, at line 39 of train.py.
struct LoopStacks {
  explicit LoopStacks(ProcessBuilder& builder) {
    const std::string library = "/opt/lib/python3.12/site-packages/";
    const std::string loader = library + "torch/utils/data/dataloader.py";
    const std::uint32_t main = builder.python("<module>", "/home/me/train.py", 90);
    const std::uint32_t loop = builder.python("train", "/home/me/train.py", 39);
    const std::uint32_t iter = builder.python("DataLoader.__iter__", loader, 494);
    const std::uint32_t next = builder.python("_BaseDataLoaderIter.__next__", loader, 741);
    const std::uint32_t get_data = builder.python("_MultiProcessingDataLoaderIter._get_data", loader, 1453);
    const std::uint32_t try_get = builder.python("_MultiProcessingDataLoaderIter._try_get_data", loader, 1310);
    starting =
        builder.stack({builder.python("BaseProcess.start", "/opt/lib/python3.12/multiprocessing/process.py", 121),
                       builder.python("_MultiProcessingDataLoaderIter.__init__", loader, 1192),
                       builder.python("DataLoader._get_iterator", loader, 433), iter, loop, main});
    resetting = builder.stack(
        {try_get, get_data, builder.python("_MultiProcessingDataLoaderIter._reset", loader, 1290), iter, loop, main});
    awaiting =
        builder.stack({try_get, get_data, builder.python("_MultiProcessingDataLoaderIter._next_data", loader, 1490),
                       next, loop, main});
    loading =
        builder.stack({builder.python("Images.__getitem__", "/home/me/images.py", 12),
                       builder.python("_MapDatasetFetcher.fetch", library + "torch/utils/data/_utils/fetch.py", 50),
                       builder.python("_SingleProcessDataLoaderIter._next_data", loader, 801), next, loop, main});
    saving = builder.stack({builder.python("_save", library + "torch/serialization.py", 1200),
                            builder.python("save", library + "torch/serialization.py", 960),
                            builder.python("train", "/home/me/train.py", 60), main});
    augmenting = builder.stack({builder.python("train", "/home/me/train.py", 45), main});
    upload = upload_at(builder, 40, main);
    upload_of_test = upload_at(builder, 70, main);
  }
  static std::uint32_t upload_at(ProcessBuilder& builder, std::uint32_t line, std::uint32_t main) {
    return builder.stack(
        {builder.op("copy_"), builder.op("to_dtype_layout"), builder.python("train", "/home/me/train.py", line), main});
  }
  std::uint32_t starting, resetting, awaiting, loading, saving, augmenting, upload, upload_of_test;
};

// What a thread does for a while.
struct Deed {
  std::uint32_t LoopStacks::* stack;
  std::int64_t duration_us;
};
using Deeds = std::vector<Deed>;

constexpr std::int64_t kKernelUs = 2000;

// Each step does `deeds`, then takes its batch and waits for the GPU. Samples are 1 ms apart. In the steps `tests`
// another line takes it.
std::vector<Finding> findings_of_loop(int steps, const std::function<Deeds(int)>& deeds, const char* cpu = "",
                                      const std::vector<int>& tests = {}) {
  StepProgram program;
  program.builder().process().metadata["cpu"] = cpu;
  const LoopStacks stacks(program.builder());
  program.kernel(50 * kUs);
  program.steps(steps, [&](int step) {
    for (const Deed& deed : deeds(step)) {
      for (std::int64_t done_us = 0; done_us < deed.duration_us; done_us += 1000) {
        program.sample(stacks.*deed.stack);
        program.work(1000 * kUs);
      }
    }
    const bool is_test = std::find(tests.begin(), tests.end(), step) != tests.end();
    program.upload({.stack = is_test ? stacks.upload_of_test : stacks.upload, .bytes = kMiB, .duration_ns = 50 * kUs});
    program.kernel(kKernelUs * kUs);
    program.sync(trace::kNoId, "cudaStreamSynchronize");
  });
  return program.findings(kLateLoader);
}

constexpr Deed kAwaits3{&LoopStacks::awaiting, 3000};
constexpr const char* kStartsTitle = "each epoch starts new worker processes";

const Finding* with_title(const std::vector<Finding>& findings, const std::string& title) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.title == title; });
  return found == findings.end() ? nullptr : &*found;
}

TEST(LateLoader, NamesTheLineOfTheLoop) {
  for (const auto stack : {&LoopStacks::awaiting, &LoopStacks::loading}) {
    const auto findings = findings_of_loop(8, [&](int) { return Deeds{{stack, 3000}}; });
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].site, "train.py:39");
    EXPECT_EQ(findings[0].file, "/home/me/train.py");
    EXPECT_EQ(findings[0].function, "train");
    EXPECT_EQ(findings[0].library_site, std::nullopt);
    EXPECT_EQ(findings[0].evidence.find("at train.py:39"), std::string::npos) << findings[0].evidence;
  }
}

TEST(LateLoader, IsOneForOneLoopWhateverLineTakesTheBatch) {
  const auto findings = findings_of_loop(8, [](int) { return Deeds{kAwaits3}; }, "", {1, 3, 5, 7});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(findings[0].evidence.starts_with("once a step")) << findings[0].evidence;
}

// Some pauses fall between two samples.
TEST(LateLoader, TakesAPauseWithoutASampleForWhatTheOthersAre) {
  const auto findings =
      findings_of_loop(8, [](int step) { return Deeds{{&LoopStacks::awaiting, step == 3 ? 0 : 3000}}; });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("in 7 of 8 steps"), std::string::npos) << findings[0].evidence;
}

// One of four steps begins an epoch, for which the program starts workers for 20 ms and awaits them for 10 ms.
Deeds with_epochs(int step) {
  if (step % 4 != 2) return {kAwaits3};
  return {{&LoopStacks::starting, 20'000}, {&LoopStacks::awaiting, 10'000}};
}

TEST(LateLoader, TellsEpochsThatStartNewWorkers) {
  const auto findings = findings_of_loop(16, with_epochs);
  ASSERT_EQ(findings.size(), 2u);
  const Finding* starts = with_title(findings, kStartsTitle);
  ASSERT_TRUE(starts);
  EXPECT_EQ(starts->site, "train.py:39");
  EXPECT_EQ(starts->library_site, "torch: utils/data/dataloader.py (DataLoader.__iter__)");
  EXPECT_TRUE(starts->advice.starts_with("Keep the workers: DataLoader(..., persistent_workers=True)."))
      << starts->advice;
  EXPECT_TRUE(starts->evidence.starts_with(
      "in 4 of 16 steps an epoch began: the program ended its worker processes and started new ones, and "
      "waited for their first batch. It took 30.0 ms each time, 7.50 ms a step"))
      << starts->evidence;
  EXPECT_EQ(starts->superseded_by, std::nullopt);
  // What is sure to go is the starting.
  EXPECT_NEAR(static_cast<double>(*starts->saving_step_ns), 29'900 * kUs / 4.0, 60 * kUs);
  EXPECT_NEAR(static_cast<double>(*starts->saving_step_low_ns), 20'000 * kUs / 4.0, 60 * kUs);
  EXPECT_EQ(starts->saving_reason, "the first batch of an epoch is still to be loaded while the program waits");
}

// An epoch's start is no reason for more workers. Without them a step takes 4.4 ms, and 2.2 ms with a ready batch.
TEST(LateLoader, CountsNoStartOfWorkersAsAWaitForThem) {
  const std::string title = "the GPU waits for the next batch, which the CPU is still preparing";
  const auto findings = findings_of_loop(16, with_epochs);
  const Finding* waits = with_title(findings, title);
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->site, "train.py:39");
  EXPECT_TRUE(waits->evidence.starts_with("in 12 of 16 steps")) << waits->evidence;
  EXPECT_NE(waits->evidence.find("2.25 ms a step"), std::string::npos) << waits->evidence;
  EXPECT_TRUE(waits->advice.starts_with("Start 2.1 times as many workers (num_workers=)")) << waits->advice;
}

TEST(LateLoader, AdvisesWorkersThatStayFromTwoStartsOn) {
  const auto starts_in = [](const std::vector<int>& steps, const std::vector<int>& tests = {}) {
    const auto deeds = [&](int step) {
      const bool is_start = std::find(steps.begin(), steps.end(), step) != steps.end();
      return is_start ? Deeds{{&LoopStacks::starting, 20'000}} : Deeds{};
    };
    const auto findings = findings_of_loop(10, deeds, "", tests);
    EXPECT_LE(findings.size(), 1u);
    return findings.empty() ? std::string("none") : findings[0].evidence.substr(0, 16);
  };
  EXPECT_EQ(starts_in({}), "none");
  EXPECT_EQ(starts_in({5}), "none");
  EXPECT_EQ(starts_in({3, 6}), "in 2 of 10 steps");
  // The first workers of a loop must start anyway.
  EXPECT_EQ(starts_in({3, 6}, {3, 6}), "in 1 of 10 steps");
  EXPECT_EQ(starts_in({3}, {3}), "none");
}

TEST(LateLoader, KnowsWorkersThatStayForAllEpochs) {
  const auto findings = findings_of_loop(
      12, [](int step) { return Deeds{{step % 4 == 0 ? &LoopStacks::resetting : &LoopStacks::awaiting, 3000}}; });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].title, kStartsTitle);
}

TEST(LateLoader, LeavesOtherWorkOfTheLoopAlone) {
  const auto waits_beside = [](Deed other) {
    return findings_of_loop(10, [&](int step) { return step == 4 || step == 7 ? Deeds{other} : Deeds{kAwaits3}; });
  };
  for (const auto stack : {&LoopStacks::saving, &LoopStacks::augmenting}) {
    const auto findings = waits_beside({stack, 50'000});
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_TRUE(findings[0].evidence.starts_with("in 8 of 10 steps")) << findings[0].evidence;
    EXPECT_NEAR(static_cast<double>(*findings[0].saving_step_ns), 8 * 2900 * kUs / 10.0, 60 * kUs);
  }
  const auto alone = [](auto stack) { return findings_of_loop(8, [&](int) { return Deeds{{stack, 3000}}; }); };
  EXPECT_TRUE(alone(&LoopStacks::saving).empty());
  EXPECT_EQ(alone(&LoopStacks::augmenting).size(), 1u) << "it may make the batch";
}

TEST(LateLoader, ClaimsNothingOfWhatElseWasDoneInItsPauses) {
  const auto findings = findings_of_loop(16, [](int step) {
    return step % 4 == 2 ? Deeds{{&LoopStacks::saving, 12'000}, {&LoopStacks::starting, 6000}} : Deeds{};
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, kStartsTitle);
  EXPECT_NE(findings[0].evidence.find("It took 6.00 ms each time, 1.50 ms a step"), std::string::npos)
      << findings[0].evidence;
  EXPECT_NEAR(static_cast<double>(*findings[0].saving_step_high_ns), 1500 * kUs, 60 * kUs);
  EXPECT_EQ(findings[0].saving_reason, "other work of the program in these pauses stays");
}

// A step takes 5.1 ms, and 2.2 ms with a ready batch.
TEST(LateLoader, AdvisesAsManyWorkersAsTheTimeOfABatchTells) {
  const auto findings = [](const char* cpu) { return findings_of_loop(8, [](int) { return Deeds{kAwaits3}; }, cpu); };
  const auto unknown = findings(""), room = findings("cores=8 busy=1.00"), little = findings("cores=4 busy=1.00"),
             full = findings("cores=4 busy=2.00");
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_TRUE(unknown[0].advice.starts_with("Start 2.4 times as many workers (num_workers=)")) << unknown[0].advice;
  EXPECT_LT(unknown[0].saving_step_low_ns, unknown[0].saving_step_ns);
  EXPECT_EQ(room.at(0).advice, unknown[0].advice);
  EXPECT_EQ(room[0].saving_step_low_ns, room[0].saving_step_ns);
  EXPECT_EQ(room[0].saving_reason,
            "2.4 times as many workers load 2.4 times as fast (of 8 CPU cores, 7.0 had nothing to do)");
  EXPECT_EQ(little.at(0).advice, unknown[0].advice);
  EXPECT_EQ(little[0].saving_step_low_ns, unknown[0].saving_step_low_ns);
  EXPECT_TRUE(
      little[0].saving_reason.ends_with("as far as the CPU has cores for them (of 4 CPU cores, 3.0 had nothing to do)"))
      << little[0].saving_reason;
  EXPECT_TRUE(full.at(0).advice.starts_with("Do less for each sample")) << full[0].advice;
  EXPECT_NE(
      full[0].advice.find("2.4 times as many workers, and the CPU has no cores for them (of 4 CPU cores, 2.0 had"),
      std::string::npos)
      << full[0].advice;
  EXPECT_EQ(full[0].saving_step_low_ns, 0);
  const auto far = late_loader_findings(20'000 * kUs, 500 * kUs, Sampled::kWorkers);
  EXPECT_TRUE(far.at(0).advice.starts_with("Do less for each sample")) << "no machine has so many cores";
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
  EXPECT_NEAR(saved_us(uploads_behind_loading(now_and_then), {}), (3000 + 1500) / 2.0 - 100, 10);
  const auto findings = uploads_behind_loading(now_and_then).findings(kLateLoader);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("in 7 of 8 steps the batch was not ready"), std::string::npos)
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
