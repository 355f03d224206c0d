// The wait for the next batch.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kRule = "late_loader";

enum class Sampled { kNothing, kDataSet, kWorkers };

std::vector<Finding> findings_of(std::int64_t loading_ns, std::int64_t kernel_ns, Sampled sampled = Sampled::kNothing) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
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
  return program.findings(kRule);
}

TEST(LateLoader, IsToldWhereTheBatchIsTaken) {
  const auto findings = findings_of(6000 * kUs, 500 * kUs);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:40");
  EXPECT_GT(findings[0].saving_pct.value_or(0), 80);
}

TEST(LateLoader, NamesTheDataSetThatLoadsInTheMainProcess) {
  const auto findings = findings_of(6000 * kUs, 500 * kUs, Sampled::kDataSet);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("the main process loads the data itself"), std::string::npos)
      << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find("images.py:12"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].advice.find("num_workers"), std::string::npos);
}

TEST(LateLoader, TellsToRaiseTheNumberOfWorkersThatThereAre) {
  const auto findings = findings_of(6000 * kUs, 500 * kUs, Sampled::kWorkers);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("it waited for the worker processes"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].advice.find("raise num_workers"), std::string::npos);
}

TEST(LateLoader, IsNotOneThatTheGpuHides) {
  EXPECT_TRUE(findings_of(6000 * kUs, 12'000 * kUs).empty());
}

}  // namespace
}  // namespace turnpike::analyze
