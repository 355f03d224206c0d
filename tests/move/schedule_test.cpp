// Which task comes next, decided on one thread: grains, copies, slots, and what becomes of jobs that end early.
#include "move/schedule.h"

#include <gmock/gmock.h>

#include "simulated/simulation.h"

namespace turnpike::move {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Step = Schedule::Step;
using Task = Schedule::Task;

constexpr std::size_t kGrain = std::size_t{512} << 10;
constexpr std::size_t kSlotBytes = 3 * kGrain;

// A device of the simulation, and a schedule on a ring of four slots, of which a stream keeps one for others.
class Schedules : public ::testing::Test {
 protected:
  Schedules()
      : simulation_(1, {.pace = simulated::Pace::kOnlyWhenAsked}),
        device_(std::move(*Device::open(simulation_.driver(), 0))),
        stream_(simulation_.make_stream(0)),
        schedule_(std::make_unique<Ring>(*device_, kSlotBytes, 4, 4)) {}
  ~Schedules() override {
    schedule_.set_ring(nullptr);
    jobs_.clear();
    device_.reset();
    EXPECT_THAT(simulation_.leaks(), IsEmpty());
    EXPECT_THAT(simulation_.violations_text(), IsEmpty());
  }

  std::shared_ptr<Job> add(Direction direction, std::size_t chunks, bool is_ahead = false,
                           CUstream_st* stream = nullptr) {
    Plan plan;
    plan.chunk_bytes = kSlotBytes;
    for (std::size_t i = 0; i < chunks; ++i)
      plan.chunks.push_back({.device = i * kSlotBytes, .size_bytes = kSlotBytes, .first_part = 0, .end_part = 0});
    CUstream_st* in = stream != nullptr ? stream : stream_;
    auto job = std::make_shared<Job>(direction, *device_, in, std::move(plan), is_ahead, "");
    job->most_gatherers = 12;
    schedule_.add(job);
    jobs_.push_back(job);
    return job;
  }
  // With a question left.
  std::optional<Task> next(const Job* only = nullptr) {
    Polling::Turn turn;
    return schedule_.next(turn, only);
  }
  std::optional<Task> next_without_question() {
    Polling::Turn turn(false);
    return schedule_.next(turn);
  }
  std::shared_ptr<Mark> mark() {
    const InContext in_context(*device_);
    return *Mark::after(*device_, stream_);
  }
  // As if it had been carried.
  std::optional<Task> finish(const Task& task) {
    const bool is_issue = task.step == Step::kIssueUp || task.step == Step::kIssueDown;
    return schedule_.finished(task, {{}, is_issue ? mark() : nullptr});
  }
  std::optional<Task> fail(const Task& task) { return schedule_.finished(task, {Error{"broken"}, nullptr}); }
  // Gathers one chunk; the task that issues it.
  Task gather_chunk() {
    std::optional<Task> task;
    for (int grain = 0; grain < 3; ++grain) {
      task = next();
      EXPECT_EQ(task->step, Step::kGather);
      task = finish(*task);
    }
    EXPECT_TRUE(task);
    return *task;
  }

  simulated::Simulation simulation_;
  std::unique_ptr<Device> device_;
  CUstream_st* stream_;
  Schedule schedule_;
  std::vector<std::shared_ptr<Job>> jobs_;
};

TEST_F(Schedules, GrainsOfAChunkAreSharedAndTheLastThreadIssuesIt) {
  const auto job = add(Direction::kUp, 1);
  const Task first = *next();
  const Task second = *next();
  const Task third = *next();
  EXPECT_FALSE(next()) << "all of it is taken";
  EXPECT_EQ(first.begin, 0U);
  EXPECT_EQ(first.end, kGrain);
  EXPECT_EQ(second.begin, kGrain);
  EXPECT_EQ(third.end, kSlotBytes);
  EXPECT_EQ(third.slot, first.slot);
  EXPECT_EQ(job->gatherers, 3U);
  EXPECT_FALSE(finish(second));
  EXPECT_FALSE(finish(third));
  EXPECT_FALSE(job->is_issuing);
  const auto issue = finish(first);
  ASSERT_TRUE(issue);
  EXPECT_EQ(issue->step, Step::kIssueUp);
  ASSERT_EQ(issue->job->batch.size(), 1U);
  EXPECT_EQ(issue->job->batch[0].slot, first.slot);
  EXPECT_TRUE(job->is_issuing);
  EXPECT_FALSE(job->has_issued());
  EXPECT_FALSE(finish(*issue));
  EXPECT_TRUE(job->has_issued());
  EXPECT_EQ(job->gatherers, 0U);
  EXPECT_EQ(schedule_.ring().taken(), 0U);
}

TEST_F(Schedules, WhatIsGatheredWhileAThreadIssuesIsIssuedByItTogether) {
  const auto job = add(Direction::kUp, 3);
  const Task issue = gather_chunk();
  std::vector<Task> grains;
  for (int grain = 0; grain < 6; ++grain) grains.push_back(*next());
  for (const Task& grain : grains) EXPECT_FALSE(finish(grain)) << "one thread issues at a time";
  const auto rest = finish(issue);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->step, Step::kIssueUp);
  ASSERT_EQ(rest->job->batch.size(), 2U);
  EXPECT_EQ(rest->job->batch[0].chunk, 1U);
  EXPECT_EQ(rest->job->batch[1].chunk, 2U);
  EXPECT_FALSE(finish(*rest));
  EXPECT_TRUE(job->has_issued());
}

