// When owners are let go: whose marks are asked, how often, and what is left at the end.
#include "move/reaper.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "simulated/simulation.h"

namespace turnpike::move {
namespace {

using std::chrono::milliseconds;
using ::testing::IsEmpty;

// Marks in streams of a device of the simulation, and owners of which it is known whether they have gone.
class Kept : public ::testing::Test {
 protected:
  Kept()
      : simulation_(1, {.pace = simulated::Pace::kOnlyWhenAsked}),
        device_(std::move(*Device::open(simulation_.driver(), 0))) {
    simulation_.set_device(0);
  }
  ~Kept() override {
    device_.reset();
    EXPECT_THAT(simulation_.leaks(), IsEmpty());
    EXPECT_THAT(simulation_.violations_text(), IsEmpty());
  }

  // In a stream of its own. One that is held does not pass until that is let go.
  std::shared_ptr<Mark> mark(std::shared_ptr<simulated::Operation>* held = nullptr) {
    CUstream_st* const stream = simulation_.make_stream(0);
    if (held != nullptr) *held = simulation_.hold(0, stream);
    return *Mark::after(*device_, stream);
  }
  std::shared_ptr<Mark> passed_mark() {
    auto passed = mark();
    EXPECT_TRUE(passed->wait());
    return passed;
  }
  std::shared_ptr<int> owner(int number = 0) {
    auto made = std::make_shared<int>(number);
    owner_ = made;
    return made;
  }
  static std::vector<int> numbers(const std::vector<std::shared_ptr<void>>& owners) {
    std::vector<int> result;
    for (const auto& one : owners) result.push_back(*static_cast<const int*>(one.get()));
    return result;
  }
  std::size_t questions() const { return simulation_.calls("event_query"); }

