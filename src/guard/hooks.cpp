#include "guard/hooks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "base/hot.h"
#include "base/self_time.h"
#include "base/slots.h"
#include "guard/cuda_runtime.h"
#include "guard/cxx_runtime.h"
#include "guard/driver_memory.h"
#include "guard/judge.h"
#include "guard/outside.h"
#include "guard/repeats.h"
#include "guard/this_thread.h"
#include "guard/threads.h"

namespace turnpike::guard {
namespace {

TURNPIKE_HOT_DATA constinit CudaRuntime g_runtime;

void take_new_slots() noexcept;

// Throws what the judge says. Its frame and those of the hooks hold nothing that needs a cleanup.
TURNPIKE_HOT void look_at(const Crossing& crossing, const Reach& reach, Where& where) {
  if (const char* text = judge(crossing, reach, &where)) CxxRuntime::find()->raise(text);
}

// cudaMemcpyKind. What says nothing of a side, as cudaMemcpyDefault, is kUnsaid here.
enum Said : int { kToGpu = 1, kFromGpu = 2, kUnsaid = 4 };

// What a copy may be, of which the call says this.
inline Kinds possible_kinds(int said, Waits waits) noexcept {
  Kinds kinds = Kind::kD2d;
  kinds.add(Kind::kP2p);
  if (said != kFromGpu) kinds.add(Kind::kH2d);
  if (said != kFromGpu) kinds.add(Kind::kRepeat);
  if (said != kToGpu) kinds.add(Kind::kD2h);
  if (said != kToGpu && said != kFromGpu) kinds.add(Kind::kH2h);
  if (waits == Waits::kForItsEnd) kinds.add(Kind::kSync);
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

// A side that the call names as the GPU's is that, or the call fails. Of the others the memory decides, unless the call
// names both and no rule asks, or one that forbids nothing: then it is asked behind the call (docs/architecture.md).
// `stream`: nullptr of a copy that waits.
TURNPIKE_HOT Crossing copy(const Reach& reach, const char* call, void* to, const void* from, std::size_t bytes,
                           int said, const void* stream, Waits waits) {
  Kinds of_memory = Kind::kPageable;
  of_memory.add(Kind::kRepeat);
  const bool is_said = said == kToGpu || said == kFromGpu;
  Crossing crossing;
  const bool is_asked = reach.asked.meets(of_memory);
  const bool can_wait = is_asked && is_said && !reach.asked.has(Kind::kRepeat) && can_ask_later(reach);
  if (is_said && (!is_asked || can_wait)) {
    const bool is_upload = said == kToGpu;
    crossing =
        make_copy(call, is_upload ? kSomeGpu : kSomeHost, is_upload ? kSomeHost : kSomeGpu, bytes, stream, waits);
    crossing.host_address = is_upload ? from : to;
    crossing.is_memory_open = can_wait;
  } else {
    const Question question = is_said ? Question::kKind : Question::kDevice;
    const Memory target = said == kToGpu ? kSomeGpu : memory_at(to, question);
    const Memory source = said == kFromGpu ? kSomeGpu : memory_at(from, question);
    crossing = make_copy(call, target, source, bytes, stream, waits);
  }
  crossing.complete = complete_copy;
  return crossing;
}

// Of a copy that was made.
TURNPIKE_HOT void ask_memory(Crossing& crossing, const Reach& reach, const Where& where) noexcept {
  crossing.host_memory = memory_at(crossing.host_address, Question::kKind).host;
  crossing.host_address = nullptr;
  if (crossing.host_memory == HostMemory::kPageable) note_pageable(crossing, reach, where);
}

// A copy whose bytes stand one behind the other.
TURNPIKE_HOT Crossing flat_copy(const Reach& reach, const char* call, void* to, const void* from, std::size_t bytes,
                                int said, const void* stream, Waits waits) {
  Crossing crossing = copy(reach, call, to, from, bytes, said, stream, waits);
  if (!reach.asked.has(Kind::kRepeat)) return crossing;
  complete_copy(crossing);
  crossing.complete = nullptr;
  note_contents(crossing, to, from);
  return crossing;
}

Crossing wait(const char* call, const void* stream = nullptr) {
  return {.call = call, .kind = Kind::kSync, .kinds = Kind::kSync, .stream = stream};
}

Crossing allocation(const char* call, std::size_t bytes) {
  return {.call = call, .kind = Kind::kAlloc, .kinds = Kind::kAlloc, .bytes = bytes};
}

// The time of a hook without the real call; it is not counted where the judge throws. No object with a destructor: see
// look_at().
template <bool is_timed>
std::uint64_t ticks_of_hook() noexcept {
  return is_timed ? ticks_now() : 0;
}
template <bool is_timed>
void end_hook(std::uint64_t ticks) noexcept {
  if (is_timed) add_self_time(ticks);
}

// A hook: FUNCTION's name, parameters as they are declared and passed on, what kinds a call of it may be, and the
// crossing that it is for the blocks of `reach`.
// NOLINTBEGIN(bugprone-macro-parentheses): what would stand in them are lists that have some
#define TURNPIKE_HOOK(function, parameters, arguments, possible, crossing)                  \
  int(*g_##function) parameters = nullptr;                                                  \
  template <bool is_timed>                                                                  \
  TURNPIKE_HOT int hook_##function parameters {                                             \
    const std::uint64_t start_ticks = ticks_of_hook<is_timed>();                            \
    const Reach* reach = nullptr;                                                           \
    ThisThread* thread = nullptr;                                                           \
    if (is_anything_guarded()) {                                                            \
      thread = &this_thread();                                                              \
      reach = guarding_reach(*thread);                                                      \
    }                                                                                       \
    if (reach == nullptr) {                                                                 \
      end_hook<is_timed>(ticks_of_hook<is_timed>() - start_ticks);                          \
      return g_##function arguments;                                                        \
    }                                                                                       \
    take_new_slots();                                                                       \
    Crossing seen{};                                                                        \
    Where where;                                                                            \
    if (is_concerned(*reach, possible)) {                                                   \
      seen = crossing;                                                                      \
      look_at(seen, *reach, where);                                                         \
    }                                                                                       \
    thread->is_judged = true;                                                               \
    const std::uint64_t call_ticks = ticks_of_hook<is_timed>();                             \
    const int result = g_##function arguments;                                              \
    const std::uint64_t end_ticks = ticks_of_hook<is_timed>();                              \
    thread->is_judged = false;                                                              \
    if (seen.is_memory_open && result == 0) ask_memory(seen, *reach, where);                \
    end_hook<is_timed>(ticks_of_hook<is_timed>() - end_ticks + (call_ticks - start_ticks)); \
    return result;                                                                          \
  }
// NOLINTEND(bugprone-macro-parentheses)

TURNPIKE_HOOK(cudaMemcpy, (void* to, const void* from, std::size_t bytes, int kind), (to, from, bytes, kind),
              possible_kinds(kind, Waits::kForItsEnd),
              flat_copy(*reach, "cudaMemcpy", to, from, bytes, kind, nullptr, Waits::kForItsEnd))
TURNPIKE_HOOK(cudaMemcpyAsync, (void* to, const void* from, std::size_t bytes, int kind, void* stream),
              (to, from, bytes, kind, stream), possible_kinds(kind, Waits::kNever),
              flat_copy(*reach, "cudaMemcpyAsync", to, from, bytes, kind, stream, Waits::kNever))
TURNPIKE_HOOK(cudaMemcpy2D,
              (void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
               std::size_t height, int kind),
              (to, to_pitch, from, from_pitch, width, height, kind), possible_kinds(kind, Waits::kForItsEnd),
              copy(*reach, "cudaMemcpy2D", to, from, width* height, kind, nullptr, Waits::kForItsEnd))
TURNPIKE_HOOK(cudaMemcpy2DAsync,
              (void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
               std::size_t height, int kind, void* stream),
              (to, to_pitch, from, from_pitch, width, height, kind, stream), possible_kinds(kind, Waits::kNever),
              copy(*reach, "cudaMemcpy2DAsync", to, from, width* height, kind, stream, Waits::kNever))
TURNPIKE_HOOK(cudaMemcpyPeer, (void* to, int to_device, const void* from, int from_device, std::size_t bytes),
              (to, to_device, from, from_device, bytes), possible_kinds(kUnsaid, Waits::kNever),
              copy(*reach, "cudaMemcpyPeer", to, from, bytes, kUnsaid, nullptr, Waits::kNever))
TURNPIKE_HOOK(cudaMemcpyPeerAsync,
              (void* to, int to_device, const void* from, int from_device, std::size_t bytes, void* stream),
              (to, to_device, from, from_device, bytes, stream), possible_kinds(kUnsaid, Waits::kNever),
              copy(*reach, "cudaMemcpyPeerAsync", to, from, bytes, kUnsaid, stream, Waits::kNever))
TURNPIKE_HOOK(cudaStreamSynchronize, (void* stream), (stream), Kind::kSync, wait("cudaStreamSynchronize", stream))
TURNPIKE_HOOK(cudaEventSynchronize, (void* event), (event), Kind::kSync, wait("cudaEventSynchronize"))
TURNPIKE_HOOK(cudaDeviceSynchronize, (), (), Kind::kSync, wait("cudaDeviceSynchronize"))
TURNPIKE_HOOK(cudaMalloc, (void** pointer, std::size_t bytes), (pointer, bytes), Kind::kAlloc,
              allocation("cudaMalloc", bytes))
TURNPIKE_HOOK(cudaFree, (void* pointer), (pointer), Kind::kAlloc, allocation("cudaFree", 0))
TURNPIKE_HOOK(cudaHostAlloc, (void** pointer, std::size_t bytes, unsigned flags), (pointer, bytes, flags), Kind::kAlloc,
              allocation("cudaHostAlloc", bytes))
TURNPIKE_HOOK(cudaHostRegister, (void* pointer, std::size_t bytes, unsigned flags), (pointer, bytes, flags),
              Kind::kAlloc, allocation("cudaHostRegister", bytes))
#undef TURNPIKE_HOOK

template <typename Function>
Hook hook(const char* name, Function* replacement, Function** original) {
  return {name, reinterpret_cast<void*>(replacement), reinterpret_cast<void**>(original)};
}

template <bool is_timed>
const std::array kHooks = {
#define TURNPIKE_HOOK(function) hook(#function, &hook_##function<is_timed>, &g_##function)
    TURNPIKE_HOOK(cudaMemcpy),
    TURNPIKE_HOOK(cudaMemcpyAsync),
    TURNPIKE_HOOK(cudaMemcpy2D),
    TURNPIKE_HOOK(cudaMemcpy2DAsync),
    TURNPIKE_HOOK(cudaMemcpyPeer),
    TURNPIKE_HOOK(cudaMemcpyPeerAsync),
    TURNPIKE_HOOK(cudaStreamSynchronize),
    TURNPIKE_HOOK(cudaEventSynchronize),
    TURNPIKE_HOOK(cudaDeviceSynchronize),
    TURNPIKE_HOOK(cudaMalloc),
    TURNPIKE_HOOK(cudaFree),
    TURNPIKE_HOOK(cudaHostAlloc),
    TURNPIKE_HOOK(cudaHostRegister),
#undef TURNPIKE_HOOK
};

const auto& hooks() noexcept {
  return is_self_time_counted() ? kHooks<true> : kHooks<false>;
}

bool is_name_of_torch(std::string_view name) {
  return name.starts_with("libtorch") || name.starts_with("libc10");
}

// PyTorch's own libraries and extensions that link against them: in these a C++ exception is a Python one. Not a
// program of its own.
bool belongs_to_torch(const SlotOwner& owner) {
  if (owner.path().empty()) return false;
  return is_name_of_torch(owner.file_name()) || owner.links_against(is_name_of_torch);
}

std::mutex g_slots_mutex;
TURNPIKE_HOT_DATA std::atomic<Slots*> g_slots{nullptr};  // what slots() gives

Slots& slots() {
  static auto& all = *new Slots(belongs_to_torch, hooks());  // what they hold is used until the process has ended
  g_slots.store(&all, std::memory_order_release);
  return all;
}

// What the hooks themselves ask comes from the libcudart that a hooked function is of. False: it lacks that.
bool bind_runtime() noexcept {
  if (g_runtime.is_bound()) return true;
  const auto hooked =
      std::find_if(hooks().begin(), hooks().end(), [](const Hook& one) { return *one.original != nullptr; });
  return hooked == hooks().end() || g_runtime.bind(*hooked->original);
}

// With the lock held. All that a hook uses of other libraries is found here.
std::size_t take_if_stale() noexcept {
  try {
    if (!slots().is_stale()) return slots().count();
    const std::size_t count = slots().take(Slots::Loader::kMayEnter);
    slots().follow();
    if (!bind_runtime()) {
      // A libcudart of another age: what cannot be judged is not guarded.
      slots().restore();
      return 0;
    }
    CxxRuntime::find();
    listen_to_recorder();
    return count;
  } catch (...) {
    return 0;
  }
}

// Extensions may have come since. Does not wait, neither for the lock, whose owner may wait for the loader, nor for the
// loader itself: whoever is loading a library may wait for the call that this hook stands in.
void take_if_free() noexcept {
  const std::unique_lock lock(g_slots_mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;
  try {
    slots().take(Slots::Loader::kAvoid);
    listen_to_recorder();
  } catch (...) {
    // Without memory they are taken at a later call.
  }
}

TURNPIKE_HOT void take_new_slots() noexcept {
  const Slots* taken = g_slots.load(std::memory_order_acquire);
  if (taken == nullptr || taken->is_stale()) take_if_free();
}

}  // namespace

std::size_t take_slots() noexcept {
  const std::lock_guard lock(g_slots_mutex);
  return take_if_stale();
}

bool are_slots_fresh() noexcept {
  const std::unique_lock lock(g_slots_mutex, std::try_to_lock);
  return lock.owns_lock() && slots().count() != 0 && !slots().is_stale();
}

void restore_slots() noexcept {
  const std::lock_guard lock(g_slots_mutex);
  slots().restore();
}

}  // namespace turnpike::guard