TEST_F(Schedules, NoMoreThreadsGatherThanTheSettingsAllow) {
  const auto job = add(Direction::kUp, 2);
  job->most_gatherers = 2;
  const Task first = *next();
  const Task second = *next();
  EXPECT_FALSE(next());
  EXPECT_FALSE(finish(first));
  EXPECT_TRUE(next());
  EXPECT_FALSE(finish(second));
}

TEST_F(Schedules, JobsThatSomebodyWaitsForGoFirstAndEachInItsTurn) {
  const auto ahead = add(Direction::kUp, 1, true);
  const auto later = add(Direction::kUp, 1, true);
  const auto first = add(Direction::kUp, 1);
  const auto second = add(Direction::kUp, 1);
  EXPECT_EQ(schedule_.first(), first);
  const auto next_job = [&](const auto& job) {
    for (int grain = 0; grain < 3; ++grain) EXPECT_EQ(next()->job, job.get());
    schedule_.abandon(*job);
    schedule_.remove(*job);
  };
  EXPECT_TRUE(schedule_.is_at_work(Direction::kUp, *device_));
  EXPECT_FALSE(schedule_.is_at_work(Direction::kDown, *device_));
  for (const auto& job : {first, second, ahead}) next_job(job);
  EXPECT_EQ(schedule_.first(), later);
  schedule_.remove(*later);
  EXPECT_TRUE(schedule_.is_empty());
}

TEST_F(Schedules, AThreadMayWorkForOneJobAlone) {
  const auto first = add(Direction::kUp, 1);
  const auto second = add(Direction::kUp, 1);
  EXPECT_EQ(next(second.get())->job, second.get());
  EXPECT_EQ(next()->job, first.get());
}

TEST_F(Schedules, ADownloadIssuesOneCopyAtATimeAndHandsOutWhatHasLanded) {
  const auto job = add(Direction::kDown, 2);
  const Task issue = *next();
  EXPECT_EQ(issue.step, Step::kIssueDown);
  EXPECT_EQ(issue.chunk, 0U);
  EXPECT_FALSE(next()) << "another thread issues";
  EXPECT_FALSE(finish(issue));
  const Task second = *next();
  EXPECT_EQ(second.step, Step::kIssueDown);
  EXPECT_EQ(second.chunk, 1U);
  EXPECT_FALSE(finish(second));
  EXPECT_TRUE(job->has_issued());
  simulation_.finish();
  std::vector<std::size_t> chunks;
  for (auto grain = next(); grain; grain = next()) {
    EXPECT_EQ(grain->step, Step::kHandOut);
    chunks.push_back(grain->chunk);
    EXPECT_FALSE(finish(*grain));
  }
  EXPECT_THAT(chunks, ElementsAre(0U, 0U, 0U, 1U, 1U, 1U));
  EXPECT_TRUE(job->landings.empty() && job->handing.empty());
  EXPECT_EQ(schedule_.ring().taken(), 0U);
}

TEST_F(Schedules, ThreadsWithoutATurnAskNoDevice) {
  const auto job = add(Direction::kDown, 1);
  EXPECT_FALSE(finish(*next_without_question()));
  simulation_.finish();
  const std::size_t before = simulation_.calls("event_query");
  EXPECT_FALSE(next_without_question());
  EXPECT_EQ(simulation_.calls("event_query"), before);
  Polling::Turn turn;
  EXPECT_EQ(schedule_.next(turn)->step, Step::kHandOut);
  EXPECT_EQ(simulation_.calls("event_query"), before + 1);
  EXPECT_FALSE(turn.take()) << "it has been put";
}

TEST_F(Schedules, WithAFreeSlotNoDeviceIsAsked) {
  add(Direction::kUp, 1);
  schedule_.ring().prepare(1);
  Polling::Turn turn;
  EXPECT_TRUE(schedule_.next(turn));
  EXPECT_TRUE(turn.take());
}

// A stream may have three of the four slots. An upload that needs a fourth time asks, and gets one that is done.
TEST_F(Schedules, AnUploadWaitsForASlotThatIsDone) {
  const auto job = add(Direction::kUp, 4);
  const auto held = simulation_.hold(0, stream_);
  for (int chunk = 0; chunk < 3; ++chunk) EXPECT_FALSE(finish(gather_chunk()));
  EXPECT_FALSE(next());
  EXPECT_EQ(schedule_.ring().pinned_bytes(), 3 * kSlotBytes);
  simulation_.let_go(held);
  simulation_.finish();
  EXPECT_FALSE(next_without_question());
  EXPECT_TRUE(next());
  EXPECT_EQ(schedule_.ring().pinned_bytes(), 3 * kSlotBytes) << "none was page-locked beyond them";
}

