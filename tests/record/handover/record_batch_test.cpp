// What is counted of records on their way into the file.
#include "record/handover/record_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "record/collect/status_page.h"

namespace turnpike::record {
namespace {

using testing::ElementsAre;
using trace::CallKind;
using trace::CopyKind;

trace::MemcpyRecord copy_of(CopyKind kind, std::uint64_t bytes, std::uint32_t src_device = trace::kUnknownId,
                            std::uint32_t dst_device = trace::kUnknownId) {
  auto copy = make_record<trace::MemcpyRecord>(trace::RecordKind::kMemcpy);
  copy.copy_kind = kind;
  copy.bytes = bytes;
  copy.src_device = src_device;
  copy.dst_device = dst_device;
  return copy;
}

TEST(RecordBatch, CountsCopiesByDirection) {
  RecordBatch batch;
  batch.add(copy_of(CopyKind::kHostToDevice, 1));
  batch.add(copy_of(CopyKind::kHostToArray, 2));
  batch.add(copy_of(CopyKind::kDeviceToHost, 4));
  batch.add(copy_of(CopyKind::kArrayToHost, 8));
  for (const CopyKind kind : {CopyKind::kDeviceToDevice, CopyKind::kArrayToArray, CopyKind::kArrayToDevice,
                              CopyKind::kDeviceToArray, CopyKind::kUnknown}) {
    batch.add(copy_of(kind, 16));
  }
  batch.add(copy_of(CopyKind::kPeerToPeer, 32));
  batch.add(copy_of(CopyKind::kDeviceToDevice, 64, 0, 1));
  batch.add(copy_of(CopyKind::kDeviceToDevice, 128, 1, 1));
  batch.add(copy_of(CopyKind::kDeviceToDevice, 256, 0));
  batch.add(copy_of(CopyKind::kDeviceToDevice, 512, trace::kUnknownId, 0));
  batch.add(copy_of(CopyKind::kHostToHost, 1024));
  const RecordCounts& counts = batch.counts();
  EXPECT_THAT(counts.transfer_counts, ElementsAre(2, 2, 8, 2, 1, 0));
  EXPECT_THAT(counts.transfer_bytes, ElementsAre(3, 12, 80 + 128 + 256 + 512, 96, 1024, 0));
  EXPECT_EQ(counts.copies, 15u);
  EXPECT_EQ(counts.copy_bytes, 3u + 12 + 80 + 896 + 96 + 1024);
  EXPECT_EQ(batch.bytes().size(), 15 * sizeof(trace::MemcpyRecord));
}

TEST(RecordBatch, CountsMemsetsKernelsAndCalls) {
  RecordBatch batch;
  auto memset = make_record<trace::MemsetRecord>(trace::RecordKind::kMemset);
  memset.bytes = 5;
  batch.add(memset);
  memset.bytes = 6;
  batch.add(memset);
  batch.add(make_record<trace::KernelRecord>(trace::RecordKind::kKernel));
  auto call = make_record<trace::CallRecord>(trace::RecordKind::kCall);
  call.start_ns = 100;
  call.end_ns = 107;
  call.kind = CallKind::kSynchronize;
  batch.add(call);
  call.end_ns = 1'100;
  call.kind = CallKind::kCopy;
  batch.add_raw(reinterpret_cast<const std::byte*>(&call));
  call.kind = CallKind::kLaunch;
  batch.add_raw(reinterpret_cast<const std::byte*>(&call));
  const auto range = make_record<trace::RangeRecord>(trace::RecordKind::kRange);
  batch.add_raw(reinterpret_cast<const std::byte*>(&range));
  const RecordCounts& counts = batch.counts();
  EXPECT_EQ(counts.memsets, 2u);
  EXPECT_EQ(counts.transfer_counts[5], 2u);
  EXPECT_EQ(counts.transfer_bytes[5], 11u);
  EXPECT_EQ(counts.kernels, 1u);
  EXPECT_EQ(counts.calls, 3u);
  EXPECT_EQ(counts.syncs, 1u);
  EXPECT_EQ(counts.waiting_ns, 1'007);
  EXPECT_EQ(counts.copies, 0u);
  EXPECT_EQ(batch.bytes().size(), 2 * sizeof memset + sizeof(trace::KernelRecord) + 3 * sizeof call + sizeof range);
  EXPECT_EQ(std::memcmp(batch.bytes().data() + batch.bytes().size() - sizeof range, &range, sizeof range), 0);
  EXPECT_FALSE(batch.is_empty());
  batch.clear();
  EXPECT_TRUE(batch.is_empty());
  EXPECT_EQ(batch.counts().calls, 3u) << "what is written counts";
  batch.add(memset);
  batch.restart();
  EXPECT_TRUE(batch.is_empty());
  EXPECT_EQ(batch.counts().calls, 0u);
  EXPECT_EQ(batch.counts().memsets, 0u);
}

TEST(Status, HasEachCountWhereItBelongs) {
  RecordCounts counts;
  for (std::uint64_t i = 0; i < 6; ++i) {
    counts.transfer_counts[i] = 10 + i;
    counts.transfer_bytes[i] = 20 + i;
  }
  counts.syncs = 30;
  counts.waiting_ns = 31;
  counts.kernels = 32;
  LossCounters losses;
  losses.add(trace::Loss::kStoppedAtSize, 16);
  losses.add(trace::Loss::kStoppedDiskLow, 17);
  const TurnpikeStatus status = to_status(counts, losses, 34);
  EXPECT_THAT(status.transfer_count, ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_THAT(status.transfer_bytes, ElementsAre(20, 21, 22, 23, 24, 25));
  EXPECT_EQ(status.sync_count, 30u);
  EXPECT_EQ(status.host_time_ns, 31u);
  EXPECT_EQ(status.kernel_count, 32u);
  EXPECT_EQ(status.loss_count, 33u);
  EXPECT_EQ(status.written_bytes, 34u);
  EXPECT_EQ(status.stopped_at_size_count, 16u);
  EXPECT_EQ(status.stopped_disk_low_count, 17u);
  EXPECT_EQ(status.process_count, 0u);
  EXPECT_EQ(status.unusable_count, 0u);
}

}  // namespace
}  // namespace turnpike::record
