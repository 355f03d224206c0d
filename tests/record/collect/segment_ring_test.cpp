// The files of a ring: when a segment ends, what is deleted, and what a kept run consists of.
#include "record/collect/segment_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "record/collect/process_metadata.h"
#include "trace/reader.h"

namespace turnpike::record {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kRingStart = 100'000;
constexpr std::int64_t kRingLast = 8000;  // a segment ends after an eighth

class SegmentRingTest : public testing::Test {
 protected:
  SegmentRingTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "segments-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / "7-2.tpt";
    header_.start_realtime_ns = kRingStart;
    header_.start_monotonic_ns = 500;
    header_.pid = 7;
  }
  ~SegmentRingTest() override { std::filesystem::remove_all(folder_); }

  bool start(std::uint64_t max_bytes = 0) { return ring_.start(path_, header_, {kRingLast, max_bytes}); }
  // Fills the segment up to so many bytes.
  void fill(std::uint64_t bytes) {
    const std::vector<std::byte> payload(bytes - ring_.segment().written_bytes() - sizeof(trace::ChunkHeader));
    ASSERT_TRUE(ring_.segment().append(trace::ChunkType::kRecords, payload.data(), payload.size()));
    ASSERT_EQ(ring_.segment().written_bytes(), bytes);
  }
  void turn(std::int64_t now_ns) {
    ASSERT_TRUE(ring_.open_next(now_ns, now_ns - kRingStart, 1));
    ring_.turn_to_next();
  }
  std::vector<std::string> files(const std::string& below = "") const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / below)) {
      if (!entry.is_directory()) found.push_back(entry.path().filename());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  static trace::FileHeader header_of(const std::string& path) {
    trace::FileHeader header{};
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
    return header;
  }
  static ino_t inode_of(const std::filesystem::path& path) {
    struct stat about{};
    return ::stat(path.c_str(), &about) == 0 ? about.st_ino : 0;
  }
  // A file of definitions of which the first `bytes` are whole chunks.
  std::uint64_t write_definitions() const {
    trace::Writer writer;
    EXPECT_TRUE(writer.open(path_.c_str(), header_));
    const auto early = encode({{"early", "1"}}), late = encode({{"late", "1"}});
    writer.append(trace::ChunkType::kMetadata, early.data(), early.size());
    const std::uint64_t bytes = writer.end_bytes();
    writer.append(trace::ChunkType::kMetadata, late.data(), late.size());
    return bytes;
  }
  // A ring of which two segments have ended, and a directory to keep them in.
  std::uint64_t prepare_to_keep() {
    std::filesystem::create_directory(folder_ / "kept");
    const std::uint64_t bytes = write_definitions();
    EXPECT_TRUE(start());
    fill(200);
    turn(kRingStart + 1000);
    turn(kRingStart + 2000);
    return bytes;
  }
  int keep(std::uint64_t bytes) { return ring_.keep(folder_ / "kept", bytes, encode({{"why", "asked"}})); }

  std::filesystem::path folder_;
  std::string path_;
  trace::FileHeader header_{};
  SegmentRing ring_;
};

TEST_F(SegmentRingTest, StartsWithItsFirstSegment) {
  EXPECT_FALSE(ring_.is_on());
  ASSERT_TRUE(start());
  EXPECT_TRUE(ring_.is_on());
  EXPECT_EQ(ring_.segment_path(), folder_ / "7-2.000001.tps");
  EXPECT_EQ(ring_.written_bytes(), sizeof(trace::FileHeader));
  EXPECT_EQ(ring_.lost_bytes(), 0u);
  ring_.close();
  EXPECT_TRUE(ring_.is_on()) << "until the next recording";
  EXPECT_FALSE(ring_.segment().is_open());
  const trace::FileHeader header = header_of(folder_ / "7-2.000001.tps");
  EXPECT_EQ(header.start_realtime_ns, kRingStart);
  EXPECT_EQ(header.start_monotonic_ns, 500);
  EXPECT_EQ(header.pid, 7u);
}

TEST_F(SegmentRingTest, IsOffWhereItsFirstSegmentCannotBe) {
  path_ = folder_ / "none" / "7.tpt";
  EXPECT_FALSE(start());
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(ring_.is_on());
}

