// The page that all processes of a run add their counts to.
#include "record/collect/status_page.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace turnpike::record {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr std::size_t kFields = sizeof(TurnpikeStatus) / sizeof(std::uint64_t);

class StatusPageTest : public testing::Test {
 protected:
  StatusPageTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "status-XXXXXX").string();
    ::close(::mkstemp(pattern.data()));
    path_ = pattern;
    std::filesystem::resize_file(path_, sizeof(TurnpikeStatus));
    ::setenv(TURNPIKE_ENV_STATUS, path_.c_str(), 1);
  }
  ~StatusPageTest() override {
    ::unsetenv(TURNPIKE_ENV_STATUS);
    std::filesystem::remove(path_);
  }

  std::vector<std::uint64_t> fields() const {
    std::vector<std::uint64_t> found(kFields);
    std::ifstream(path_, std::ios::binary).read(reinterpret_cast<char*>(found.data()), sizeof(TurnpikeStatus));
    return found;
  }
  // Every field another number.
  static TurnpikeStatus counted(std::uint64_t first) {
    std::uint64_t numbers[kFields];
    for (std::size_t i = 0; i < kFields; ++i) numbers[i] = first + i;
    TurnpikeStatus status;
    std::memcpy(&status, numbers, sizeof status);
    return status;
  }

  std::filesystem::path path_;
};

TEST_F(StatusPageTest, GetsWhatHasComeSinceTheLastUpdate) {
  StatusPage page, other;
  page.open();
  page.open();
  other.open();
  page.update(counted(10));
  page.update(counted(25));
  other.update(counted(1000));
  for (std::size_t i = 0; i < kFields; ++i) EXPECT_EQ(fields()[i], 1025 + 2 * i) << i;
  page.restart();
  page.update(counted(3));
  for (std::size_t i = 0; i < kFields; ++i) EXPECT_EQ(fields()[i], 1028 + 3 * i) << i;
}

TEST_F(StatusPageTest, CountsProcessesByWhatBecameOfThem) {
  StatusPage page;
  page.open();
  page.note_process();
  page.note_process();
  page.note_unusable();
  TurnpikeStatus expected{};
  expected.process_count = 2;
  expected.unusable_count = 1;
  const auto found = fields();
  EXPECT_EQ(std::memcmp(found.data(), &expected, sizeof expected), 0);
}

TEST_F(StatusPageTest, IsNoneWhereItsFileIsTooSmallOrMissing) {
  std::filesystem::resize_file(path_, sizeof(TurnpikeStatus) - 1);
  const auto write = [] {
    StatusPage page;
    page.open();
    page.note_process();
    page.note_unusable();
    page.update(counted(1));
  };
  write();
  EXPECT_THAT(fields(), Each(0));
  for (const char* path : {"/nowhere/status", ""}) {
    ::setenv(TURNPIKE_ENV_STATUS, path, 1);
    write();
  }
  ::unsetenv(TURNPIKE_ENV_STATUS);
  write();
  std::filesystem::resize_file(path_, sizeof(TurnpikeStatus) + 8);
  ::setenv(TURNPIKE_ENV_STATUS, path_.c_str(), 1);
  write();
  EXPECT_EQ(fields()[0], 2u) << "one process, and the first number";
}

TEST(Status, HasEachCountInItsPlace) {
  RecordCounts counts;
  counts.calls = 900;
  counts.copies = 901;
  counts.kernels = 5;
  counts.syncs = 6;
  counts.waiting_ns = 7;
  for (std::uint64_t i = 0; i < 6; ++i) {
    counts.transfer_counts[i] = 10 + i;
    counts.transfer_bytes[i] = 20 + i;
  }
  LossCounters losses;
  losses.add(trace::Loss::kStoppedAtSize, 2);
  losses.add(trace::Loss::kStoppedDiskLow, 3);
  losses.add(trace::Loss::kUnknownActivity, 4);
  const TurnpikeStatus status = to_status(counts, losses, 33);
  EXPECT_THAT(status.transfer_count, ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_THAT(status.transfer_bytes, ElementsAre(20, 21, 22, 23, 24, 25));
  EXPECT_EQ(status.process_count, 0u);
  EXPECT_EQ(status.sync_count, 6u);
  EXPECT_EQ(status.host_time_ns, 7u);
  EXPECT_EQ(status.kernel_count, 5u);
  EXPECT_EQ(status.loss_count, 9u);
  EXPECT_EQ(status.written_bytes, 33u);
  EXPECT_EQ(status.unusable_count, 0u);
  EXPECT_EQ(status.stopped_at_size_count, 2u);
  EXPECT_EQ(status.stopped_disk_low_count, 3u);
}

}  // namespace
}  // namespace turnpike::record
