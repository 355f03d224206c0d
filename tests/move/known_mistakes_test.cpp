// Shows that the simulated driver finds the mistakes that prefetchers in the wild make: one written by hand, and three
// broken versions of it.
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cargo.h"
#include "seeds.h"
#include "simulated/allocator.h"
#include "simulated/simulation.h"

namespace turnpike::move {
namespace {

using simulated::Pace;
using simulated::Random;
using simulated::Rule;
using simulated::SimulatedAllocator;
using simulated::Simulation;

enum class Mistake {
  kNone,
  kNoConsumersEvent,  // the copy does not wait for who used the destination before: a record_stream is missing
  kNoHold,            // the page-locked source is given back when the copy has been issued
  kSlotTooEarly       // a slot is filled again before its copy's event
};

constexpr std::size_t kBatchBytes = 3000;
constexpr std::size_t kBatches = 8;
constexpr std::size_t kSlots = 2;
constexpr std::size_t kDepth = 2;

// Copies batches on a side stream while kernels of the consumer's stream read those before. Even batches go through
// slots, odd ones have page-locked memory of their own.
class HandRolledPrefetcher {
 public:
  HandRolledPrefetcher(Simulation& simulation, Mistake mistake, std::uint64_t seed)
      : simulation_(simulation), cuda_(simulation.driver()), allocator_(simulation), mistake_(mistake), random_(seed) {
    simulation.set_device(0);
    consumer_ = simulation.make_stream(0);
    side_ = simulation.make_stream(0);
    consumed_ = simulation.make_event(0);
    for (Slot& slot : slots_) slot = {simulation.pinned_memory(kBatchBytes), simulation.make_event(0)};
  }

  // Kernels that read other bytes than were sent.
  int run() {
    for (std::size_t i = 0; i < kBatches + kDepth; ++i) {
      if (i < kBatches) issue(i);
      if (i >= kDepth) consume();
    }
    while (!held_.empty()) let_go();
    cuda_.ctx_synchronize();
    simulation_.finish();
    return wrong_;
  }

 private:
  struct Slot {
    std::byte* memory = nullptr;
    CUevent_st* copied = nullptr;
  };
  struct Batch {
    std::vector<std::byte> bytes;
    std::uint64_t device = 0;
    CUevent_st* copied = nullptr;
  };

  void issue(std::size_t number) {
    Batch batch;
    batch.bytes.resize(kBatchBytes);
    fill(random_, batch.bytes.data(), kBatchBytes);
    const bool has_slot = number % 2 == 0;
    Slot source = has_slot ? slots_[number / 2 % kSlots]
                           : Slot{simulation_.pinned_memory(kBatchBytes), simulation_.make_event(0)};
    if (has_slot && mistake_ != Mistake::kSlotTooEarly) cuda_.event_synchronize(source.copied);
    std::memcpy(source.memory, batch.bytes.data(), kBatchBytes);
    batch.device = allocator_.allocate(0, consumer_, kBatchBytes);
    batch.copied = source.copied;
    if (mistake_ != Mistake::kNoConsumersEvent) {
      cuda_.event_record(consumed_, consumer_);
      cuda_.stream_wait_event(side_, consumed_, 0);
    }
    cuda_.memcpy_htod_async(batch.device, source.memory, kBatchBytes, side_);
    cuda_.event_record(source.copied, side_);
    batches_.push_back(std::move(batch));
    if (has_slot) return;
    held_.push_back(source);
    if (mistake_ == Mistake::kNoHold || held_.size() > kDepth) let_go();
  }

  void consume() {
    const Batch batch = std::move(batches_.front());
    batches_.pop_front();
    cuda_.stream_wait_event(consumer_, batch.copied, 0);
    simulation_.launch(0, consumer_,
                       {.reads = {simulated::range_of(batch.device, kBatchBytes)},
                        .steps = random_.below(4),
                        .body = [this, bytes = batch.bytes, device = batch.device] {
                          if (std::memcmp(simulation_.bytes(device), bytes.data(), kBatchBytes) != 0) ++wrong_;
                        }});
    allocator_.free(batch.device);
  }

  void let_go() {
    if (mistake_ != Mistake::kNoHold) cuda_.event_synchronize(held_.front().copied);
    simulation_.free_memory(held_.front().memory);
    held_.pop_front();
  }

  Simulation& simulation_;
  const cuda::Driver& cuda_;
  SimulatedAllocator allocator_;
  Mistake mistake_;
  Random random_;
  CUstream_st* consumer_ = nullptr;
  CUstream_st* side_ = nullptr;
  CUevent_st* consumed_ = nullptr;
  std::array<Slot, kSlots> slots_;
  std::deque<Batch> batches_;
  std::deque<Slot> held_;
  int wrong_ = 0;
};

struct Caught {
  std::uint64_t by_rule = 0;   // seeds in which the expected violation was found
  std::uint64_t by_bytes = 0;  // seeds in which a kernel read other bytes
  std::uint64_t at_all = 0;
};

Caught run_all(Mistake mistake, Rule rule) {
  // Pulled: in threads, the mistakes are data races of the test itself.
  static constexpr Pace kPulled[] = {Pace::kAtOnce, Pace::kOnlyWhenAsked, Pace::kByChance, Pace::kSomeLag};
  Caught caught;
  for (std::uint64_t seed = 0; seed < seeds(); ++seed) {
    Simulation simulation(seed, {.pace = kPulled[seed % 4]});
    const int wrong = HandRolledPrefetcher(simulation, mistake, seed).run();
    caught.by_rule += simulation.has_violation(rule) ? 1 : 0;
    caught.by_bytes += wrong > 0 ? 1 : 0;
    caught.at_all += wrong > 0 || !simulation.violations().empty() ? 1 : 0;
  }
  std::printf("caught in %llu of %llu seeds, by wrong bytes in %llu\n", static_cast<unsigned long long>(caught.by_rule),
              static_cast<unsigned long long>(seeds()), static_cast<unsigned long long>(caught.by_bytes));
  return caught;
}

TEST(KnownMistakes, AreNotFoundInTheRightPrefetcher) {
  for (std::uint64_t seed = 0; seed < seeds() && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation simulation(seed);
    EXPECT_EQ(HandRolledPrefetcher(simulation, Mistake::kNone, seed).run(), 0);
    EXPECT_THAT(simulation.violations_text(), ::testing::IsEmpty());
  }
}

TEST(KnownMistakes, ADestinationThatIsStillReadIsFound) {
  const Caught caught = run_all(Mistake::kNoConsumersEvent, Rule::kUnordered);
  EXPECT_EQ(caught.by_rule, seeds());
  EXPECT_GT(caught.by_bytes, 0U);  // it does harm, too
}

TEST(KnownMistakes, ASourceThatNobodyHoldsIsFound) {
  EXPECT_EQ(run_all(Mistake::kNoHold, Rule::kFreedInFlight).by_rule, seeds());
}

TEST(KnownMistakes, ASlotThatIsFilledBeforeItsEventIsFound) {
  const Caught caught = run_all(Mistake::kSlotTooEarly, Rule::kSourceChanged);
  EXPECT_EQ(caught.by_rule, seeds());
  EXPECT_GT(caught.by_bytes, 0U);
}

}  // namespace
}  // namespace turnpike::move
