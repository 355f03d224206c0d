// Every field of the records that device work becomes, and the times that are believed.
#include "record/collect/activity_decoder.h"

#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cuda/activity.h"

namespace turnpike::record {
namespace {

using testing::ElementsAre;
using trace::Loss;

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;

// A buffer of CUPTI's: each record behind its size.
class Buffer {
 public:
  template <typename Activity>
  void add(const Activity& activity) {
    const std::size_t at = bytes_.size();
    const std::size_t size = (sizeof activity + 32 + 7) / 8 * 8;
    bytes_.resize(at + 8 + size);
    std::memcpy(bytes_.data() + at, &size, 8);
    std::memcpy(bytes_.data() + at + 8, &activity, sizeof activity);
  }
  std::uint8_t* data() { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::uint8_t> bytes_;
};

cuda::CuptiResult g_end_of_buffer = cuda::kCuptiMaxLimitReached;

cuda::CuptiResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, void** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) {
    std::uint8_t* const current = static_cast<std::uint8_t*>(*record);
    std::size_t size = 0;
    std::memcpy(&size, current - 8, 8);
    next = current + size;
  }
  if (next >= buffer + valid_bytes) return g_end_of_buffer;
  *record = next + 8;
  return cuda::kCuptiSuccess;
}

template <typename Record>
Record record_at(const RecordBatch& batch, std::size_t index = 0) {
  Record record;
  std::memcpy(&record, batch.bytes().data() + index * sizeof record, sizeof record);
  EXPECT_EQ(record.header.bytes, sizeof record);
  return record;
}

class ActivityDecoderTest : public testing::Test {
 protected:
  ActivityDecoderTest() {
    g_end_of_buffer = cuda::kCuptiMaxLimitReached;
    cupti_.activity_get_next_record = next_record;
    restart({.realtime_ns = kStart, .monotonic_ns = 5, .cupti_ns = 6, .tsc = 0}, kSecond);
  }
  void restart(const trace::ClockSample& start, std::int64_t later_ns, std::uint64_t later_ticks = 0) {
    decoder_.begin(&cupti_, 28, start);
    decoder_.set_now({.realtime_ns = start.realtime_ns + later_ns,
                      .monotonic_ns = start.monotonic_ns + later_ns,
                      .cupti_ns = 0,
                      .tsc = start.tsc + later_ticks});
  }
  template <typename Activity>
  void decode(const Activity& activity) {
    Buffer buffer;
    buffer.add(activity);
    decoder_.decode(buffer.data(), buffer.size(), batch_);
  }
  std::uint64_t lost(Loss loss) const { return losses_.get(static_cast<std::size_t>(loss)); }
  // What becomes of the times of a kernel.
  std::pair<std::int64_t, std::int64_t> times(std::int64_t start_ns, std::int64_t end_ns) {
    batch_.restart();
    cuda::KernelActivity kernel{};
    kernel.kind = static_cast<std::uint32_t>(cuda::ActivityKind::kConcurrentKernel);
    kernel.start_ns = static_cast<std::uint64_t>(start_ns);
    kernel.end_ns = static_cast<std::uint64_t>(end_ns);
    decode(kernel);
    const auto record = record_at<trace::KernelRecord>(batch_);
    return {record.start_ns, record.end_ns};
  }

