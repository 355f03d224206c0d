// Files cut off at every byte and changed in every bit: never a crash, never a silent loss, and the rest is still read.
#include <gmock/gmock.h>

#include "trace/trace_file.h"

namespace turnpike::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Damage : public TraceFileTest {
 protected:
  // Where whole chunks end, the header's end included.
  static std::vector<std::size_t> chunk_ends(const std::string& file) {
    std::vector<std::size_t> ends = {sizeof(FileHeader)};
    while (ends.back() < file.size()) {
      ChunkHeader header;
      std::memcpy(&header, file.data() + ends.back(), sizeof header);
      ends.push_back(ends.back() + sizeof header + header.size);
    }
    return ends;
  }

  static bool has_reader_loss(const Process& process) {
    return !process.losses.empty() && process.losses.rbegin()->first >= static_cast<std::uint32_t>(Loss::kNotClosed);
  }

  const std::string copy_ = bytes_of(record<MemcpyRecord>(RecordKind::kMemcpy));
  const std::string kernel_ = bytes_of(record<KernelRecord>(RecordKind::kKernel));
};

TEST_F(Damage, TornTailAtEveryByteLeavesWhatIsWholeReadable) {
  const std::string whole = small_file();
  ASSERT_TRUE(read(whole));
  const std::vector<std::string> all = collector_.records;
  const auto ends = chunk_ends(whole);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    SCOPED_TRACE(cut);
    const auto process = read(whole.substr(0, cut));
    if (cut < sizeof(FileHeader)) {
      ASSERT_FALSE(process);
      continue;
    }
    ASSERT_TRUE(process);
    const std::size_t last_end = *(std::upper_bound(ends.begin(), ends.end(), cut) - 1);
    ASSERT_EQ(loss_of(*process, Loss::kDamagedBytes), cut - last_end);
    ASSERT_EQ(loss_of(*process, Loss::kNotClosed), 1u);
    ASSERT_LE(collector_.records.size(), all.size());
    ASSERT_TRUE(std::equal(collector_.records.begin(), collector_.records.end(), all.begin()));
  }
}

TEST_F(Damage, NoFlippedBitGoesUnnoticedInRecordsOrDefinitions) {
  const std::string whole = small_file();
  const auto original = read(whole);
  ASSERT_TRUE(original);
  const std::vector<std::string> all = collector_.records;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    SCOPED_TRACE(bit);
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto process = read(flipped);
    if (!process) {
      ASSERT_LT(bit / 8, sizeof(FileHeader)) << "only a damaged header makes a file unreadable";
      continue;
    }
    if (has_reader_loss(*process)) continue;
    ASSERT_EQ(collector_.records, all);
    ASSERT_EQ(process->strings, original->strings);
    ASSERT_EQ(process->metadata, original->metadata);
    ASSERT_EQ(process->losses, original->losses);
  }
}

TEST_F(Damage, ReadsOnBehindDamagedChunk) {
  std::string damaged = chunk(ChunkType::kRecords, copy_ + copy_);
  damaged[40] ^= 1;
  const auto process =
      read(file_header() + chunk(ChunkType::kRecords, kernel_) + damaged + chunk(ChunkType::kRecords, copy_));
  ASSERT_TRUE(process);
  EXPECT_THAT(collector_.records, ElementsAre(kernel_, copy_));
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), damaged.size());
}

TEST_F(Damage, ReadsOnBehindGarbageOfAnyLength) {
  for (std::size_t size = 1; size < 40; ++size) {
    const auto process = read(file_header() + std::string(size, 'T') + chunk(ChunkType::kRecords, copy_));
    ASSERT_TRUE(process);
    ASSERT_THAT(collector_.records, ElementsAre(copy_)) << size;
    ASSERT_EQ(loss_of(*process, Loss::kDamagedBytes), size);
  }
}

TEST_F(Damage, ReadsOnBehindGarbageThatIsLargerThanTheReadAhead) {
  const std::string garbage(3'000'001, 'C');
  const auto process = read(file_header() + chunk(ChunkType::kRecords, kernel_) + garbage +
                            chunk(ChunkType::kRecords, copy_) + std::string(5, 'C'));
  ASSERT_TRUE(process);
  EXPECT_THAT(collector_.records, ElementsAre(kernel_, copy_));
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), garbage.size() + 5);
}

TEST_F(Damage, FindsChunksThatLieAcrossTheEndOfTheReadAhead) {
  const std::size_t read_ahead = 1u << 20;
  for (std::size_t size = read_ahead - 24; size < read_ahead + 2; ++size) {
    ASSERT_TRUE(read(file_header() + std::string(size, 'C') + chunk(ChunkType::kRecords, copy_)));
    ASSERT_THAT(collector_.records, ElementsAre(copy_)) << size;
  }
}

