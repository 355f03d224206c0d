// How records begin.
#pragma once

#include <cstdint>

#include "trace/format.h"

namespace turnpike::trace {

// A record with its header filled in and everything else zero.
template <typename Record>
Record make_record(RecordKind kind) noexcept {
  static_assert(sizeof(Record) % 8 == 0);
  Record record{};
  record.header = {kind, static_cast<std::uint16_t>(sizeof(Record))};
  return record;
}

}  // namespace turnpike::trace