  cuda::Cupti cupti_{};
  StringTable strings_;
  LossCounters losses_;
  ActivityDecoder decoder_{strings_, losses_};
  RecordBatch batch_;
};

TEST_F(ActivityDecoderTest, TakesEveryFieldOfACopy) {
  cuda::MemcpyActivity copy{};
  copy.kind = static_cast<std::uint32_t>(cuda::ActivityKind::kMemcpy);
  copy.copy_kind = 8;
  copy.src_kind = 3;
  copy.dst_kind = 5;
  copy.flags = 0xFF;
  copy.bytes = 11;
  copy.start_ns = static_cast<std::uint64_t>(kStart + 12);
  copy.end_ns = static_cast<std::uint64_t>(kStart + 13);
  copy.device = 14;
  copy.context = 15;
  copy.stream = 16;
  copy.correlation = 17;
  copy.runtime_correlation = 18;
  copy.graph_node = 19;
  copy.graph = 20;
  decode(copy);
  const auto record = record_at<trace::MemcpyRecord>(batch_);
  EXPECT_EQ(record.header.kind, trace::RecordKind::kMemcpy);
  EXPECT_EQ(record.device, 14u);
  EXPECT_EQ(record.start_ns, kStart + 12);
  EXPECT_EQ(record.end_ns, kStart + 13);
  EXPECT_EQ(record.bytes, 11u);
  EXPECT_EQ(record.correlation, 17u);
  EXPECT_EQ(record.context, 15u);
  EXPECT_EQ(record.stream, 16u);
  EXPECT_EQ(record.copy_kind, trace::CopyKind::kDeviceToDevice);
  EXPECT_EQ(record.src_kind, trace::MemoryKind::kDevice);
  EXPECT_EQ(record.dst_kind, trace::MemoryKind::kManaged);
  EXPECT_EQ(record.is_async, 1);
  EXPECT_EQ(record.src_device, trace::kUnknownId);
  EXPECT_EQ(record.dst_device, trace::kUnknownId);
  EXPECT_EQ(record.graph, 20u);
  EXPECT_EQ(record.copy_count, 1u);
  EXPECT_EQ(record.graph_node, 19u);
  EXPECT_EQ(losses_.total(), 0u);
  copy.flags = 0xFE;
  decode(copy);
  EXPECT_EQ(record_at<trace::MemcpyRecord>(batch_, 1).is_async, 0);
}

// From CUDA 12.8 on a record may stand for several copies.
TEST_F(ActivityDecoderTest, CountsTheCopiesOfABatch) {
  CUpti_ActivityMemcpy6 batch{};
  batch.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  batch.start = batch.end = static_cast<std::uint64_t>(kStart);
  batch.copyCount = 5;
  const trace::ClockSample start{.realtime_ns = kStart, .monotonic_ns = 5, .cupti_ns = 6, .tsc = 0};
  const auto copies = [&](std::uint32_t cupti_version) {
    decoder_.begin(&cupti_, cupti_version, start);
    batch_.restart();
    decode(batch);
    return record_at<trace::MemcpyRecord>(batch_).copy_count;
  };
  EXPECT_EQ(copies(25), 1u);
  EXPECT_EQ(copies(26), 5u);
  EXPECT_EQ(copies(130001), 5u);
  batch.copyCount = 0;
  EXPECT_EQ(copies(26), 1u);
}

TEST_F(ActivityDecoderTest, LeadsTimesOfAnotherClockToTheHosts) {
  constexpr std::int64_t kUptime = 5'000 * kSecond;
  decoder_.begin(&cupti_, 28, {.realtime_ns = kStart, .monotonic_ns = 5, .cupti_ns = kUptime, .tsc = 1});
  EXPECT_TRUE(decoder_.has_other_clock());
  decoder_.set_now({.realtime_ns = kStart + kSecond, .monotonic_ns = 6, .cupti_ns = kUptime + kSecond, .tsc = 2});
  EXPECT_EQ(times(kUptime + 12, kUptime + 13), std::pair(kStart + 12, kStart + 13));
  EXPECT_EQ(lost(Loss::kOtherDeviceClock), 1u);
  EXPECT_EQ(lost(Loss::kInvalidDeviceTimes), 0u);
  EXPECT_EQ(times(0, 0), std::pair(trace::kUnknownTime, trace::kUnknownTime));
  EXPECT_EQ(lost(Loss::kInvalidDeviceTimes), 1u);
  EXPECT_EQ(lost(Loss::kOtherDeviceClock), 1u);
}

TEST_F(ActivityDecoderTest, TakesEveryFieldOfACopyBetweenDevices) {
  cuda::PeerMemcpyActivity copy{};
  copy.kind = static_cast<std::uint32_t>(cuda::ActivityKind::kPeerMemcpy);
  copy.copy_kind = 10;
  copy.src_kind = 3;
  copy.dst_kind = 4;
  copy.flags = 1;
  copy.bytes = 11;
  copy.start_ns = static_cast<std::uint64_t>(kStart + 12);
  copy.end_ns = static_cast<std::uint64_t>(kStart + 13);
  copy.device = 14;
  copy.context = 15;
  copy.stream = 16;
  copy.src_device = 17;
  copy.src_context = 18;
  copy.dst_device = 19;
  copy.dst_context = 20;
  copy.correlation = 21;
  copy.graph_node = 22;
  copy.graph = 23;
  decode(copy);
  const auto record = record_at<trace::MemcpyRecord>(batch_);
  EXPECT_EQ(record.copy_kind, trace::CopyKind::kPeerToPeer);
  EXPECT_EQ(record.src_kind, trace::MemoryKind::kDevice);
  EXPECT_EQ(record.dst_kind, trace::MemoryKind::kArray);
  EXPECT_EQ(record.is_async, 1);
  EXPECT_EQ(record.bytes, 11u);
  EXPECT_EQ(record.start_ns, kStart + 12);
  EXPECT_EQ(record.end_ns, kStart + 13);
  EXPECT_EQ(record.device, 14u);
  EXPECT_EQ(record.context, 15u);
  EXPECT_EQ(record.stream, 16u);
  EXPECT_EQ(record.src_device, 17u);
  EXPECT_EQ(record.dst_device, 19u);
  EXPECT_EQ(record.correlation, 21u);
  EXPECT_EQ(record.graph_node, 22u);
  EXPECT_EQ(record.graph, 23u);
  EXPECT_EQ(record.copy_count, 1u);
}

TEST_F(ActivityDecoderTest, TakesEveryFieldOfAMemset) {
  cuda::MemsetActivity memset{};
  memset.kind = static_cast<std::uint32_t>(cuda::ActivityKind::kMemset);
  memset.value = 10;
  memset.bytes = 11;
  memset.start_ns = static_cast<std::uint64_t>(kStart + 12);
  memset.end_ns = static_cast<std::uint64_t>(kStart + 13);
  memset.device = 14;
  memset.context = 15;
  memset.stream = 16;
  memset.correlation = 17;
  memset.flags = 18;
  memset.memory_kind = 6;
  memset.graph_node = 19;
  memset.graph = 20;
  decode(memset);
  const auto record = record_at<trace::MemsetRecord>(batch_);
  EXPECT_EQ(record.header.kind, trace::RecordKind::kMemset);
  EXPECT_EQ(record.value, 10u);
  EXPECT_EQ(record.bytes, 11u);
  EXPECT_EQ(record.start_ns, kStart + 12);
  EXPECT_EQ(record.end_ns, kStart + 13);
  EXPECT_EQ(record.device, 14u);
  EXPECT_EQ(record.context, 15u);
  EXPECT_EQ(record.stream, 16u);
  EXPECT_EQ(record.correlation, 17u);
  EXPECT_EQ(record.memory_kind, trace::MemoryKind::kDeviceStatic);
  EXPECT_EQ(record.graph_node, 19u);
}

TEST_F(ActivityDecoderTest, TakesEveryFieldOfAKernel) {
  const char* const name = "_Z3addPf";
  cuda::KernelActivity kernel{};
  kernel.kind = static_cast<std::uint32_t>(cuda::ActivityKind::kConcurrentKernel);
  kernel.start_ns = static_cast<std::uint64_t>(kStart + 12);
  kernel.end_ns = static_cast<std::uint64_t>(kStart + 13);
  kernel.completed_ns = static_cast<std::uint64_t>(kStart + 99);
  kernel.device = 14;
  kernel.context = 15;
  kernel.stream = 16;
  kernel.correlation = 17;
  kernel.grid_id = 18;
  kernel.name = name;
  kernel.graph_node = 19;
  kernel.graph = 20;
  decode(kernel);
  kernel.name = nullptr;
  decode(kernel);
  const auto record = record_at<trace::KernelRecord>(batch_);
  EXPECT_EQ(record.header.kind, trace::RecordKind::kKernel);
  EXPECT_EQ(record.start_ns, kStart + 12);
  EXPECT_EQ(record.end_ns, kStart + 13);
  EXPECT_EQ(record.device, 14u);
  EXPECT_EQ(record.context, 15u);
  EXPECT_EQ(record.stream, 16u);
  EXPECT_EQ(record.correlation, 17u);
  EXPECT_EQ(record.graph_node, 19u);
  EXPECT_EQ(record.graph, 20u);
  EXPECT_EQ(record.name, strings_.intern(name));
  EXPECT_EQ(record_at<trace::KernelRecord>(batch_, 1).name, trace::kNoId);
}

TEST_F(ActivityDecoderTest, TakesEveryFieldOfAMigration) {
  const std::pair<std::uint32_t, trace::MigrationKind> counters[] = {{1, trace::MigrationKind::kHostToDevice},
                                                                     {2, trace::MigrationKind::kDeviceToHost},
                                                                     {8, trace::MigrationKind::kDeviceToDevice}};
  for (const auto& [counter, kind] : counters) {
    batch_.restart();
    cuda::ManagedMemoryActivity migration{};
    migration.kind = static_cast<std::uint32_t>(cuda::ActivityKind::kManagedMemory);
    migration.counter = counter;
    migration.value = 11;
    migration.start_ns = static_cast<std::uint64_t>(kStart + 12);
    migration.end_ns = static_cast<std::uint64_t>(kStart + 13);
    migration.address = 14;
    migration.src_device = 15;
    migration.dst_device = 16;
    decode(migration);
    const auto record = record_at<trace::MigrationRecord>(batch_);
    EXPECT_EQ(record.header.kind, trace::RecordKind::kMigration);
    EXPECT_EQ(record.kind, kind);
    EXPECT_EQ(record.bytes, 11u);
    EXPECT_EQ(record.start_ns, kStart + 12);
    EXPECT_EQ(record.end_ns, kStart + 13);
    EXPECT_EQ(record.address, 14u);
    EXPECT_EQ(record.device, counter == 1 ? 16u : 15u);
  }
  for (const std::uint32_t counter : {0u, 3u, 4u, 7u, 9u}) {
    batch_.restart();
    cuda::ManagedMemoryActivity other{};
    other.kind = static_cast<std::uint32_t>(cuda::ActivityKind::kManagedMemory);
    other.counter = counter;
    decode(other);
    EXPECT_TRUE(batch_.is_empty()) << counter;
  }
  EXPECT_EQ(losses_.total(), 0u);
}

TEST_F(ActivityDecoderTest, CountsRecordsThatItDoesNotKnow) {
  Buffer buffer;
  cuda::MemsetActivity memset{};
  memset.kind = static_cast<std::uint32_t>(cuda::ActivityKind::kMemset);
  memset.start_ns = memset.end_ns = static_cast<std::uint64_t>(kStart);
  buffer.add(memset);
  for (const std::uint32_t kind : {0u, 3u, 9u, 24u}) {
    cuda::ManagedMemoryActivity unknown{};
    unknown.kind = kind;
    buffer.add(unknown);
  }
  buffer.add(memset);
  decoder_.decode(buffer.data(), buffer.size(), batch_);
  EXPECT_EQ(batch_.counts().memsets, 2u);
  EXPECT_EQ(lost(Loss::kUnknownActivity), 4u);
  EXPECT_EQ(decoder_.count(buffer.data(), buffer.size()), 6u);
  EXPECT_EQ(decoder_.count(buffer.data(), 0), 0u);
  g_end_of_buffer = 7;  // CUPTI could not go on
  decoder_.decode(buffer.data(), buffer.size(), batch_);
  EXPECT_EQ(lost(Loss::kUnknownActivity), 9u);
}

TEST_F(ActivityDecoderTest, BelievesTimesWithinAMinuteOfTheRecording) {
  const std::pair<std::int64_t, std::int64_t> unknown = {trace::kUnknownTime, trace::kUnknownTime};
  EXPECT_EQ(times(kStart - kMinute + 1, kStart), std::pair(kStart - kMinute + 1, kStart));
  EXPECT_EQ(times(kStart - kMinute, kStart), unknown);
  const std::int64_t last = kStart + kSecond + kMinute;
  EXPECT_EQ(times(kStart, last - 1), std::pair(kStart, last - 1));
  EXPECT_EQ(times(kStart, last), unknown);
  EXPECT_EQ(times(kStart + 5, kStart + 5), std::pair(kStart + 5, kStart + 5));
  EXPECT_EQ(times(kStart + 6, kStart + 5), unknown);
  EXPECT_EQ(times(0, kStart), unknown);
  EXPECT_EQ(times(kStart, 0), unknown);
  EXPECT_EQ(lost(Loss::kInvalidDeviceTimes), 5u);
}

TEST_F(ActivityDecoderTest, LeadsTicksBackToTheClock) {
  const std::pair<std::int64_t, std::int64_t> unknown = {trace::kUnknownTime, trace::kUnknownTime};
  // Two ticks a nanosecond.
  restart({.realtime_ns = kStart, .monotonic_ns = 0, .cupti_ns = 0, .tsc = 1'000'000}, kSecond, 2'000'000'000);
  EXPECT_EQ(times(1'000'000, 1'000'000 + 2'000), std::pair(kStart, kStart + 1'000));
  EXPECT_EQ(times(1'000'000 - 4'000, 1'000'000), std::pair(kStart - 2'000, kStart));
  EXPECT_EQ(times(1'000'000, 400'000'000'000), unknown);
  restart({.realtime_ns = kStart, .monotonic_ns = 0, .cupti_ns = 0, .tsc = 0}, kSecond, 2'000'000'000);
  EXPECT_EQ(times(2'000, 4'000), unknown);
  restart({.realtime_ns = kStart, .monotonic_ns = 0, .cupti_ns = 0, .tsc = 1'000'000}, kSecond, 0);
  EXPECT_EQ(times(1'000'000, 1'002'000), unknown);
}

}  // namespace
}  // namespace turnpike::record
