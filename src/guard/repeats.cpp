#include "guard/repeats.h"

#include <array>
#include <atomic>
#include <string_view>

#include "guard/driver_memory.h"
#include "record/observe/content_hash.h"
#include "record/stacks/mix.h"
#include "record/stacks/own_memory.h"

namespace turnpike::guard {
namespace {

constexpr std::uint64_t kMinBytes = 64;
constexpr std::size_t kRemembered = 8192;
std::array<std::atomic<std::uint64_t>, kRemembered> g_remembered{};

}  // namespace

void note_contents(Crossing& crossing, const void* to, const void* from) noexcept {
  const bool is_upload = crossing.kind == Kind::kH2d && crossing.bytes >= kMinBytes;
  if (!is_upload || crossing.is_captured || crossing.host_memory == HostMemory::kManaged) return;
  crossing.kinds.add(Kind::kRepeat);
  crossing.source = from;
  crossing.target = to;
}

bool went_up_before(const Crossing& crossing, const Place& place) noexcept {
  if (!record::can_read_own_memory()) return false;
  const auto content = record::hash_sample(reinterpret_cast<std::uintptr_t>(crossing.source), crossing.bytes);
  if (!content) return false;
  std::uint64_t key = record::mix(content->hash, crossing.bytes);
  key = record::mix(key, std::hash<std::string_view>()(place.file));
  key = record::mix(key, place.line);
  Memory target;
  ask_driver(crossing.target, Question::kDevice, target);
  key = record::mix(key, static_cast<std::uint64_t>(target.device));
  return g_remembered[key % kRemembered].exchange(key, std::memory_order_relaxed) == key;
}

}  // namespace turnpike::guard
