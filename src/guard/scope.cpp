#include "guard/scope.h"

namespace turnpike::guard {

bool Scope::is_within(const Rule& rule, Kind kind, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  Used& used = used_[static_cast<std::size_t>(kind)];
  ++used.count;
  used.bytes += bytes;
  return used.count <= rule.most_count && used.bytes <= rule.most_bytes;
}

bool Scope::is_warm(const Place& place, Kind kind) {
  if (rules_.skip == 0) return true;
  const std::lock_guard lock(mutex_);
  return ++seen_[{&place, kind}] > rules_.skip;
}

bool Scope::log_again(const Place& place, Kind kind, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto row = logged_.find({&place, kind});
  if (row == logged_.end()) return false;
  ++row->second.count;
  row->second.bytes += bytes;
  return true;
}

bool Scope::log(const Event& event) {
  const std::lock_guard lock(mutex_);
  const auto key = std::pair(event.place, event.kind);
  if (logged_.size() >= kMaxRows && !logged_.contains(key)) return false;
  const auto [row, is_new] = logged_.try_emplace(key, LogRow{.first = event});
  ++row->second.count;
  row->second.bytes += event.crossing.bytes;
  return is_new;
}

void Scope::defer(const Event& event) {
  const std::lock_guard lock(mutex_);
  if (deferred_.size() < kMaxDeferred) deferred_.push_back(event);
}

bool Scope::is_uneventful() const {
  const std::lock_guard lock(mutex_);
  return logged_.empty() && deferred_.empty();
}

bool Scope::has_deferred() const {
  const std::lock_guard lock(mutex_);
  return !deferred_.empty();
}

bool Scope::take_deferred(Event& event) {
  const std::lock_guard lock(mutex_);
  if (deferred_.empty()) return false;
  event = std::move(deferred_.front());
  deferred_.erase(deferred_.begin());
  return true;
}

std::vector<LogRow> Scope::logged() const {
  const std::lock_guard lock(mutex_);
  std::vector<LogRow> rows;
  for (const auto& [key, row] : logged_) rows.push_back(row);
  return rows;
}

std::string Scope::json() const {
  if (is_uneventful()) return {};
  std::string logged;
  for (const LogRow& row : this->logged()) {
    logged += std::string(logged.empty() ? "" : ",") + "{\"count\":" + std::to_string(row.count) +
              ",\"bytes\":" + std::to_string(row.bytes) + ",\"first\":" + json_of(row.first) + '}';
  }
  std::string deferred;
  const std::lock_guard lock(mutex_);
  for (const Event& event : deferred_) deferred += (deferred.empty() ? "" : ",") + json_of(event);
  return "{\"logged\":[" + logged + "],\"deferred\":[" + deferred + "]}";
}

}  // namespace turnpike::guard
