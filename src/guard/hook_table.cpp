#include "guard/hook_table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/hot.h"
#include "base/self_time.h"
#include "guard/cuda_runtime.h"
#include "guard/cxx_runtime.h"
#include "guard/driver_memory.h"
#include "guard/judge.h"
#include "guard/repeats.h"
#include "guard/runtime_call.h"
#include "guard/this_thread.h"
#include "guard/threads.h"

namespace turnpike::guard {
namespace {

TURNPIKE_HOT_DATA constinit CudaRuntime g_runtime;

// The kinds that the parameters leave open.
inline Kinds possible_kinds(const RuntimeCall& call) noexcept {
  if (!is_copy(call.kind)) return call.kind;
  const bool may_go_up = call.to_side != Said::kHost && call.from_side != Said::kGpu;
  const bool may_go_down = call.to_side != Said::kGpu && call.from_side != Said::kHost;
  Kinds kinds = Kind::kD2d;
  kinds.add(Kind::kP2p);
  if (may_go_up) kinds.add(Kind::kH2d);
  if (may_go_up) kinds.add(Kind::kRepeat);
  if (may_go_down) kinds.add(Kind::kD2h);
  if (may_go_up && may_go_down) kinds.add(Kind::kH2h);
  if (call.waits == Waits::kForItsEnd) kinds.add(Kind::kSync);
  kinds.add(Kind::kPageable);
  return kinds;
}

// As long as the runtime has not loaded the driver, it is the one to ask.
TURNPIKE_HOT Memory memory_at(const void* address, Question question) noexcept {
  Memory memory;
  return ask_driver(address, question, memory) ? memory : g_runtime.memory_at(address);
}

void complete_copy(Crossing& crossing) {
  if (crossing.host_address != nullptr) crossing.host_memory = memory_at(crossing.host_address, Question::kKind).host;
  crossing.is_captured = g_runtime.is_capturing(crossing.stream);
}

// Nobody says which GPU holds an array or a symbol: the other side's, so that the copy is no p2p.
TURNPIKE_HOT Crossing asked_copy(const RuntimeCall& call, const char* name, Question question) {
  Memory to = call.to_side == Said::kGpu ? kSomeGpu : memory_at(call.to, question);
  const Memory from = call.from_side == Said::kGpu ? kSomeGpu : memory_at(call.from, question);
  if (to.side == Side::kGpu && (to.device < 0 || from.device < 0)) to.device = from.device;
  return make_copy(name, to, from, call.bytes, call.stream, call.waits);
}

// A side that the call names as the GPU's is that, or the call fails. Of the others the memory decides, unless the call
// names both and no rule asks, or one that forbids nothing: then it is asked behind the call (docs/architecture.md).
TURNPIKE_HOT Crossing copy(const RuntimeCall& call, const char* name, const Reach& reach) {
  Kinds of_memory = Kind::kPageable;
  of_memory.add(Kind::kRepeat);
  const bool is_asked = reach.asked.meets(of_memory);
  const bool can_wait = is_asked && call.names_both() && !reach.asked.has(Kind::kRepeat) && can_ask_later(reach);
  Crossing crossing;
  if (call.names_both() && (!is_asked || can_wait)) {
    const bool is_upload = call.to_side == Said::kGpu;
    crossing = make_copy(name, is_upload ? kSomeGpu : kSomeHost, is_upload ? kSomeHost : kSomeGpu, call.bytes,
                         call.stream, call.waits);
    crossing.host_address = is_upload ? call.from : call.to;
    crossing.is_memory_open = can_wait;
  } else {
    crossing = asked_copy(call, name, call.names_both() ? Question::kKind : Question::kDevice);
  }
  crossing.complete = complete_copy;
  if (!call.is_flat || !reach.asked.has(Kind::kRepeat)) return crossing;
  complete_copy(crossing);
  crossing.complete = nullptr;
  note_contents(crossing, call.to, call.from);
  return crossing;
}

inline Crossing crossing_of(const RuntimeCall& call, const char* name, const Reach& reach) {
  if (is_copy(call.kind)) return copy(call, name, reach);
  return {.call = name, .kind = call.kind, .kinds = call.kind, .bytes = call.bytes, .stream = call.stream};
}

// Of a copy that was made.
TURNPIKE_HOT void ask_memory(Crossing& crossing, const Reach& reach, const Where& where) noexcept {
  crossing.host_memory = memory_at(crossing.host_address, Question::kKind).host;
  crossing.host_address = nullptr;
  if (crossing.host_memory == HostMemory::kPageable) note_pageable(crossing, reach, where);
}

// The time of a hook without the real call; it is not counted where the judge throws.
template <bool is_timed>
std::uint64_t ticks_of_hook() noexcept {
  return is_timed ? ticks_now() : 0;
}
template <bool is_timed>
void end_hook(std::uint64_t ticks) noexcept {
  if (is_timed) add_self_time(ticks);
}

[[noreturn, gnu::noinline, gnu::cold]] void raise(const char* error) {
  CxxRuntime::find()->raise(error);
}

struct Name {
  template <std::size_t kSize>
  constexpr Name(const char (&name)[kSize]) {  // NOLINT(google-explicit-constructor): a name in a row of the table
    std::copy_n(name, kSize, text);
  }
  char text[48] = {};
};

// The hook of a function of this name, whose parameters kRead reads. Its frame throws, and so holds nothing that needs
// a cleanup.
template <Name kName, auto kRead>
struct Hooked;

template <Name kName, typename... Parameters, RuntimeCall (*kRead)(Parameters...)>
struct Hooked<kName, kRead> {
  static inline int (*original)(Parameters...) = nullptr;