  simulated::Simulation simulation_;
  std::unique_ptr<Device> device_;
  std::weak_ptr<int> owner_;  // the last one that was made
};

using HeldOwners = Kept;

TEST_F(HeldOwners, GoInTheirOrderOnceTheirMarksHavePassed) {
  Holds holds;
  EXPECT_TRUE(holds.is_empty());
  std::shared_ptr<simulated::Operation> first;
  std::shared_ptr<simulated::Operation> third;
  holds.add(mark(&first), owner(1));
  holds.add(passed_mark(), owner(2));
  holds.add(mark(&third), owner(3));
  holds.add(passed_mark(), owner(4));
  EXPECT_EQ(numbers(holds.take_passed(100)), (std::vector<int>{2, 4}));
  EXPECT_TRUE(owner_.expired());
  EXPECT_THAT(holds.take_passed(100), IsEmpty());
  EXPECT_FALSE(holds.is_empty());
  simulation_.let_go(first);
  simulation_.let_go(third);
  simulation_.finish();
  EXPECT_EQ(numbers(holds.take_passed(100)), (std::vector<int>{1, 3}));
  EXPECT_TRUE(holds.is_empty());
}

TEST_F(HeldOwners, AreNotAskedForBeyondTheQuestionsThatAreAnsweredWithNo) {
  Holds holds;
  std::shared_ptr<simulated::Operation> held[3];
  for (auto& one : held) holds.add(mark(&one), owner(0));
  holds.add(passed_mark(), owner(1));
  const std::size_t before = questions();
  EXPECT_THAT(holds.take_passed(0), IsEmpty());
  EXPECT_EQ(questions(), before);
  EXPECT_THAT(holds.take_passed(2), IsEmpty());
  EXPECT_EQ(questions(), before + 2);
  EXPECT_THAT(holds.take_passed(3), IsEmpty());
  EXPECT_EQ(questions(), before + 5);
  EXPECT_EQ(numbers(holds.take_passed(4)), std::vector<int>{1});
  simulation_.let_go(held[0]);
  std::vector<std::shared_ptr<void>> passed;
  while (passed.empty()) passed = holds.take_passed(1);
  EXPECT_EQ(passed.size(), 1U) << "what has passed costs no question, and the next one is answered with no";
  simulation_.let_go(held[1]);
  simulation_.let_go(held[2]);
  holds.wait_until_passed();
  EXPECT_EQ(holds.take_passed(1).size(), 2U);
  EXPECT_TRUE(holds.is_empty());
}

// An owner may be the last to hold the device, to which the mark's event goes back.
TEST_F(HeldOwners, AreGivenOutWithoutTheirMarks) {
  Holds holds;
  auto first = passed_mark();
  auto last = passed_mark();
  const std::weak_ptr<Mark> marks[] = {first, last};
  holds.add(std::move(first), owner());
  std::shared_ptr<simulated::Operation> held;
  holds.add(mark(&held), owner());
  holds.add(std::move(last), owner());
  const auto passed = holds.take_passed(100);
  EXPECT_EQ(passed.size(), 2U);
  for (const auto& one : marks) EXPECT_TRUE(one.expired());
  simulation_.let_go(held);
}

TEST(ReapersPause, GrowsToTwentyMillisecondsAndIsShortAgainOnceAnOwnerHasGone) {
  milliseconds pause = pause_after(milliseconds(7), true);
  EXPECT_EQ(pause, milliseconds(1));
  for (const int next : {2, 4, 8, 16, 20, 20}) {
    pause = pause_after(pause, false);
    EXPECT_EQ(pause, milliseconds(next));
  }
}

using Reapers = Kept;

TEST_F(Reapers, LetGoWhenTheyAreAsked) {
  Reaper reaper(*device_);
  std::shared_ptr<simulated::Operation> held;
  reaper.hold(mark(&held), owner());
  reaper.reap();
  EXPECT_FALSE(owner_.expired());
  simulation_.let_go(held);
  simulation_.finish();
  while (!owner_.expired()) reaper.reap();  // its own thread may be the one that lets go
}

// A call of the engine asks eight times at most, however many owners are held.
TEST_F(Reapers, AskLittleWhenTheyAreAsked) {
  Reaper reaper(*device_);
  std::vector<std::shared_ptr<simulated::Operation>> held(100);
  for (auto& one : held) reaper.hold(mark(&one), owner());
  std::size_t least = SIZE_MAX;  // its own thread asks, too, for all of them
  for (int turn = 0; turn < 20; ++turn) {
    const std::size_t before = questions();
    reaper.reap();
    least = std::min(least, questions() - before);
  }
  EXPECT_EQ(least, 8U);
  for (const auto& one : held) simulation_.let_go(one);
}

TEST_F(Reapers, LetGoByThemselves) {
  Reaper reaper(*device_);
  for (int turn = 0; turn < 3; ++turn) {
    std::shared_ptr<simulated::Operation> held;
    reaper.hold(mark(&held), owner());
    EXPECT_FALSE(owner_.expired());
    simulation_.let_go(held);
    while (!owner_.expired()) std::this_thread::yield();
  }
}

TEST_F(Reapers, KeepNoMarkForNobody) {
  Reaper reaper(*device_);
  std::shared_ptr<simulated::Operation> held;
  auto kept = mark(&held);
  const std::weak_ptr<Mark> watched = kept;
  reaper.hold(std::move(kept), nullptr);
  EXPECT_TRUE(watched.expired());
  simulation_.let_go(held);
}

TEST_F(Reapers, EndOnceEveryMarkHasPassed) {
  std::shared_ptr<simulated::Operation> held;
  std::atomic<bool> has_ended{false};
  auto reaper = std::make_unique<Reaper>(*device_);
  reaper->hold(mark(&held), owner());
  const std::size_t before = simulation_.calls("event_synchronize");
  std::thread ending([&] {
    simulation_.set_device(0);
    reaper.reset();
    has_ended = true;
  });
  while (simulation_.calls("event_synchronize") == before && !has_ended) std::this_thread::yield();
  EXPECT_FALSE(has_ended);
  EXPECT_FALSE(owner_.expired());
  simulation_.let_go(held);
  ending.join();
  EXPECT_TRUE(owner_.expired());
}

// Questions of the reaper's thread are no part of a graph that somebody captures meanwhile.
TEST_F(Reapers, AskWhileAnotherThreadCaptures) {
  Reaper reaper(*device_);
  std::shared_ptr<simulated::Operation> held;
  reaper.hold(mark(&held), owner());
  CUstream_st* const captured = simulation_.make_stream(0);
  simulation_.begin_capture(captured);
  const std::size_t before = questions();
  while (questions() < before + 2) std::this_thread::yield();
  simulation_.end_capture();
  simulation_.let_go(held);
}

}  // namespace
}  // namespace turnpike::move
