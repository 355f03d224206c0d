// Open addressing with linear steps: a look-up of a known name is a hash and one comparison.
#include "ingest/kineto/name_table.h"

#include <functional>
#include <utility>

namespace turnpike::ingest {
namespace {

constexpr std::size_t kFirstSlots = 1024;

}  // namespace

NameTable::NameTable() : slots_(kFirstSlots) {}

std::uint32_t NameTable::number_of(std::string_view text) {
  const std::size_t hash = std::hash<std::string_view>{}(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].number != 0; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && texts_[slots_[at].number - 1] == text) return slots_[at].number;
  }
  texts_.emplace_back(text);
  slots_[at] = {hash, count()};
  if (texts_.size() * 2 > slots_.size()) grow();
  return count();
}

void NameTable::grow() {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.number == 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].number != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace turnpike::ingest