TEST_F(SegmentRingTest, EndsASegmentAfterAnEighthOfTheTime) {
  ASSERT_TRUE(start());
  fill(1 << 20);
  EXPECT_FALSE(ring_.is_due(kRingStart));
  EXPECT_FALSE(ring_.is_due(kRingStart + 999));
  EXPECT_TRUE(ring_.is_due(kRingStart + 1000));
  EXPECT_TRUE(ring_.is_due(kRingStart - 1)) << "the clock was set back";
  turn(kRingStart + 1000);
  EXPECT_FALSE(ring_.is_due(kRingStart + 1999)) << "its own eighth";
  EXPECT_TRUE(ring_.is_due(kRingStart + 2000));
}

TEST_F(SegmentRingTest, EndsASegmentAtAnEighthOfTheSize) {
  ASSERT_TRUE(start(8000));
  fill(992);
  EXPECT_FALSE(ring_.is_due(kRingStart));
  ring_.segment().append(trace::ChunkType::kRecords, "01234567", 8);
  EXPECT_TRUE(ring_.is_due(kRingStart));
}

TEST_F(SegmentRingTest, EndsASegmentThatHasItsSizeExactly) {
  ASSERT_TRUE(start(8000));
  fill(1000);
  EXPECT_TRUE(ring_.is_due(kRingStart)) << "exactly";
}

TEST_F(SegmentRingTest, GoesOnWithTheNextWhenTheNextIsThere) {
  ASSERT_TRUE(start());
  fill(200);
  ring_.segment().append(trace::ChunkType::kRecords, nullptr, trace::kMaxChunkBytes + 8);
  const std::uint64_t lost = ring_.lost_bytes();
  EXPECT_GT(lost, 0u);
  ASSERT_TRUE(ring_.open_next(kRingStart + 1000, 1500, 41));
  EXPECT_EQ(ring_.segment_path(), folder_ / "7-2.000001.tps");
  ring_.turn_to_next();
  EXPECT_EQ(ring_.segment_path(), folder_ / "7-2.000002.tps");
  EXPECT_EQ(ring_.segment().written_bytes(), sizeof(trace::FileHeader));
  EXPECT_EQ(ring_.written_bytes(), 200 + sizeof(trace::FileHeader));
  EXPECT_EQ(ring_.lost_bytes(), lost);
  const trace::FileHeader header = header_of(folder_ / "7-2.000002.tps");
  EXPECT_EQ(header.start_realtime_ns, kRingStart + 1000);
  EXPECT_EQ(header.start_monotonic_ns, 1500);
  EXPECT_EQ(header.reserved[0], 41u);
  EXPECT_EQ(header.pid, 7u);
  fill(304);
  turn(kRingStart + 2000);
  EXPECT_EQ(ring_.segment_path(), folder_ / "7-2.000003.tps");
  EXPECT_EQ(ring_.written_bytes(), 504 + sizeof(trace::FileHeader));
  EXPECT_THAT(files(), ElementsAre("7-2.000001.tps", "7-2.000002.tps", "7-2.000003.tps"));
}

TEST_F(SegmentRingTest, StaysInItsSegmentWhereTheNextCannotBe) {
  std::ofstream(folder_ / "7-2.000002.tps") << "another's";
  ASSERT_TRUE(start());
  EXPECT_FALSE(ring_.open_next(kRingStart + 1000, 1500, 1));
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(ring_.segment_path(), folder_ / "7-2.000001.tps");
  fill(200);
}

TEST_F(SegmentRingTest, DeletesWhatIsOlderThanTheTime) {
  ASSERT_TRUE(start());
  turn(kRingStart + 1000);
  turn(kRingStart + 2000);
  ring_.delete_old(kRingStart + 1000 + kRingLast - 1);
  EXPECT_THAT(files(), ElementsAre("7-2.000001.tps", "7-2.000002.tps", "7-2.000003.tps"));
  ring_.delete_old(kRingStart + 1000 + kRingLast);
  EXPECT_THAT(files(), ElementsAre("7-2.000002.tps", "7-2.000003.tps"));
  ring_.delete_old(kRingStart + 100 * kRingLast);
  EXPECT_THAT(files(), ElementsAre("7-2.000003.tps")) << "the one that is written stays";
}

