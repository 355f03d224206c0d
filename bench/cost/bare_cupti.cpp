// The floor under the recorder's cost: CUPTI with what the recorder asks it for, and nothing done with what it says.
// The callbacks return at once, and the activity buffers are used again unread.
//
//   CUDA_INJECTION64_PATH=libbare_cupti.so BARE_CUPTI="full|transfers [-runtime] [-driver] [-activities] [-pinned]"
//   PROGRAM
//
// Without the callbacks of an API, the activities or the page-locked memory for them, to see what each costs.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cuda/api_calls.h"
#include "cuda/cupti.h"
#include "record/collect/activity_pool.h"
#include "record/observe/observed.h"

namespace {

using turnpike::cuda::CallbackDomain;
using turnpike::cuda::Cupti;
using turnpike::record::Detail;

// As many and as large as the recorder's; a buffer that finds all places taken is freed.
std::array<std::atomic<std::uint8_t*>, turnpike::record::kActivityBufferCount> g_free{};

void give_buffer(std::uint8_t** buffer, std::size_t* size_bytes, std::size_t* max_records) {
  *size_bytes = turnpike::record::kActivityBufferBytes;
  *max_records = 0;
  for (auto& place : g_free) {
    if (place.load(std::memory_order_relaxed) == nullptr) continue;
    if ((*buffer = place.exchange(nullptr)) != nullptr) return;
  }
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size_bytes));
}

void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
  for (auto& place : g_free) {
    std::uint8_t* none = nullptr;
    if (place.compare_exchange_strong(none, buffer)) return;
  }
  std::free(buffer);
}

void enable_callbacks(const Cupti& cupti, void* subscriber, CallbackDomain domain, Detail detail) {
  for (std::uint32_t id = 1; id < 1024; ++id) {
    const char* name = nullptr;
    if (cupti.get_callback_name(domain, id, &name) != turnpike::cuda::kCuptiSuccess || name == nullptr) continue;
    if (!turnpike::record::is_observed(turnpike::cuda::recorded_kind(domain, name), detail)) continue;
    cupti.enable_callback(1, subscriber, domain, id);
  }
}

bool start(Detail detail, std::string_view without, std::string& message) {
  const auto has = [&](std::string_view part) { return without.find(part) == without.npos; };
  static Cupti cupti;
  void* subscriber = nullptr;
  if (!turnpike::cuda::load_cupti(std::getenv("TURNPIKE_CUPTI"), cupti, message)) return false;
  message = "CUPTI refused";
  const auto ignore = [](void*, CallbackDomain, std::uint32_t, const void*) {};
  if (cupti.subscribe(&subscriber, ignore, nullptr) != turnpike::cuda::kCuptiSuccess) return false;
  if (has("-runtime")) enable_callbacks(cupti, subscriber, CallbackDomain::kRuntimeApi, detail);
  if (has("-driver")) enable_callbacks(cupti, subscriber, CallbackDomain::kDriverApi, detail);
  if (!has("-activities")) return true;
  std::uint8_t is_on = 1;
  std::size_t size = sizeof(is_on);
  if (has("-pinned")) {
    cupti.activity_set_attribute(turnpike::cuda::ActivityAttribute::kPinnedHostMemory, &size, &is_on);
  }
  if (cupti.activity_register_callbacks(give_buffer, take_buffer) != turnpike::cuda::kCuptiSuccess) return false;
  for (const auto kind : turnpike::record::observed_activities(detail)) {
    if (cupti.activity_enable(kind) != turnpike::cuda::kCuptiSuccess) return false;
  }
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  static std::atomic<bool> is_called{false};
  if (is_called.exchange(true)) return 1;
  const char* variable = std::getenv("BARE_CUPTI");
  const std::string_view text(variable == nullptr ? "" : variable);
  const auto detail = turnpike::record::detail_of(text.substr(0, text.find(' ')));
  std::string message = "BARE_CUPTI begins with neither full nor transfers";
  if (!detail || !start(*detail, text, message)) {
    // A floor that is not there would make the recorder's cost look worse than it is.
    std::fprintf(stderr, "bare_cupti: %s\n", message.c_str());
    std::abort();
  }
  return 1;
}
