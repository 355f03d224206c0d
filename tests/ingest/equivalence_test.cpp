// One run gives the same answers from our own recording, from Nsight Systems' export and from torch.profiler's trace of
// it, as far as the three carry the same facts.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "analyze/analyze.h"
#include "ingest/recorded_run.h"
#include "ingest/run_reader.h"
#include "trace/reader.h"

namespace turnpike::ingest {
namespace {

namespace fs = std::filesystem;

fs::path example() {
  return fs::path(TURNPIKE_EXAMPLES) / "mnist-h100.tpk";
}

analyze::Report report_of(const fs::path& path) {
  auto report = analyze::analyze_run({path}, {.kind_of = kind_of, .read = read_file});
  EXPECT_TRUE(report.has_value()) << report.error().message;
  return report ? *report : analyze::Report();
}

RecordedRun recorded_run() {
  RecordedRun run;
  const auto files = trace::run_files(example());
  EXPECT_TRUE(files.has_value() && files->size() == 1);
  auto process = trace::read_file(files->front(), run);
  EXPECT_TRUE(process.has_value());
  run.process = std::move(*process);
  return run;
}

class Equivalence : public testing::Test {
 protected:
  Equivalence() {
    std::string pattern = (fs::temp_directory_path() / "equivalence-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Equivalence() override { fs::remove_all(folder_); }

  fs::path folder_;
};

void expect_same_figures(const analyze::Report& own, const analyze::Report& other) {
  for (std::size_t i = 0; i < analyze::kDirectionCount; ++i) {
    SCOPED_TRACE(analyze::name_of(static_cast<analyze::Direction>(i)));
    EXPECT_EQ(own.totals[i].count, other.totals[i].count);
    EXPECT_EQ(own.totals[i].bytes, other.totals[i].bytes);
    EXPECT_EQ(own.totals[i].device_time_ns, other.totals[i].device_time_ns);
    EXPECT_EQ(own.totals[i].host_blocked_ns, other.totals[i].host_blocked_ns);
    EXPECT_EQ(own.totals[i].pageable_count, other.totals[i].pageable_count);
    EXPECT_EQ(own.totals[i].pageable_bytes, other.totals[i].pageable_bytes);
  }
  EXPECT_EQ(own.span_ns, other.span_ns);
  EXPECT_EQ(own.syncs.count, other.syncs.count);
  EXPECT_EQ(own.syncs.host_blocked_ns, other.syncs.host_blocked_ns);
  EXPECT_EQ(own.syncs.of_transfers_count, other.syncs.of_transfers_count);
  EXPECT_EQ(own.syncs.of_transfers_host_blocked_ns, other.syncs.of_transfers_host_blocked_ns);
  ASSERT_EQ(own.steps.has_value(), other.steps.has_value());
  if (own.steps) {
    EXPECT_EQ(own.steps->count, other.steps->count);
    EXPECT_EQ(own.steps->median_ns, other.steps->median_ns);
    EXPECT_EQ(source_text(*own.steps), source_text(*other.steps));
    EXPECT_EQ(own.steps->whole_count, other.steps->whole_count);
  }
  EXPECT_EQ(own.verdict.bound_by, other.verdict.bound_by);
  EXPECT_EQ(own.verdict.gpu_busy_pct, other.verdict.gpu_busy_pct);
  EXPECT_EQ(own.verdict.gpu_idle_pct, other.verdict.gpu_idle_pct);
  EXPECT_EQ(own.verdict.exposed_transfer_pct, other.verdict.exposed_transfer_pct);
}

TEST_F(Equivalence, OfNsightSystems) {
  const RecordedRun run = recorded_run();
  write_as_nsys(run, folder_ / "mnist.sqlite");
  const analyze::Report own = report_of(example());
  const analyze::Report other = report_of(folder_ / "mnist.sqlite");
  EXPECT_EQ(other.source.kind, "nsys");
  EXPECT_GT(own.totals[0].count, 0u);
  expect_same_figures(own, other);
  EXPECT_EQ(own.verdict.why, other.verdict.why);
  // Call chains carry the lines, too.
  ASSERT_FALSE(own.sites.empty());
  ASSERT_EQ(own.sites.size(), other.sites.size());
  for (std::size_t i = 0; i < own.sites.size(); ++i) {
    EXPECT_EQ(own.sites[i].site, other.sites[i].site);
    EXPECT_EQ(own.sites[i].op, other.sites[i].op);
    EXPECT_EQ(own.sites[i].phase, other.sites[i].phase);
    EXPECT_EQ(own.sites[i].count, other.sites[i].count);
    EXPECT_EQ(own.sites[i].host_blocked_ns, other.sites[i].host_blocked_ns);
  }
}

TEST_F(Equivalence, OfTorchProfiler) {
  const RecordedRun run = recorded_run();
  write_as_kineto(run, folder_ / "mnist.json");
  const analyze::Report own = report_of(example());
  const analyze::Report other = report_of(folder_ / "mnist.json");
  EXPECT_EQ(other.source.kind, "kineto");
  expect_same_figures(own, other);
}

}  // namespace
}  // namespace turnpike::ingest
