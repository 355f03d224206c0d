// How a job is taken over: who carries it, with how many threads, through how many slots.
#include "move/stager.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include "simulated/simulation.h"

namespace turnpike::move {
namespace {

using ::testing::IsEmpty;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr Settings kSettings{
    .threads = 3, .chunk_bytes = kMiB, .pinned_bytes = 16 * kMiB, .gatherers = 5, .store = Store::kString};

class Stagers : public ::testing::Test {
 protected:
  Stagers()
      : simulation_(1, {.pace = simulated::Pace::kAtOnce}),
        device_(std::move(*Device::open(simulation_.driver(), 0))),
        stream_(simulation_.make_stream(0)) {
    simulation_.set_device(0);
  }
  ~Stagers() override {
    device_.reset();
    simulation_.finish();
    EXPECT_THAT(simulation_.leaks(), IsEmpty());
    EXPECT_THAT(simulation_.violations_text(), IsEmpty());
  }

  // An upload of so many bytes in this many pieces, each a copy of its own.
  std::shared_ptr<Job> upload(std::size_t size_bytes, bool is_ahead, Cut cut = Cut::kForItself, std::size_t pieces = 1,
                              std::size_t chunk_bytes = kMiB) {
    std::vector<Piece> all;
    for (std::size_t i = 0; i < pieces; ++i) {
      memory_.emplace_back(size_bytes);
      all.push_back({.host = memory_.back().data(),
                     .device = simulation_.device_memory(0, std::max<std::size_t>(1, size_bytes)),
                     .size_bytes = size_bytes});
    }
    return std::make_shared<Job>(Direction::kUp, *device_, stream_, make_plan(all, chunk_bytes, cut), is_ahead, "");
  }
  bool is_shared(const std::shared_ptr<Job>& job) {
    Stager stager(*device_, kSettings);
    EXPECT_TRUE(stager.submit(job));
    stager.help_until_over(*job);
    return job->is_shared;
  }
  // Slots that are page-locked for many copies at once.
  std::size_t prepared(std::size_t chunk_bytes, std::size_t pinned_bytes) {
    Stager stager(*device_, {.threads = 1, .chunk_bytes = chunk_bytes, .pinned_bytes = pinned_bytes});
    const auto job = upload(64, false, Cut::kForItself, 20, chunk_bytes);
    EXPECT_EQ(job->plan.chunks.size(), 20U);
    EXPECT_TRUE(stager.submit(job));
    const std::size_t slots = stager.pinned_bytes() / chunk_bytes;
    stager.help_until_over(*job);
    EXPECT_EQ(stager.release_pinned(), slots * chunk_bytes);
    return slots;
  }

