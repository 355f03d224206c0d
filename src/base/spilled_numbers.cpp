#include "base/spilled_numbers.h"

#include <span>

namespace turnpike {

void SpilledNumbers::change(Slot& slot, std::size_t page) {
  if (slot.is_changed) {
    const auto bytes = std::as_bytes(std::span(slot.numbers));
    if (places_.size() <= slot.page) places_.resize(slot.page + 1);
    std::optional<std::uint64_t>& place = places_[slot.page];
    if (place) {
      bytes_.replace(*place, bytes);
    } else {
      place = bytes_.append(bytes);
    }
  }
  slot.page = page;
  slot.is_changed = false;
  if (page < places_.size() && places_[page]) {
    bytes_.read(*places_[page], std::as_writable_bytes(std::span(slot.numbers)));
  } else {
    slot.numbers.assign(kPage, kNone);
  }
}

}  // namespace turnpike