TEST_F(SegmentRingTest, DeletesWhatHasNoRoom) {
  // Seven eighths of 2560 are 2240: two segments of 1120.
  ASSERT_TRUE(start(2560));
  for (int segment = 1; segment <= 2; ++segment) {
    fill(1120);
    turn(kRingStart + segment);
    ring_.delete_old(kRingStart + segment);
  }
  EXPECT_THAT(files(), ElementsAre("7-2.000001.tps", "7-2.000002.tps", "7-2.000003.tps"));
  fill(1120);
  turn(kRingStart + 3);
  ring_.delete_old(kRingStart + 3);
  EXPECT_THAT(files(), ElementsAre("7-2.000002.tps", "7-2.000003.tps", "7-2.000004.tps")) << "two again";
  ring_.delete_old(kRingStart + 3);
  EXPECT_EQ(files().size(), 3u);
  EXPECT_EQ(ring_.written_bytes(), 3 * 1120 + sizeof(trace::FileHeader)) << "also what was deleted";
}

TEST_F(SegmentRingTest, KeepsWhatHasEndedAndTheDefinitionsUntilThen) {
  const std::uint64_t bytes = prepare_to_keep();
  ASSERT_EQ(keep(bytes), 0);
  EXPECT_THAT(files("kept"), ElementsAre("7-2.000001.tps", "7-2.000002.tps", "7-2.tpt"));
  EXPECT_EQ(inode_of(folder_ / "kept/7-2.000001.tps"), inode_of(folder_ / "7-2.000001.tps")) << "one file, two names";
  EXPECT_EQ(header_of(folder_ / "kept/7-2.tpt").pid, 7u);
  trace::RecordSink ignored;
  const auto process = trace::read_file(folder_ / "kept/7-2.tpt", ignored);
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(process->metadata.at("early"), "1");
  EXPECT_EQ(process->metadata.at("why"), "asked");
  EXPECT_FALSE(process->metadata.contains("late"));
  EXPECT_THAT(files(), ElementsAre("7-2.000001.tps", "7-2.000002.tps", "7-2.000003.tps", "7-2.tpt"));
}

TEST_F(SegmentRingTest, CopiesWhereTheFileSystemCannotShare) {
  std::string pattern = "/dev/shm/segments-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) GTEST_SKIP() << "there is no other file system";
  const std::filesystem::path other = pattern;
  const std::uint64_t bytes = prepare_to_keep();
  const int failure = ring_.keep(other, bytes, encode({}));
  const auto size = [](const std::filesystem::path& path) {
    std::error_code none;
    return std::filesystem::file_size(path, none);
  };
  EXPECT_EQ(failure, 0);
  EXPECT_EQ(size(other / "7-2.000001.tps"), 200u);
  EXPECT_EQ(size(other / "7-2.000002.tps"), sizeof(trace::FileHeader));
  EXPECT_EQ(header_of(other / "7-2.000002.tps").start_realtime_ns, kRingStart + 1000);
  std::filesystem::remove_all(other);
}

TEST_F(SegmentRingTest, LeavesNothingOfARunThatCannotBeKept) {
  const std::uint64_t bytes = prepare_to_keep();
  EXPECT_EQ(keep(std::filesystem::file_size(path_) + 1), EIO) << "more definitions than there are";
  EXPECT_THAT(files("kept"), ElementsAre());
  std::ofstream(folder_ / "kept" / "7-2.000002.tps") << "another's";
  EXPECT_EQ(keep(bytes), EEXIST);
  EXPECT_THAT(files("kept"), ElementsAre("7-2.000002.tps")) << "what was there stays";
  std::filesystem::remove(folder_ / "kept" / "7-2.000002.tps");
  std::filesystem::create_directory(folder_ / "kept" / "7-2.tpt");
  EXPECT_EQ(keep(bytes), EISDIR);
  EXPECT_THAT(files("kept"), ElementsAre());
  std::filesystem::remove(folder_ / "kept" / "7-2.tpt");
  std::filesystem::remove(path_);
  EXPECT_EQ(keep(bytes), ENOENT);
  EXPECT_THAT(files("kept"), ElementsAre());
  std::filesystem::remove(folder_ / "kept");
  EXPECT_EQ(keep(bytes), ENOENT);
}

}  // namespace
}  // namespace turnpike::record
