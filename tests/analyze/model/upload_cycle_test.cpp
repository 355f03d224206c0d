// The pieces of a model that go up one after the other, and batches in the buffers of a loader.
#include "analyze/model/upload_cycle.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

// Uploads `pieces` buffers in turn and launches a kernel after each. With `has_ends`, each round ends with one more
// launch.
class Rounds {
 public:
  Rounds(int pieces, bool has_ends) : pieces_(pieces), has_ends_(has_ends) {}

  void upload(int piece) {
    uploads_.push_back(calls_);
    call(trace::CallKind::kCopy, 0x1000u * (1u + static_cast<unsigned>(piece)));
    call(trace::CallKind::kLaunch);
    if (has_ends_ && piece == pieces_ - 1) call(trace::CallKind::kLaunch);
  }

  void rounds(int count) {
    for (int i = 0; i < count * pieces_; ++i) upload(i % pieces_);
  }

  // The order of time is not that of the calls.
  void move_first_round_to_the_end() { std::rotate(uploads_.begin(), uploads_.begin() + pieces_, uploads_.end()); }

  std::optional<UploadCycle> cycle() {
    const LoadedProcess loaded = builder_.take();
    return upload_cycle_of(loaded.timeline, uploads_);
  }

 private:
  void call(trace::CallKind kind, std::uint64_t src = 0) {
    builder_.call({.kind = kind, .start_ns = calls_ * 10, .end_ns = calls_ * 10 + 5, .bytes = 64, .src = src});
    ++calls_;
  }

  ProcessBuilder builder_;
  int pieces_;
  bool has_ends_;
  std::vector<std::uint32_t> uploads_;
  std::uint32_t calls_ = 0;
};

std::string text_of(const UploadCycle& cycle) {
  char text[96];
  std::snprintf(text, sizeof text, "%#lx %#lx %#lx", cycle.last.address, cycle.first.address, cycle.second.address);
  return text;
}

TEST(UploadCycle, IsARoundOfPiecesWithWorkThatComesOnce) {
  Rounds rounds(6, true);
  rounds.rounds(3);
  const auto cycle = rounds.cycle();
  ASSERT_TRUE(cycle);
  EXPECT_EQ(text_of(*cycle), "0x6000 0x1000 0x2000");
}

TEST(UploadCycle, BeginsBehindTheWorkThatComesOnce) {
  Rounds rounds(6, true);
  rounds.upload(4);
  rounds.upload(5);
  rounds.rounds(3);
  const auto cycle = rounds.cycle();
  ASSERT_TRUE(cycle);
  EXPECT_EQ(text_of(*cycle), "0x6000 0x1000 0x2000");
}

TEST(UploadCycle, IsOfThePiecesThatStayed) {
  Rounds rounds(6, true);
  for (int other = 10; other < 16; ++other) rounds.upload(other);
  rounds.rounds(12);
  const auto cycle = rounds.cycle();
  ASSERT_TRUE(cycle);
  EXPECT_EQ(text_of(*cycle), "0x6000 0x1000 0x2000");
}

TEST(UploadCycle, IsNoneOfBatchesThatAreAllUsedAlike) {
  Rounds rounds(6, false);
  rounds.rounds(5);
  EXPECT_FALSE(rounds.cycle());
}

TEST(UploadCycle, IsNoneOfTheFewBuffersOfALoader) {
  Rounds rounds(3, true);
  rounds.rounds(5);
  EXPECT_FALSE(rounds.cycle());
}

TEST(UploadCycle, HasToBeSeenOften) {
  Rounds few(6, true);
  few.rounds(2);
  EXPECT_FALSE(few.cycle());
}

TEST(UploadCycle, IsNoneWhereBuffersComeInAnyOrder) {
  Rounds rounds(6, true);
  for (const int piece : {0, 3, 1, 5, 2, 4, 5, 1, 0, 2, 4, 3, 1, 0, 5, 4, 3, 2}) rounds.upload(piece);
  EXPECT_FALSE(rounds.cycle());
}

TEST(UploadCycle, IsNoneWhereCallsDoNotRise) {
  Rounds rounds(6, true);
  rounds.rounds(20);
  rounds.move_first_round_to_the_end();
  EXPECT_FALSE(rounds.cycle());
}

TEST(UploadCycle, IsUnknownWithoutAddresses) {
  Rounds rounds(6, true);
  rounds.rounds(3);
  const std::vector<std::uint32_t> unknown(18, kNone);
  EXPECT_FALSE(upload_cycle_of({}, unknown));
  EXPECT_FALSE(upload_cycle_of({}, {}));
}

}  // namespace
}  // namespace turnpike::analyze
