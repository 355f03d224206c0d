// The format is that of the Itanium C++ ABI's exception tables (LSDA), as GCC and clang write it.
#include "guard/landing.h"

#include <cstring>

namespace turnpike::guard {
namespace {

// DW_EH_PE: how a value is written.
constexpr std::uint8_t kOmitted = 0xFF;
constexpr std::uint8_t kIndirect = 0x80;
constexpr std::uint8_t kRelativeToItself = 0x10;

class Bytes {
 public:
  explicit Bytes(const unsigned char* at) : at_(at) {}
  const unsigned char* at() const { return at_; }
  std::uint8_t byte() { return *at_++; }

  std::uint64_t unsigned_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t one = byte();
      value |= static_cast<std::uint64_t>(one & 0x7F) << shift;
      if ((one & 0x80) == 0) return value;
    }
  }

  std::int64_t signed_leb() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t one = 0;
    do {
      one = byte();
      value |= static_cast<std::uint64_t>(one & 0x7F) << shift;
      shift += 7;
    } while ((one & 0x80) != 0);
    if (shift < 64 && (one & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }

  // A pointer or a distance; false for a form that no compiler writes here.
  bool encoded(std::uint8_t encoding, std::uintptr_t& value) {
    const auto self = reinterpret_cast<std::uintptr_t>(at_);
    switch (encoding & 0x0F) {
      case 0x00:  // absptr
      case 0x04:  // udata8
      case 0x0C:  // sdata8
        value = fixed<std::uintptr_t>();
        break;
      case 0x01:
        value = static_cast<std::uintptr_t>(unsigned_leb());
        break;
      case 0x02:
        value = fixed<std::uint16_t>();
        break;
      case 0x03:
        value = fixed<std::uint32_t>();
        break;
      case 0x0A:
        value = static_cast<std::uintptr_t>(static_cast<std::intptr_t>(fixed<std::int16_t>()));
        break;
      case 0x0B:
        value = static_cast<std::uintptr_t>(static_cast<std::intptr_t>(fixed<std::int32_t>()));
        break;
      default:
        return false;
    }
    if (value == 0) return true;
    if ((encoding & 0x70) == kRelativeToItself) value += self;
    if ((encoding & kIndirect) != 0) std::memcpy(&value, reinterpret_cast<const void*>(value), sizeof value);
    return true;
  }

 private:
  template <typename T>
  T fixed() {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  const unsigned char* at_;
};

std::size_t size_of(std::uint8_t encoding) {
  switch (encoding & 0x07) {
    case 0x02:
      return 2;
    case 0x03:
      return 4;
    default:
      return 8;
  }
}

// The handler's type takes a std::runtime_error. A type_info is a vtable and the mangled name.
bool takes_runtime_error(std::uintptr_t type) {
  if (type == 0) return true;  // catch (...)
  const char* name;
  std::memcpy(&name, reinterpret_cast<const void*>(type + sizeof(void*)), sizeof name);
  if (*name == '*') ++name;  // names of types with internal linkage
  return std::strcmp(name, "St13runtime_error") == 0 || std::strcmp(name, "St9exception") == 0;
}

// Follows the handlers of one call site, innermost first.
Landing follow(const unsigned char* action, const unsigned char* types, std::uint8_t type_encoding) {
  for (;;) {
    Bytes bytes(action);
    const std::int64_t filter = bytes.signed_leb();
    const unsigned char* next_at = bytes.at();
    const std::int64_t next = bytes.signed_leb();
    if (filter < 0) return Landing::kTerminates;  // throw(...): what it does not list may not leave
    if (filter > 0) {
      if (types == nullptr) return Landing::kPasses;
      std::uintptr_t type = 0;
      Bytes entry(types - static_cast<std::size_t>(filter) * size_of(type_encoding));
      if (!entry.encoded(type_encoding, type)) return Landing::kPasses;
      if (takes_runtime_error(type)) return Landing::kCatches;
    }
    if (next == 0) return Landing::kPasses;
    action = next_at + next;
  }
}

}  // namespace

Landing landing_at(const unsigned char* table, std::uintptr_t function, std::uintptr_t address) noexcept {
  Bytes bytes(table);
  std::uintptr_t unused = 0;
  if (const std::uint8_t start_encoding = bytes.byte();
      start_encoding != kOmitted && !bytes.encoded(start_encoding, unused)) {
    return Landing::kPasses;
  }
  const std::uint8_t type_encoding = bytes.byte();
  const unsigned char* types = nullptr;
  if (type_encoding != kOmitted) {
    const std::uint64_t distance = bytes.unsigned_leb();
    types = bytes.at() + distance;
  }
  const std::uint8_t site_encoding = bytes.byte();
  const std::uint64_t sites_size = bytes.unsigned_leb();
  const unsigned char* actions = bytes.at() + sites_size;
  const std::uintptr_t offset = address - function;
  while (bytes.at() < actions) {
    std::uintptr_t begin = 0;
    std::uintptr_t size = 0;
    std::uintptr_t pad = 0;
    if (!bytes.encoded(site_encoding, begin) || !bytes.encoded(site_encoding, size) ||
        !bytes.encoded(site_encoding, pad)) {
      return Landing::kPasses;
    }
    const std::uint64_t action = bytes.unsigned_leb();
    if (offset < begin) break;  // they are sorted
    if (offset >= begin + size) continue;
    if (pad == 0 || action == 0) return Landing::kPasses;
    return follow(actions + action - 1, types, type_encoding);
  }
  // A call that the table does not hold may not throw: so compilers say noexcept.
  return Landing::kTerminates;
}

}  // namespace turnpike::guard