  template <bool is_timed>
  TURNPIKE_HOT static int call(Parameters... parameters) {
    const std::uint64_t start_ticks = ticks_of_hook<is_timed>();
    const Reach* reach = nullptr;
    ThisThread* thread = nullptr;
    if (is_anything_guarded()) {
      thread = &this_thread();
      reach = guarding_reach(*thread);
    }
    if (reach == nullptr) {
      end_hook<is_timed>(ticks_of_hook<is_timed>() - start_ticks);
      return original(parameters...);
    }
    take_new_slots();
    Crossing seen{};
    Where where;
    const char* error = nullptr;
    const RuntimeCall said = kRead(parameters...);
    if (is_concerned(*reach, possible_kinds(said))) {
      seen = crossing_of(said, kName.text, *reach);
      error = judge(seen, *reach, &where);
      if (error != nullptr && !where.must_wait) raise(error);
    }
    thread->is_judged = true;
    const std::uint64_t call_ticks = ticks_of_hook<is_timed>();
    const int result = original(parameters...);
    const std::uint64_t end_ticks = ticks_of_hook<is_timed>();
    thread->is_judged = false;
    if (error != nullptr) raise(error);
    if (seen.is_memory_open && result == 0) ask_memory(seen, *reach, where);
    end_hook<is_timed>(ticks_of_hook<is_timed>() - end_ticks + (call_ticks - start_ticks));
    return result;
  }
};

template <bool is_timed, Name kName, auto kRead>
Hook row() noexcept {
  using It = Hooked<kName, kRead>;
  return {kName.text, reinterpret_cast<void*>(&It::template call<is_timed>), reinterpret_cast<void**>(&It::original)};
}

// CUDA 13 takes a location in place of the number of a GPU.
RuntimeCall read_prefetch_of_version(const void* address, Size bytes, Passed target, Passed more, Passed last) {
  return (g_runtime.has_locations() ? read_prefetch_to_location : read_prefetch)(address, bytes, target, more, last);
}

// Code that was compiled with --default-stream per-thread calls the names in _ptds and _ptsz.
template <bool is_timed>
const std::array kHooks = {
    row<is_timed, "cudaMemcpy", read_copy>(),
    row<is_timed, "cudaMemcpy_ptds", read_copy>(),
    row<is_timed, "cudaMemcpyAsync", kInStream<read_copy>>(),
    row<is_timed, "cudaMemcpyAsync_ptsz", kInStream<read_copy>>(),
    row<is_timed, "cudaMemcpy2D", read_rows>(),
    row<is_timed, "cudaMemcpy2D_ptds", read_rows>(),
    row<is_timed, "cudaMemcpy2DAsync", kInStream<read_rows>>(),
    row<is_timed, "cudaMemcpy2DAsync_ptsz", kInStream<read_rows>>(),
    row<is_timed, "cudaMemcpy3D", read_block>(),
    row<is_timed, "cudaMemcpy3D_ptds", read_block>(),
    row<is_timed, "cudaMemcpy3DAsync", kInStream<read_block>>(),
    row<is_timed, "cudaMemcpy3DAsync_ptsz", kInStream<read_block>>(),
    row<is_timed, "cudaMemcpyPeer", read_peer>(),
    row<is_timed, "cudaMemcpyPeerAsync", kInStream<read_peer>>(),
    row<is_timed, "cudaMemcpy3DPeer", read_peer_block>(),
    row<is_timed, "cudaMemcpy3DPeer_ptds", read_peer_block>(),
    row<is_timed, "cudaMemcpy3DPeerAsync", kInStream<read_peer_block>>(),
    row<is_timed, "cudaMemcpy3DPeerAsync_ptsz", kInStream<read_peer_block>>(),
    row<is_timed, "cudaMemcpyBatchAsync", read_batch>(),
    row<is_timed, "cudaMemcpyBatchAsync_ptsz", read_batch>(),
    row<is_timed, "cudaMemcpy3DBatchAsync", read_block_batch>(),
    row<is_timed, "cudaMemcpy3DBatchAsync_ptsz", read_block_batch>(),
    row<is_timed, "cudaMemcpyToSymbol", read_to_symbol>(),
    row<is_timed, "cudaMemcpyToSymbol_ptds", read_to_symbol>(),
    row<is_timed, "cudaMemcpyToSymbolAsync", kInStream<read_to_symbol>>(),
    row<is_timed, "cudaMemcpyToSymbolAsync_ptsz", kInStream<read_to_symbol>>(),
    row<is_timed, "cudaMemcpyFromSymbol", read_from_symbol>(),
    row<is_timed, "cudaMemcpyFromSymbol_ptds", read_from_symbol>(),
    row<is_timed, "cudaMemcpyFromSymbolAsync", kInStream<read_from_symbol>>(),
    row<is_timed, "cudaMemcpyFromSymbolAsync_ptsz", kInStream<read_from_symbol>>(),
    row<is_timed, "cudaMemcpyToArray", read_to_array>(),
    row<is_timed, "cudaMemcpyToArray_ptds", read_to_array>(),
    row<is_timed, "cudaMemcpyToArrayAsync", kInStream<read_to_array>>(),
    row<is_timed, "cudaMemcpyToArrayAsync_ptsz", kInStream<read_to_array>>(),
    row<is_timed, "cudaMemcpyFromArray", read_from_array>(),
    row<is_timed, "cudaMemcpyFromArray_ptds", read_from_array>(),
    row<is_timed, "cudaMemcpyFromArrayAsync", kInStream<read_from_array>>(),
    row<is_timed, "cudaMemcpyFromArrayAsync_ptsz", kInStream<read_from_array>>(),
    row<is_timed, "cudaMemcpy2DToArray", read_rows_to_array>(),
    row<is_timed, "cudaMemcpy2DToArray_ptds", read_rows_to_array>(),
    row<is_timed, "cudaMemcpy2DToArrayAsync", kInStream<read_rows_to_array>>(),
    row<is_timed, "cudaMemcpy2DToArrayAsync_ptsz", kInStream<read_rows_to_array>>(),
    row<is_timed, "cudaMemcpy2DFromArray", read_rows_from_array>(),
    row<is_timed, "cudaMemcpy2DFromArray_ptds", read_rows_from_array>(),
    row<is_timed, "cudaMemcpy2DFromArrayAsync", kInStream<read_rows_from_array>>(),
    row<is_timed, "cudaMemcpy2DFromArrayAsync_ptsz", kInStream<read_rows_from_array>>(),
    row<is_timed, "cudaMemPrefetchAsync", read_prefetch_of_version>(),
    row<is_timed, "cudaMemPrefetchAsync_ptsz", read_prefetch_of_version>(),
    row<is_timed, "cudaMemPrefetchAsync_v2", read_prefetch_to_location>(),
    row<is_timed, "cudaMemPrefetchAsync_v2_ptsz", read_prefetch_to_location>(),
    row<is_timed, "cudaStreamSynchronize", read_stream_wait>(),
    row<is_timed, "cudaStreamSynchronize_ptsz", read_stream_wait>(),
    row<is_timed, "cudaEventSynchronize", read_event_wait>(),
    row<is_timed, "cudaDeviceSynchronize", read_device_wait>(),
    row<is_timed, "cudaMalloc", read_allocate>(),
    row<is_timed, "cudaMallocAsync", kInStream<read_allocate>>(),
    row<is_timed, "cudaMallocAsync_ptsz", kInStream<read_allocate>>(),
    row<is_timed, "cudaMallocFromPoolAsync", kInStream<read_allocate_from_pool>>(),
    row<is_timed, "cudaMallocFromPoolAsync_ptsz", kInStream<read_allocate_from_pool>>(),
    row<is_timed, "cudaMallocPitch", read_allocate_rows>(),
    row<is_timed, "cudaMallocManaged", read_allocate_flags>(),
    row<is_timed, "cudaMallocHost", read_allocate>(),
    row<is_timed, "cudaHostAlloc", read_allocate_flags>(),
    row<is_timed, "cudaHostRegister", read_register>(),
    row<is_timed, "cudaFree", read_free>(),
    row<is_timed, "cudaFreeAsync", kInStream<read_free>>(),
    row<is_timed, "cudaFreeAsync_ptsz", kInStream<read_free>>(),
    row<is_timed, "cudaFreeHost", read_free>(),
    row<is_timed, "cudaHostUnregister", read_free>(),
};

}  // namespace

std::span<const Hook> hook_table() noexcept {
  if (is_self_time_counted()) return kHooks<true>;
  return kHooks<false>;
}

bool bind_runtime() noexcept {
  if (g_runtime.is_bound()) return true;
  const std::span<const Hook> hooks = hook_table();
  const auto hooked =
      std::find_if(hooks.begin(), hooks.end(), [](const Hook& one) { return *one.original != nullptr; });
  return hooked == hooks.end() || g_runtime.bind(*hooked->original);
}

}  // namespace turnpike::guard