TEST_F(Damage, DoesNotBelieveSizesBeyondTheFile) {
  ChunkHeader header{kChunkMagic, ChunkType::kRecords, kMaxChunkBytes, 0};
  const auto process = read(file_header() + bytes_of(header) + chunk(ChunkType::kRecords, copy_));
  ASSERT_TRUE(process);
  EXPECT_THAT(collector_.records, ElementsAre(copy_));
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), sizeof header);
}

TEST_F(Damage, DoesNotBelieveSizesBeyondTheLimit) {
  const std::string oversized = chunk(ChunkType::kStrings, string_entry(1, std::string(kMaxChunkBytes, 'x')));
  const auto process = read(file_header() + oversized + chunk(ChunkType::kRecords, copy_));
  ASSERT_TRUE(process);
  EXPECT_THAT(process->strings, IsEmpty());
  EXPECT_THAT(collector_.records, ElementsAre(copy_));
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), oversized.size());
}

TEST_F(Damage, FinishesOnFileOfFalseChunksInReasonableTime) {
  // Half a million false chunks of 40 MiB each: checksums of 20 TB, were there no bound.
  std::string hostile = file_header();
  while (hostile.size() < (48u << 20)) {
    hostile += bytes_of(ChunkHeader{kChunkMagic, ChunkType::kRecords, 40u << 20, 0});
  }
  const auto process = read(hostile);
  ASSERT_TRUE(process);
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), hostile.size() - sizeof(FileHeader));
}

// Lengths inside a chunk whose checksum is right: a wrong writer, or a hostile one.
struct WrongPayload {
  const char* name;
  ChunkType type;
  std::string payload;
  std::uint64_t damaged_bytes;
};

class DamagedPayload : public Damage, public testing::WithParamInterface<WrongPayload> {};

TEST_P(DamagedPayload, IsCountedAndReadNoFurther) {
  const auto process = read(file_header() + chunk(GetParam().type, GetParam().payload));
  ASSERT_TRUE(process);
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), GetParam().damaged_bytes);
  EXPECT_THAT(collector_.records, IsEmpty());
  EXPECT_THAT(process->strings, IsEmpty());
  EXPECT_THAT(process->stacks, IsEmpty());
  EXPECT_THAT(process->frames, IsEmpty());
  EXPECT_THAT(process->metadata, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Damage, DamagedPayload,
    testing::Values(
        WrongPayload{"StringLongerThanChunk", ChunkType::kStrings, bytes_of(StringEntry{1, 9}) + "12345678", 16},
        WrongPayload{"StringOfLargestLength", ChunkType::kStrings, bytes_of(StringEntry{1, 0xFFFFFFFF}), 8},
        WrongPayload{"StringWithIdOfNone", ChunkType::kStrings, string_entry(kNoId, "12345678"), 16},
        WrongPayload{"KeyLongerThanChunk", ChunkType::kMetadata, bytes_of(MetadataEntry{9, 0}) + "12345678", 16},
        WrongPayload{"KeyAndValueOverflow", ChunkType::kMetadata,
                     bytes_of(MetadataEntry{0xFFFFFFFF, 0xFFFFFFFF}) + "12345678", 16},
        WrongPayload{"KeyAndValueWrapAround", ChunkType::kMetadata, bytes_of(MetadataEntry{0xFFFFFFFF, 5}) + "12345678",
                     16},
        WrongPayload{"MoreFramesThanChunk", ChunkType::kStacks, bytes_of(StackEntry{1, 3, 0}) + "12345678", 16},
        WrongPayload{"MostFrames", ChunkType::kStacks, bytes_of(StackEntry{1, 0xFFFF, 0}) + "12345678", 16},
        WrongPayload{"StackWithUnknownId", ChunkType::kStacks, stack_entry(kUnknownId, {1, 2}), 16},
        WrongPayload{"HalfAFrame", ChunkType::kFrames, std::string(16, '\1'), 16},
        WrongPayload{"FrameWithIdOfNone", ChunkType::kFrames,
                     bytes_of(FrameEntry{0, FrameKind::kPython, 0, 0, 0, 0, 0}), 32},
        WrongPayload{"HalfAClockSample", ChunkType::kClock, std::string(24, '\1'), 24},
        WrongPayload{"HalfALoss", ChunkType::kLosses, std::string(8, '\1'), 8},
        WrongPayload{"HalfAnEnd", ChunkType::kEnd, std::string(32, '\1'), 32},
        WrongPayload{"RecordLongerThanChunk", ChunkType::kRecords,
                     bytes_of(RecordHeader{RecordKind::kKernel, 56}) + "1234", 8},
        WrongPayload{"RecordOfNoBytes", ChunkType::kRecords, bytes_of(RecordHeader{RecordKind::kKernel, 0}) + "1234",
                     8},
        WrongPayload{"RecordShorterThanItsHeader", ChunkType::kRecords,
                     bytes_of(RecordHeader{RecordKind::kKernel, 4}) + "1234", 8},
        WrongPayload{"RecordOfOddLength", ChunkType::kRecords,
                     bytes_of(RecordHeader{RecordKind::kKernel, 9}) + std::string(12, '\0'), 16}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace turnpike::trace
