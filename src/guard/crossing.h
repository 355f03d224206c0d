// A call that moves data between CPU and GPU, or makes the CPU wait, before it happens.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace turnpike::guard {

// What a rule is about. A call can be of several: a download into pageable memory is kD2h and kPageable, and where it
// returns only when the copy is done, kSync. kRepeat is every upload whose bytes can be looked at: whether they went up
// before, is looked up where a rule asks (repeats.h).
enum class Kind : std::uint8_t { kH2d, kD2h, kD2d, kP2p, kH2h, kSync, kPageable, kAlloc, kRepeat };
inline constexpr std::size_t kKindCount = 9;
inline constexpr std::array<std::string_view, kKindCount> kKindNames = {"h2d",  "d2h",      "d2d",   "p2p",   "h2h",
                                                                        "sync", "pageable", "alloc", "repeat"};

inline std::string_view name_of(Kind kind) noexcept {
  return kKindNames[static_cast<std::size_t>(kind)];
}
std::optional<Kind> kind_of(std::string_view name) noexcept;
// Whether it is a direction.
constexpr bool is_copy(Kind kind) noexcept {
  return kind <= Kind::kH2h;
}

class Kinds {
 public:
  constexpr Kinds() = default;
  constexpr Kinds(Kind kind) : bits_(bit(kind)) {}  // NOLINT(google-explicit-constructor): a kind is a set of one
  static constexpr Kinds all() {
    Kinds kinds;
    kinds.bits_ = (1u << kKindCount) - 1;
    return kinds;
  }
  constexpr bool has(Kind kind) const { return (bits_ & bit(kind)) != 0; }
  constexpr void add(Kinds others) { bits_ |= others.bits_; }
  constexpr bool meets(Kinds others) const { return (bits_ & others.bits_) != 0; }
  constexpr bool is_empty() const { return bits_ == 0; }
  constexpr unsigned bits() const { return bits_; }
  static constexpr Kinds of_bits(unsigned bits) {
    Kinds kinds;
    kinds.bits_ = bits;
    return kinds;
  }
  constexpr Kinds operator&(Kinds others) const {
    Kinds both;
    both.bits_ = bits_ & others.bits_;
    return both;
  }
  // Calls `visit(kind)` for each, in the order of Kind, until it returns false.
  template <typename Visit>
  constexpr void each(Visit visit) const {
    for (unsigned left = bits_; left != 0; left &= left - 1) {
      if (!visit(static_cast<Kind>(std::countr_zero(left)))) return;
    }
  }

 private:
  static constexpr unsigned bit(Kind kind) { return 1u << static_cast<unsigned>(kind); }
  unsigned bits_ = 0;
};

enum class HostMemory : std::uint8_t { kNone, kPageable, kPinned, kManaged };
std::string_view name_of(HostMemory memory) noexcept;  // "" for kNone

struct Crossing {
  const char* call;                            // "cudaMemcpyAsync"
  Kind kind;                                   // a direction, kSync or kAlloc
  Kinds kinds;                                 // all that it is
  std::uint64_t bytes = 0;                     // 0 of a wait
  HostMemory host_memory = HostMemory::kNone;  // the host's side of a copy
  const void* stream = nullptr;
  const void* source = nullptr;  // of kRepeat: where the bytes stand, and where they go
  const void* target = nullptr;
  // Fills in what it costs to ask and only some rules and texts need: host_memory where it is not known, is_captured.
  // nullptr: both are filled in.
  void (*complete)(Crossing&) = nullptr;
  const void* host_address = nullptr;  // whose memory is not known yet
  bool is_memory_open = false;         // whether it is kPageable is asked behind the call
  bool is_captured = false;            // into a graph: it happens at each replay
  bool is_over = false;  // it has happened: of a library outside PyTorch, whose calls are seen and not stopped
  bool is_move = false;  // of tp.to and its like, which ask before they begin
};

}  // namespace turnpike::guard
