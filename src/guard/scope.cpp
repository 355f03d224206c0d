#include "guard/scope.h"

#include "base/hot.h"
#include "guard/tables_mutex.h"

namespace turnpike::guard {
namespace {

TURNPIKE_HOT_DATA std::atomic<std::uint32_t> g_deferred_count{0};  // of all blocks

}  // namespace

TURNPIKE_HOT bool is_anything_deferred() noexcept {
  return g_deferred_count.load(std::memory_order_acquire) != 0;
}

Scope::Scope(std::shared_ptr<PreparedRules> prepared, LogTable& log)
    : prepared_(std::move(prepared)), log_(log), seen_(rules().skip == 0 ? nullptr : std::make_unique<Seen>()) {}

Scope::~Scope() {
  g_deferred_count.fetch_sub(static_cast<std::uint32_t>(deferred_.size()), std::memory_order_relaxed);
}

TURNPIKE_HOT bool Scope::is_within(const Rule& rule, Kind kind, std::uint64_t bytes) noexcept {
  Used& used = used_[static_cast<std::size_t>(kind)];
  const std::uint64_t count = used.count.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint64_t all_bytes = used.bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  return count <= rule.most_count && all_bytes <= rule.most_bytes;
}

TURNPIKE_HOT bool Scope::is_far_from(const Rule& rule, Kind kind) const noexcept {
  constexpr std::uint64_t kMostAtOnce = 1 << 16;  // calls of all threads
  const std::uint64_t count = used_[static_cast<std::size_t>(kind)].count.load(std::memory_order_relaxed);
  return rule.most_bytes == UINT64_MAX && count < rule.most_count && rule.most_count - count > kMostAtOnce;
}

bool Scope::is_warm(const Place& place, Kind kind) {
  if (seen_ == nullptr) return true;
  auto& seen = seen_->at(place)[static_cast<std::size_t>(kind)];
  return seen.fetch_add(1, std::memory_order_relaxed) >= rules().skip;
}

bool Scope::log(Event event) {
  const LogTable::Added added = log_.add(std::move(event));
  if (!added.is_new) return false;
  const std::lock_guard lock(tables_mutex());
  new_rows_.push_back(&added.row);
  has_new_.store(true, std::memory_order_release);
  return true;
}

void Scope::defer(const Event& event) {
  const std::lock_guard lock(tables_mutex());
  if (deferred_.size() < kMaxDeferred) {
    deferred_.push_back(event);
    g_deferred_count.fetch_add(1, std::memory_order_release);
  }
  deferred_count_.store(deferred_.size(), std::memory_order_release);
}

bool Scope::take_deferred(Event& event) {
  const std::lock_guard lock(tables_mutex());
  if (deferred_.empty()) return false;
  event = std::move(deferred_.front());
  deferred_.erase(deferred_.begin());
  g_deferred_count.fetch_sub(1, std::memory_order_release);
  deferred_count_.store(deferred_.size(), std::memory_order_release);
  return true;
}

std::string Scope::json() const {
  if (is_uneventful()) return {};
  const std::lock_guard lock(tables_mutex());
  std::string logged;
  for (const LogRow* row : new_rows_) logged += (logged.empty() ? "" : ",") + row->json();
  std::string deferred;
  for (const Event& event : deferred_) deferred += (deferred.empty() ? "" : ",") + json_of(event);
  return "{\"logged\":[" + logged + "],\"deferred\":[" + deferred + "]}";
}

}  // namespace turnpike::guard
