// The enumerations of an export of Nsight Systems. The file says what its numbers mean in tables of its own; where it
// does not, the numbers of the documentation hold.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ingest/nsys/export.h"

namespace turnpike::ingest {

template <typename Value>
struct NsysEnumEntry {
  std::string_view name;   // column `name` of the table
  std::string_view label;  // column `label`; versions differ in either, never in both
  std::int64_t number;     // as documented
  Value value;
};

template <typename Value>
class NsysEnum {
 public:
  NsysEnum(NsysExport& from, const std::string& table, std::initializer_list<NsysEnumEntry<Value>> entries,
           Value unknown)
      : unknown_(unknown) {
    const ScanEnd end = from.scan(table, {"id", "name", "label"}, 1, [&](SqliteRow& row) {
      const std::int64_t number = row.needed_integer(0);
      const auto name = row.text(1);
      const auto label = row.text(2);
      if (!row.is_readable()) return;
      for (const auto& entry : entries) {
        if (name == entry.name || label == entry.label) values_.try_emplace(number, entry.value);
      }
    });
    if (end != ScanEnd::kAbsent) return;
    for (const auto& entry : entries) values_.try_emplace(entry.number, entry.value);
  }

  Value of(std::int64_t number) const {
    const auto found = values_.find(number);
    return found == values_.end() ? unknown_ : found->second;
  }

 private:
  Value unknown_;
  std::unordered_map<std::int64_t, Value> values_;
};

}  // namespace turnpike::ingest
