// What a call of the runtime says by its parameters: its directions, its bytes, whether it waits. With CUDA's own
// structures, which the guard declares by itself.
#include "guard/runtime_call.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>

namespace turnpike::guard {
namespace {

char g_host[64];
char g_gpu[64];

void expect_copy(const RuntimeCall& call, const void* to, const void* from, std::size_t bytes, Said to_side,
                 Said from_side) {
  EXPECT_EQ(call.to, to);
  EXPECT_EQ(call.from, from);
  EXPECT_EQ(call.bytes, bytes);
  EXPECT_EQ(call.to_side, to_side);
  EXPECT_EQ(call.from_side, from_side);
}

TEST(RuntimeCall, ACopySaysItsSidesByItsKind) {
  expect_copy(read_copy(g_gpu, g_host, 8, cudaMemcpyHostToDevice), g_gpu, g_host, 8, Said::kGpu, Said::kHost);
  expect_copy(read_copy(g_host, g_gpu, 8, cudaMemcpyDeviceToHost), g_host, g_gpu, 8, Said::kHost, Said::kGpu);
  expect_copy(read_copy(g_host, g_gpu, 8, cudaMemcpyDefault), g_host, g_gpu, 8, Said::kAsk, Said::kAsk);
  expect_copy(read_copy(g_gpu, g_gpu, 8, cudaMemcpyDeviceToDevice), g_gpu, g_gpu, 8, Said::kAsk, Said::kAsk);
  EXPECT_TRUE(read_copy(g_gpu, g_host, 8, cudaMemcpyHostToDevice).names_both());
  EXPECT_FALSE(read_copy(g_gpu, g_host, 8, cudaMemcpyDefault).names_both());
}

TEST(RuntimeCall, InAStreamItDoesNotWait) {
  int stream = 0;
  const RuntimeCall waits = read_copy(g_gpu, g_host, 8, cudaMemcpyHostToDevice);
  EXPECT_EQ(waits.waits, Waits::kForItsEnd);
  EXPECT_EQ(waits.stream, nullptr);
  const RuntimeCall goes_on = kInStream<read_copy>(g_gpu, g_host, 8, cudaMemcpyHostToDevice, &stream);
  EXPECT_EQ(goes_on.waits, Waits::kNever);
  EXPECT_EQ(goes_on.stream, &stream);
  EXPECT_TRUE(goes_on.is_flat);
  expect_copy(goes_on, g_gpu, g_host, 8, Said::kGpu, Said::kHost);
}

TEST(RuntimeCall, RowsAndPeers) {
  const RuntimeCall rows = read_rows(g_gpu, 16, g_host, 32, 4, 5, cudaMemcpyHostToDevice);
  expect_copy(rows, g_gpu, g_host, 20, Said::kGpu, Said::kHost);
  EXPECT_FALSE(rows.is_flat);
  const RuntimeCall peer = read_peer(g_gpu, 1, g_host, 0, 7);
  expect_copy(peer, g_gpu, g_host, 7, Said::kAsk, Said::kAsk);
  EXPECT_EQ(peer.waits, Waits::kNever);
}

TEST(RuntimeCall, SymbolsAndArraysAreTheGpus) {
  expect_copy(read_to_symbol(g_gpu, g_host, 8, 2, cudaMemcpyHostToDevice), g_gpu, g_host, 8, Said::kGpu, Said::kHost);
  expect_copy(read_to_symbol(g_gpu, g_gpu, 8, 2, cudaMemcpyDeviceToDevice), g_gpu, g_gpu, 8, Said::kGpu, Said::kAsk);
  expect_copy(read_from_symbol(g_host, g_gpu, 8, 2, cudaMemcpyDefault), g_host, g_gpu, 8, Said::kAsk, Said::kGpu);
  expect_copy(read_to_array(g_gpu, 1, 2, g_host, 9, cudaMemcpyHostToDevice), g_gpu, g_host, 9, Said::kGpu, Said::kHost);
  expect_copy(read_from_array(g_host, g_gpu, 1, 2, 9, cudaMemcpyDeviceToHost), g_host, g_gpu, 9, Said::kHost,
              Said::kGpu);
  expect_copy(read_rows_to_array(g_gpu, 1, 2, g_host, 16, 4, 5, cudaMemcpyDefault), g_gpu, g_host, 20, Said::kGpu,
              Said::kAsk);
  expect_copy(read_rows_from_array(g_host, 16, g_gpu, 1, 2, 4, 5, cudaMemcpyDefault), g_host, g_gpu, 20, Said::kAsk,
              Said::kGpu);
}

TEST(RuntimeCall, ABlockIsReadFromCudasStructure) {
  cudaMemcpy3DParms block{};
  block.dstPtr = cudaPitchedPtr{g_gpu, 16, 4, 4};
  block.srcPtr = cudaPitchedPtr{g_host, 16, 4, 4};
  block.extent = cudaExtent{2, 3, 4};
  block.kind = cudaMemcpyHostToDevice;
  static_assert(sizeof block == sizeof(BlockCopy));
  const auto read = [&] { return read_block(reinterpret_cast<const BlockCopy*>(&block)); };
  expect_copy(read(), g_gpu, g_host, 24, Said::kGpu, Said::kHost);
  block.kind = cudaMemcpyDefault;
  block.srcArray = reinterpret_cast<cudaArray_t>(g_gpu);
  expect_copy(read(), g_gpu, g_host, 0, Said::kAsk, Said::kGpu);
  EXPECT_EQ(read_block(nullptr).bytes, 0u);
}

TEST(RuntimeCall, ABlockBetweenGpusIsReadFromCudasStructure) {
  cudaMemcpy3DPeerParms block{};
  block.dstPtr = cudaPitchedPtr{g_gpu, 16, 4, 4};
  block.srcPtr = cudaPitchedPtr{g_host, 16, 4, 4};
  block.dstDevice = 1;
  block.extent = cudaExtent{2, 3, 4};
  static_assert(sizeof block == sizeof(PeerBlockCopy));
  expect_copy(read_peer_block(reinterpret_cast<const PeerBlockCopy*>(&block)), g_gpu, g_host, 24, Said::kAsk,
              Said::kAsk);
}

TEST(RuntimeCall, ABatchIsJudgedByItsFirstCopyAndAllBytes) {
  void* to[] = {g_gpu, g_host};
  const void* from[] = {g_host, g_gpu};
  const std::size_t bytes[] = {5, 6};
  expect_copy(read_batch(to, from, bytes, 2, 0, 0, 0, 0, 0), g_gpu, g_host, 11, Said::kAsk, Said::kAsk);
  EXPECT_EQ(read_batch(nullptr, nullptr, nullptr, 2, 0, 0, 0, 0, 0).bytes, 0u);
}

TEST(RuntimeCall, ABatchOfBlocksIsReadFromCudasStructure) {
  cudaMemcpy3DBatchOp block{};
  block.src.type = cudaMemcpyOperandTypePointer;
  block.src.op.ptr.ptr = g_host;
  block.dst.type = cudaMemcpyOperandTypeArray;
  block.dst.op.array.array = reinterpret_cast<cudaArray_t>(g_gpu);
  static_assert(sizeof block == sizeof(BatchBlock));
  expect_copy(read_block_batch(1, reinterpret_cast<const BatchBlock*>(&block), 0, 0, 0), g_gpu, g_host, 0, Said::kGpu,
              Said::kAsk);
}

TEST(RuntimeCall, APrefetchMovesToWhereItIsTold) {
  expect_copy(read_prefetch(g_gpu, 8, static_cast<Passed>(0), 0, 0), g_gpu, g_gpu, 8, Said::kGpu, Said::kHost);
  expect_copy(read_prefetch(g_gpu, 8, static_cast<Passed>(cudaCpuDeviceId), 0, 0), g_gpu, g_gpu, 8, Said::kHost,
              Said::kGpu);
  const auto told = [](cudaMemLocationType type) {
    const cudaMemLocation location{type, 1};
    Passed word = 0;
    static_assert(sizeof location == sizeof word);
    std::memcpy(&word, &location, sizeof word);
    return read_prefetch_to_location(g_gpu, 8, word, 0, 0).to_side;
  };
  EXPECT_EQ(told(cudaMemLocationTypeDevice), Said::kGpu);
  EXPECT_EQ(told(cudaMemLocationTypeHost), Said::kHost);
}

}  // namespace
}  // namespace turnpike::guard
