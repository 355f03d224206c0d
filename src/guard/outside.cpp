#include "guard/outside.h"

#include <atomic>
#include <string_view>

#include "base/hot.h"
#include "base/loaded_modules.h"
#include "guard/copy.h"
#include "guard/driver_memory.h"
#include "guard/judge.h"
#include "guard/repeats.h"
#include "guard/threads.h"
#include "record/session.h"

namespace turnpike::guard {
namespace {

using IsRecording = decltype(turnpike_is_recording);
std::atomic<IsRecording*> g_is_recording{nullptr};

// Not so copies whose call does not tell their addresses, as batched ones, and allocations that a stream orders.
bool is_of_a_kind(const TurnpikeCall& call) noexcept {
  if (call.what == TURNPIKE_CALL_COPY) return call.dst != 0 && call.src != 0;
  return call.what != TURNPIKE_CALL_ALLOCATION || std::string_view(call.name).find("Async") == std::string_view::npos;
}

// Whoever called has a runtime of its own, or none.
Memory memory_at(std::uint64_t address) noexcept {
  Memory memory;
  ask_driver(reinterpret_cast<const void*>(address), Question::kDevice, memory);
  return memory;
}

Crossing crossing_of(const TurnpikeCall& call) noexcept {
  if (call.what == TURNPIKE_CALL_COPY) {
    const Memory to = call.host_side == TURNPIKE_HOST_IS_SOURCE ? kSomeGpu : memory_at(call.dst);
    const Memory from = call.host_side == TURNPIKE_HOST_IS_DESTINATION ? kSomeGpu : memory_at(call.src);
    const Waits waits = call.is_blocking != 0 ? Waits::kForItsEnd : Waits::kNever;
    return make_copy(call.name, to, from, call.bytes, call.stream, waits);
  }
  const Kind kind = call.what == TURNPIKE_CALL_WAIT ? Kind::kSync : Kind::kAlloc;
  return {.call = call.name, .kind = kind, .kinds = kind, .bytes = call.bytes, .stream = call.stream};
}

// Inside of CUPTI's callback.
void on_call(const TurnpikeCall* call) noexcept {
  if (!is_anything_guarded() || this_thread().is_judged || !is_of_a_kind(*call)) return;
  const Reach* reach = guarding_reach(this_thread());
  if (reach == nullptr || !is_concerned(*reach, Kinds::all())) return;
  Crossing crossing = crossing_of(*call);
  crossing.is_captured = call->is_captured != 0;
  const bool is_of_rows = std::string_view(call->name).find("2D") != std::string_view::npos;
  if (call->what == TURNPIKE_CALL_COPY && !is_of_rows) {
    note_contents(crossing, reinterpret_cast<const void*>(call->dst), reinterpret_cast<const void*>(call->src));
  }
  crossing.is_over = true;
  judge(crossing, *reach);
}

}  // namespace

void listen_to_recorder() noexcept {
  if (g_is_recording.load(std::memory_order_relaxed) != nullptr) return;
  constexpr std::string_view kLibrary = "libturnpike_record.so";  // which is never unloaded
  const auto listen = reinterpret_cast<decltype(turnpike_listen)*>(symbol_of_module(kLibrary, "turnpike_listen"));
  const auto is_recording = reinterpret_cast<IsRecording*>(symbol_of_module(kLibrary, "turnpike_is_recording"));
  if (listen == nullptr || is_recording == nullptr) return;  // not there, or of another version
  listen(&on_call);
  g_is_recording.store(is_recording, std::memory_order_relaxed);
}

bool is_outside_seen() noexcept {
  const auto is_recording = g_is_recording.load(std::memory_order_relaxed);
  return is_recording != nullptr && is_recording() != 0;
}

}  // namespace turnpike::guard
