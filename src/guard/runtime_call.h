// Reads the parameters of calls of the CUDA runtime: a function for each parameter list. The structures are declared
// here, because the process brings its own version of the runtime, and only src/cuda has the headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>

#include "guard/copy.h"

namespace turnpike::guard {

// Where a call says that a side of a copy is; kAsk: the driver must be asked.
enum class Said : std::uint8_t { kAsk, kGpu, kHost };

struct RuntimeCall {
  Kind kind = Kind::kH2d;  // kSync, kAlloc; else a copy, in whatever direction
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;  // 0: not known
  Said to_side = Said::kAsk;
  Said from_side = Said::kAsk;
  const void* stream = nullptr;  // nullptr of a copy that waits
  Waits waits = Waits::kNever;
  bool is_flat = false;  // the bytes are contiguous

  constexpr bool names_both() const { return to_side != Said::kAsk && from_side != Said::kAsk && to_side != from_side; }
};

// `kind` is a cudaMemcpyKind. cudaMemcpyDeviceToDevice does not say which GPUs, cudaMemcpyDefault says nothing.
constexpr RuntimeCall copy_call(void* to, const void* from, std::size_t bytes, int kind) {
  constexpr int kToGpu = 1;
  constexpr int kFromGpu = 2;
  RuntimeCall call{.to = to, .from = from, .bytes = bytes, .waits = Waits::kForItsEnd};
  if (kind == kToGpu) call.to_side = Said::kGpu, call.from_side = Said::kHost;
  if (kind == kFromGpu) call.to_side = Said::kHost, call.from_side = Said::kGpu;
  return call;
}
constexpr RuntimeCall by_addresses(void* to, const void* from, std::size_t bytes) {
  return {.to = to, .from = from, .bytes = bytes};
}
constexpr RuntimeCall flat(RuntimeCall call) {
  call.is_flat = true;
  return call;
}
// Arrays and symbols of a program are in the memory of a GPU.
constexpr RuntimeCall to_gpu(RuntimeCall call) {
  call.to_side = Said::kGpu;
  return call;
}
constexpr RuntimeCall from_gpu(RuntimeCall call) {
  call.from_side = Said::kGpu;
  return call;
}
constexpr RuntimeCall wait_call(const void* stream = nullptr) {
  return {.kind = Kind::kSync, .stream = stream};
}
constexpr RuntimeCall allocation_call(std::size_t bytes = 0) {
  return {.kind = Kind::kAlloc, .bytes = bytes};
}

// The functions below have the parameters of the runtime's functions; kInStream adds a stream to them.
template <auto kRead>
struct InStream;
template <typename... Parameters, RuntimeCall (*kRead)(Parameters...)>
struct InStream<kRead> {
  static RuntimeCall read(Parameters... parameters, void* stream) {
    RuntimeCall call = kRead(parameters...);
    call.stream = stream;
    call.waits = Waits::kNever;
    return call;
  }
};
template <auto kRead>
inline constexpr auto kInStream = &InStream<kRead>::read;

using Size = std::size_t;

inline RuntimeCall read_copy(void* to, const void* from, Size bytes, int kind) {
  return flat(copy_call(to, from, bytes, kind));
}
inline RuntimeCall read_rows(void* to, Size, const void* from, Size, Size width, Size height, int kind) {
  return copy_call(to, from, width * height, kind);
}
inline RuntimeCall read_peer(void* to, int, const void* from, int, Size bytes) {
  return by_addresses(to, from, bytes);
}
inline RuntimeCall read_to_symbol(const void* symbol, const void* from, Size bytes, Size, int kind) {
  return to_gpu(copy_call(const_cast<void*>(symbol), from, bytes, kind));
}
inline RuntimeCall read_from_symbol(void* to, const void* symbol, Size bytes, Size, int kind) {
  return from_gpu(copy_call(to, symbol, bytes, kind));
}
inline RuntimeCall read_to_array(void* array, Size, Size, const void* from, Size bytes, int kind) {
  return to_gpu(copy_call(array, from, bytes, kind));
}
inline RuntimeCall read_from_array(void* to, const void* array, Size, Size, Size bytes, int kind) {
  return from_gpu(copy_call(to, array, bytes, kind));
}
inline RuntimeCall read_rows_to_array(void* array, Size, Size, const void* from, Size, Size width, Size height,
                                      int kind) {
  return to_gpu(copy_call(array, from, width * height, kind));
}
inline RuntimeCall read_rows_from_array(void* to, Size, const void* array, Size, Size, Size width, Size height,
                                        int kind) {
  return from_gpu(copy_call(to, array, width * height, kind));
}

struct Extent {
  Size width = 0, height = 0, depth = 0;
  constexpr Size volume() const { return width * height * depth; }
};
// cudaMemcpy3DParms and cudaMemcpy3DPeerParms: two sides with an array, or else with a pointer.
struct Block {
  void* array = nullptr;
  Size x = 0, y = 0, z = 0;
  void* pointer = nullptr;
  Size pitch = 0, width = 0, height = 0;
};
struct BlockCopy {
  Block from, to;
  Extent extent;
  int kind = 0;
};
struct PeerBlock {
  Block block;
  int device = 0;
};
struct PeerBlockCopy {
  PeerBlock from, to;
  Extent extent;
};

// Of arrays, the extent counts elements of a size that nobody says here.
inline RuntimeCall of_blocks(RuntimeCall call, const Block& to, const Block& from, const Extent& extent) {
  call.bytes = to.array == nullptr && from.array == nullptr ? extent.volume() : 0;
  if (to.array != nullptr) call = to_gpu(call);
  if (from.array != nullptr) call = from_gpu(call);
  return call;
}
inline RuntimeCall read_block(const BlockCopy* copy) {
  if (copy == nullptr) return {};  // the runtime's error
  return of_blocks(copy_call(copy->to.pointer, copy->from.pointer, 0, copy->kind), copy->to, copy->from, copy->extent);
}
inline RuntimeCall read_peer_block(const PeerBlockCopy* copy) {
  if (copy == nullptr) return {};
  const Block& to = copy->to.block;
  const Block& from = copy->from.block;
  return of_blocks(by_addresses(to.pointer, from.pointer, 0), to, from, copy->extent);
}

// Batches are judged by the direction of their first copy, and by the bytes of all. CUDA 12 has a parameter more than
// CUDA 13, in front of the stream, which is therefore not looked at: what follows is passed on as it came.
using Passed = std::uintptr_t;
inline RuntimeCall read_batch(void** to, const void** from, const Size* bytes, Size count, Passed, Passed, Passed,
                              Passed, Passed) {
  if (count == 0 || to == nullptr || from == nullptr || bytes == nullptr) return {};
  return by_addresses(to[0], from[0], std::accumulate(bytes, bytes + count, Size{0}));
}
// cudaMemcpy3DBatchOp. `pointer` is an array if `type` says so.
struct BatchSide {
  int type;
  void* pointer;
  Size x, y, z;
};
struct BatchBlock {
  BatchSide from, to;
  Extent extent;
  int order;
  unsigned flags;
};
inline RuntimeCall read_block_batch(Size count, const BatchBlock* blocks, Passed, Passed, Passed) {
  if (count == 0 || blocks == nullptr) return {};
  constexpr int kArray = 2;
  RuntimeCall call = by_addresses(blocks[0].to.pointer, blocks[0].from.pointer, 0);
  if (blocks[0].to.type == kArray) call = to_gpu(call);
  if (blocks[0].from.type == kArray) call = from_gpu(call);
  return call;
}

inline RuntimeCall read_stream_wait(void* stream) {
  return wait_call(stream);
}
inline RuntimeCall read_event_wait(void*) {
  return wait_call();
}
inline RuntimeCall read_device_wait() {
  return wait_call();
}

inline RuntimeCall read_allocate(void**, Size bytes) {
  return allocation_call(bytes);
}
inline RuntimeCall read_allocate_flags(void**, Size bytes, unsigned) {
  return allocation_call(bytes);
}
inline RuntimeCall read_allocate_from_pool(void**, Size bytes, void*) {
  return allocation_call(bytes);
}
inline RuntimeCall read_allocate_rows(void**, Size*, Size width, Size height) {
  return allocation_call(width * height);
}
inline RuntimeCall read_register(void*, Size bytes, unsigned) {
  return allocation_call(bytes);
}
inline RuntimeCall read_free(void*) {
  return allocation_call();
}

// Managed memory, which the call moves to a GPU or to the host.
inline RuntimeCall prefetch_call(const void* address, Size bytes, bool is_to_host) {
  auto* const memory = const_cast<void*>(address);
  RuntimeCall call = by_addresses(memory, memory, bytes);
  call.to_side = is_to_host ? Said::kHost : Said::kGpu;
  call.from_side = is_to_host ? Said::kGpu : Said::kHost;
  return call;
}
// The number of a GPU, or -1, and a stream.
inline RuntimeCall read_prefetch(const void* address, Size bytes, Passed device, Passed, Passed) {
  return prefetch_call(address, bytes, static_cast<int>(device) == -1);
}
// A cudaMemLocation, whose type comes first, flags and a stream.
inline RuntimeCall read_prefetch_to_location(const void* address, Size bytes, Passed location, Passed, Passed) {
  constexpr int kDevice = 1;
  return prefetch_call(address, bytes, static_cast<int>(location) != kDevice);
}

}  // namespace turnpike::guard
