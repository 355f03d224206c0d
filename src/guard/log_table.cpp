#include "guard/log_table.h"

#include <memory>

#include "guard/tables_mutex.h"

namespace turnpike::guard {

std::string LogRow::json() const {
  return "{\"count\":" + std::to_string(count.load(std::memory_order_relaxed)) +
         ",\"bytes\":" + std::to_string(bytes.load(std::memory_order_relaxed)) + ",\"first\":" + json_of(first) + '}';
}

LogTable::Added LogTable::add(Event event) {
  auto& entry = rows_.at(*event.place)[static_cast<std::size_t>(event.kind)];
  const std::uint64_t bytes = event.crossing.bytes;
  const std::lock_guard lock(tables_mutex());
  LogRow* row = entry.load(std::memory_order_relaxed);
  const bool is_new = row == nullptr;
  if (is_new) {
    auto made = std::make_unique<LogRow>();
    made->first = std::move(event);
    all_.push_back(made.get());
    row = made.release();
    count_.store(all_.size(), std::memory_order_relaxed);
    entry.store(row, std::memory_order_release);
  }
  row->add(bytes);
  return {*row, is_new};
}

std::vector<const LogRow*> LogTable::rows() const {
  const std::lock_guard lock(tables_mutex());
  return {all_.begin(), all_.end()};
}

LogTable& log_of_blocks() {
  static auto& table = *new LogTable;  // threads may outlive main
  return table;
}

}  // namespace turnpike::guard