  simulated::Simulation simulation_;
  std::unique_ptr<Device> device_;
  CUstream_st* stream_;
  std::vector<std::vector<std::byte>> memory_;
};

TEST_F(Stagers, ShareWhatIsLargeOrWhatNobodyWaitsFor) {
  EXPECT_FALSE(is_shared(upload(256 * kKiB - 1, false)));
  EXPECT_TRUE(is_shared(upload(256 * kKiB, false)));
  EXPECT_TRUE(is_shared(upload(1, true)));
  EXPECT_FALSE(is_shared(upload(0, true))) << "there is nothing to do";
  EXPECT_FALSE(is_shared(upload(0, false)));
  // Behind others only the call itself can be shorter.
  EXPECT_FALSE(is_shared(upload(512 * kKiB - 1, false, Cut::kBehindOthers)));
  EXPECT_TRUE(is_shared(upload(512 * kKiB, false, Cut::kBehindOthers)));
  EXPECT_TRUE(is_shared(upload(1, true, Cut::kBehindOthers)));
}

TEST_F(Stagers, CarryAJobAsTheSettingsSayAtItsSubmission) {
  Stager stager(*device_, kSettings);
  const auto job = upload(100, false);
  EXPECT_TRUE(stager.submit(job));
  EXPECT_EQ(job->store, Store::kString);
  EXPECT_EQ(job->most_gatherers, 5U);
  EXPECT_GT(job->started_ns, 0);
  EXPECT_EQ(stager.outcome(*job).took_ns, 0) << "it is not over";
  EXPECT_FALSE(stager.is_over(*job));
  EXPECT_TRUE(stager.is_at_work(Direction::kUp, *device_));
  EXPECT_FALSE(stager.is_at_work(Direction::kDown, *device_));
  stager.help_until_over(*job);
  EXPECT_TRUE(stager.is_over(*job) && stager.is_issued(*job));
  EXPECT_FALSE(stager.is_at_work(Direction::kUp, *device_));
  const auto outcome = stager.outcome(*job);
  EXPECT_TRUE(outcome.status);
  ASSERT_NE(outcome.done, nullptr);
  EXPECT_GT(outcome.took_ns, 0);
  EXPECT_LT(outcome.took_ns, std::int64_t{600} * 1'000'000'000);
  stager.configure({.threads = 2, .chunk_bytes = 2 * kMiB, .pinned_bytes = 8 * kMiB, .gatherers = 7});
  const auto next = upload(100, false);
  EXPECT_TRUE(stager.submit(next));
  EXPECT_EQ(next->store, Store::kStreaming);
  EXPECT_EQ(next->most_gatherers, 7U);
  stager.help_until_over(*next);
}

TEST_F(Stagers, TakeNoJobWhoseChunksAreLargerThanTheirSlots) {
  Stager stager(*device_, kSettings);
  EXPECT_FALSE(stager.submit(upload(100, false, Cut::kForItself, 1, 2 * kMiB)));
  EXPECT_FALSE(stager.is_at_work(Direction::kUp, *device_));
}

// 32 MiB of slots, but five at least, and never more than the settings allow.
TEST_F(Stagers, PageLockAsManySlotsAsAreUsual) {
  EXPECT_EQ(prepared(4096, 100 * 4096), 20U);
  EXPECT_EQ(prepared(4 * kMiB, 40 * kMiB), 8U);
  EXPECT_EQ(prepared(16 * kMiB, 128 * kMiB), 5U);
  EXPECT_EQ(prepared(4096, 6 * 4096 + 4095), 6U);
}

TEST_F(Stagers, WakeAsManyThreadsAsHaveSomethingToDo) {
  const auto job = [&](std::size_t size_bytes) {
    auto made = upload(size_bytes, true);
    made->most_gatherers = 5;
    return made;
  };
  EXPECT_EQ(threads_to_wake(*job(1), 8), 1U);
  EXPECT_EQ(threads_to_wake(*job(512 * kKiB - 1), 8), 1U);
  EXPECT_EQ(threads_to_wake(*job(512 * kKiB), 8), 2U);
  EXPECT_EQ(threads_to_wake(*job(1 * kMiB), 8), 4U);
  EXPECT_EQ(threads_to_wake(*job(2 * kMiB), 8), 5U) << "no more than gather";
  EXPECT_EQ(threads_to_wake(*job(2 * kMiB), 3), 3U) << "no more than there are";
}

TEST_F(Stagers, HaveAllThreadsGatherItemsAndClearPages) {
  const auto up = upload(100, false);
  up->most_gatherers = 5;
  EXPECT_EQ(most_gatherers(*up), 5U);
  const Layout layout{.sizes = {25}, .strides_bytes = {8}, .item_bytes = 4};
  const Piece strided{.host = memory_.back().data(), .device = 4096, .size_bytes = 100, .layout = &layout};
  Job items(Direction::kUp, *device_, stream_, make_plan({&strided, 1}, kMiB), false, "");
  items.most_gatherers = 5;
  EXPECT_EQ(most_gatherers(items), SIZE_MAX);
  const Piece dense{.host = memory_.back().data(), .device = 4096, .size_bytes = 100};
  Job down(Direction::kDown, *device_, stream_, make_plan({&dense, 1}, kMiB), false, "");
  down.most_gatherers = 5;
  EXPECT_EQ(most_gatherers(down), SIZE_MAX);
}

bool is_soon(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!is_so() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return is_so();
}

// Nobody helps: threads that were started anew do all of it.
TEST_F(Stagers, HaveThreadsAfterOtherSettingsToo) {
  Stager stager(*device_, kSettings);
  for (int turn = 0; turn < 3; ++turn) {
    const auto job = upload(3 * kMiB, true);
    EXPECT_TRUE(stager.submit(job));
    EXPECT_TRUE(is_soon([&] { return stager.is_over(*job); }));
    stager.help_until_over(*job);
    stager.configure(kSettings);
  }
}

std::size_t threads_of_process() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

// Fewer threads are no more than that: those that the settings before had are gone.
TEST_F(Stagers, HaveAsManyThreadsAsTheSettingsSay) {
  std::thread([] {}).join();  // ThreadSanitizer starts a thread of its own beside the first
  const std::size_t before = threads_of_process();
  Stager stager(*device_, kSettings);
  for (const unsigned int threads : {3U, 1U, 2U}) {
    Settings settings = kSettings;
    settings.threads = threads;
    stager.configure(settings);
    EXPECT_TRUE(is_soon([&] { return threads_of_process() == before; })) << "without a job there are none";
    const auto job = upload(100, true);
    EXPECT_TRUE(stager.submit(job));
    stager.help_until_over(*job);
    EXPECT_EQ(threads_of_process(), before + threads);
  }
}

TEST_F(Stagers, WaitForTheStreamOfAJobWithoutAMark) {
  Stager stager(*device_, kSettings);
  const auto job = upload(0, false);
  const std::size_t before = simulation_.calls("stream_synchronize");
  simulation_.fail("event_record", 1, 719);
  EXPECT_TRUE(stager.submit(job));
  EXPECT_EQ(simulation_.calls("stream_synchronize"), before + 1);
  EXPECT_TRUE(stager.is_over(*job));
  const auto outcome = stager.outcome(*job);
  EXPECT_FALSE(outcome.status);
  EXPECT_EQ(outcome.done, nullptr);
}

}  // namespace
}  // namespace turnpike::move