// A question that was asked in an earlier look does not count in this one.
TEST_F(Schedules, AThreadThatAsksNothingHasNothingPageLocked) {
  add(Direction::kUp, 4);
  const auto held = simulation_.hold(0, stream_);
  for (int chunk = 0; chunk < 2; ++chunk) EXPECT_FALSE(finish(gather_chunk()));
  EXPECT_FALSE(next_without_question());
  EXPECT_EQ(schedule_.ring().pinned_bytes(), 2 * kSlotBytes);
  simulation_.let_go(held);
  simulation_.finish();
}

TEST_F(Schedules, OneQuestionServesTheJobsOfOtherStreams) {
  CUstream_st* const other = simulation_.make_stream(0);
  const auto first = add(Direction::kUp, 4);
  const auto held = simulation_.hold(0, stream_);
  for (int chunk = 0; chunk < 3; ++chunk) EXPECT_FALSE(finish(gather_chunk()));
  const auto second = add(Direction::kUp, 1, false, other);
  Polling::Turn turn;
  const auto task = schedule_.next(turn);  // the first job asks, and gets none
  ASSERT_TRUE(task);
  EXPECT_EQ(task->job, second.get());
  EXPECT_FALSE(turn.take());
  simulation_.let_go(held);
}

TEST_F(Schedules, ACancelledUploadLetsGoWhenTheLastThreadIsThrough) {
  const auto job = add(Direction::kUp, 2);
  const Task first = *next();
  const Task second = *next();
  schedule_.abandon(*job);
  EXPECT_TRUE(job->is_begun());
  EXPECT_FALSE(job->has_issued());
  EXPECT_FALSE(next()) << "what no thread has taken is taken by none";
  EXPECT_FALSE(finish(first));
  EXPECT_EQ(schedule_.ring().taken(), 1U);
  EXPECT_FALSE(finish(second)) << "and nothing is issued";
  EXPECT_EQ(schedule_.ring().taken(), 0U);
  EXPECT_TRUE(job->has_issued());
}

TEST_F(Schedules, ACancelledDownloadGivesItsSlotsBackBehindTheirCopies) {
  const auto job = add(Direction::kDown, 2);
  const auto held = simulation_.hold(0, stream_);
  EXPECT_FALSE(finish(*next()));
  const Task under_way = *next();
  schedule_.abandon(*job);
  EXPECT_FALSE(finish(under_way));
  EXPECT_EQ(schedule_.ring().taken(), 0U);
  schedule_.ring().collect();
  EXPECT_FALSE(schedule_.ring().has_free()) << "the copies are not done";
  simulation_.let_go(held);
  simulation_.finish();
  schedule_.ring().collect();
  EXPECT_TRUE(schedule_.ring().has_free());
  EXPECT_TRUE(job->landings.empty());
}

TEST_F(Schedules, TheFirstFailureStaysAndEndsTheJob) {
  const auto job = add(Direction::kUp, 3);
  const Task issue = gather_chunk();
  EXPECT_FALSE(fail(issue));
  EXPECT_FALSE(next());
  EXPECT_TRUE(job->has_issued());
  schedule_.fail(*job, Error{"later"});
  EXPECT_EQ(job->status.error().message, "broken");
  EXPECT_EQ(schedule_.ring().taken(), 0U);
}

TEST_F(Schedules, BytesThatDidNotArriveAreAFailure) {
  const auto job = add(Direction::kDown, 1);
  EXPECT_FALSE(finish(*next()));
  simulation_.finish();
  const Task grain = *next();
  EXPECT_FALSE(fail(grain));
  EXPECT_FALSE(job->status);
  EXPECT_TRUE(job->handing.empty());
  EXPECT_EQ(schedule_.ring().taken(), 0U);
}

TEST_F(Schedules, WithoutASingleSlotWhatIsNotBegunFails) {
  const auto none = add(Direction::kUp, 0);
  const auto first = add(Direction::kUp, 1);
  const auto second = add(Direction::kDown, 1);
  simulation_.fail("mem_host_alloc", 1, 2);
  EXPECT_FALSE(next(first.get()));
  ASSERT_TRUE(schedule_.ring().failure());
  EXPECT_THAT(schedule_.fail_unbegun(), ElementsAre(first, second));
  EXPECT_FALSE(first->status);
  EXPECT_FALSE(second->status);
  EXPECT_TRUE(none->status);
  EXPECT_FALSE(next());
  EXPECT_FALSE(schedule_.ring().failure()) << "whoever comes later has not failed";
}

TEST_F(Schedules, OthersAreCalledForWhatTheyCanTakeAndNotForEachGrain) {
  const std::uint64_t before = schedule_.changes();
  add(Direction::kUp, 1);
  EXPECT_EQ(schedule_.changes(), before + 1);
  const Task first = *next();
  EXPECT_EQ(schedule_.changes(), before + 2) << "the chunk has more grains";
  const Task second = *next();
  const Task third = *next();
  finish(first);
  finish(second);
  EXPECT_EQ(schedule_.changes(), before + 2);
  finish(third);
  EXPECT_EQ(schedule_.changes(), before + 3);
}

}  // namespace
}  // namespace turnpike::move
