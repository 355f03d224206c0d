// What another profiler's buffers are given out for, and what they come back with.
#include "record/collect/guest_activity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace turnpike::record {
namespace {

using testing::ElementsAre;

struct Guest {
  struct Completed {
    void* context;
    std::uint32_t stream;
    std::uint8_t* buffer;
    std::size_t size_bytes;
    std::size_t valid_bytes;
    bool operator==(const Completed&) const = default;
  };
  std::uint8_t memory[4][64];
  int requests = 0;
  bool refuses = false;
  std::vector<Completed> completed;
};
Guest g_guest;

class GuestActivityTest : public testing::Test {
 protected:
  GuestActivityTest() {
    g_guest = {};
    std::memset(g_guest.memory, 0xCD, sizeof g_guest.memory);
  }
  void begin() {
    activity_.begin(
        [](std::uint8_t** buffer, std::size_t* size_bytes, std::size_t* max_records) {
          *buffer = g_guest.refuses ? nullptr : g_guest.memory[g_guest.requests];
          ++g_guest.requests;
          *size_bytes = sizeof g_guest.memory[0];
          *max_records = 5;
        },
        [](void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size_bytes, std::size_t valid_bytes) {
          g_guest.completed.push_back({context, stream, buffer, size_bytes, valid_bytes});
        });
  }
  bool request() { return activity_.request(&buffer_, &size_bytes_, &max_records_); }

  GuestActivity activity_;
  std::uint8_t* buffer_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::size_t max_records_ = 99;
};

TEST_F(GuestActivityTest, IsAskedForABufferWhenItBegins) {
  EXPECT_FALSE(activity_.is_tracing());
  EXPECT_FALSE(request()) << "there is no guest";
  begin();
  EXPECT_TRUE(activity_.is_tracing());
  EXPECT_EQ(g_guest.requests, 1);
  begin();
  EXPECT_EQ(g_guest.requests, 1) << "it traces already";
  EXPECT_FALSE(activity_.has_buffers()) << "CUPTI has none yet";
  ASSERT_TRUE(request());
  EXPECT_EQ(buffer_, g_guest.memory[0]);
  EXPECT_EQ(size_bytes_, 64u);
  EXPECT_EQ(max_records_, 0u);
  EXPECT_EQ(g_guest.requests, 1);
  EXPECT_TRUE(std::all_of(buffer_, buffer_ + 64, [](std::uint8_t byte) { return byte == 0; }));
  EXPECT_TRUE(activity_.has_buffers());
  ASSERT_TRUE(request());
  EXPECT_EQ(buffer_, g_guest.memory[1]) << "the next is asked for";
  EXPECT_EQ(g_guest.memory[1][63], 0);
  EXPECT_EQ(g_guest.memory[2][0], 0xCD);
  EXPECT_TRUE(activity_.takes_back(g_guest.memory[0]));
  EXPECT_FALSE(activity_.takes_back(g_guest.memory[0])) << "it has it already";
  EXPECT_TRUE(activity_.has_buffers());
  EXPECT_TRUE(activity_.takes_back(g_guest.memory[1]));
  EXPECT_FALSE(activity_.has_buffers());
}

TEST_F(GuestActivityTest, GetsBackAtItsEndWhatNobodyUsed) {
  begin();
  activity_.end();
  EXPECT_FALSE(activity_.is_tracing());
  EXPECT_THAT(g_guest.completed, ElementsAre(Guest::Completed{nullptr, 0, g_guest.memory[0], 64, 0}));
  activity_.end();
  EXPECT_EQ(g_guest.completed.size(), 1u);
  begin();
  EXPECT_TRUE(request());
  activity_.end();
  EXPECT_EQ(g_guest.completed.size(), 1u) << "CUPTI has it";
}

TEST_F(GuestActivityTest, MayRefuseRecords) {
  g_guest.refuses = true;
  begin();
  EXPECT_TRUE(request()) << "it was asked";
  EXPECT_EQ(buffer_, nullptr);
  EXPECT_FALSE(activity_.has_buffers());
  const std::uint8_t record = 1;
  EXPECT_FALSE(activity_.give_copy(nullptr, 1, &record, 1));
  EXPECT_TRUE(g_guest.completed.empty());
}

TEST_F(GuestActivityTest, GetsCopiesOfWhatStandsInOthersBuffers) {
  begin();
  int context = 0;
  std::vector<std::uint8_t> records(65, 7);
  EXPECT_TRUE(activity_.give_copy(&context, 3, records.data(), 64));
  EXPECT_THAT(g_guest.completed, ElementsAre(Guest::Completed{&context, 3, g_guest.memory[0], 64, 64}));
  EXPECT_EQ(g_guest.memory[0][63], 7);
  EXPECT_FALSE(activity_.give_copy(&context, 3, records.data(), 65)) << "more than it has room for";
  ASSERT_EQ(g_guest.completed.size(), 2u);
  EXPECT_EQ(g_guest.completed[1], (Guest::Completed{&context, 3, g_guest.memory[1], 64, 0}));
  EXPECT_EQ(g_guest.memory[1][0], 0xCD);
}

TEST_F(GuestActivityTest, IsKnownByTheKindsItSwitchedOn) {
  EXPECT_FALSE(activity_.has_kinds());
  activity_.note_kind(3, true);
  activity_.note_kind(4, true);
  activity_.note_kind(3, false);
  EXPECT_TRUE(activity_.has_kinds());
  activity_.note_kind(3, false);
  EXPECT_TRUE(activity_.has_kinds());
  activity_.note_kind(4, false);
  EXPECT_FALSE(activity_.has_kinds());
}

}  // namespace
}  // namespace turnpike::record
