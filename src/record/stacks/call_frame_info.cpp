// How to get from a frame of native code to its caller: the rule that a module's .eh_frame gives for an address.
//
// DWARF 5, section 6.4, and the LSB's chapter on .eh_frame. Only what leads to the caller is computed: the canonical
// frame address (CFA), the frame pointer and the return address.
#include "record/stacks/call_frame_info.h"

#include <cstddef>
#include <cstring>
#include <string_view>

namespace turnpike::record {
namespace {

// DWARF's numbers of the registers.
#if defined(__aarch64__)
constexpr std::uint64_t kFramePointer = 29;
constexpr std::uint64_t kStackPointer = 31;
constexpr std::uint64_t kReturnAddress = 30;
#else
constexpr std::uint64_t kFramePointer = 6;
constexpr std::uint64_t kStackPointer = 7;
constexpr std::uint64_t kReturnAddress = 16;
#endif
// Whether return addresses may be signed (pointer authentication). Which key signed them, and from where on, does not
// matter: whoever reads one takes the signature off, and there may be none.
#if defined(__aarch64__)
constexpr bool kMaySignReturnAddress = true;
#else
constexpr bool kMaySignReturnAddress = false;
#endif

// Pointer encodings: the low four bits are a format, the next three what it is relative to.
constexpr unsigned kOmitted = 0xFF;
constexpr unsigned kRelativeToItself = 0x10;
constexpr unsigned kRelativeToTable = 0x30;

// Reads forward through bytes and never past their end: what is asked for there is 0, and is_good turns false.
class Bytes {
 public:
  Bytes(const unsigned char* begin, const unsigned char* end) : at_(begin), end_(end) {}

  bool is_good() const { return is_good_; }
  bool is_at_end() const { return at_ >= end_ || !is_good_; }
  const unsigned char* at() const { return at_; }
  const unsigned char* end() const { return end_; }

  template <typename T>
  T fixed() {
    T value{};
    if (!has(sizeof value)) return value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }

  // An unsigned number that is used as a distance.
  std::int64_t length() { return static_cast<std::int64_t>(uleb()); }

  std::int64_t sleb() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t byte = 0;
    do {
      byte = fixed<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      shift += 7;
    } while ((byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }

  // `table`: what kRelativeToTable starts from.
  std::uintptr_t encoded(unsigned encoding, std::uintptr_t table) {
    const auto itself = reinterpret_cast<std::uintptr_t>(at_);
    std::uintptr_t value = 0;
    // clang-format off
    switch (encoding & 0x0F) {
      case 0x00: value = fixed<std::uint64_t>(); break;
      case 0x01: value = uleb(); break;
      case 0x02: value = fixed<std::uint16_t>(); break;
      case 0x03: value = fixed<std::uint32_t>(); break;
      case 0x04: value = fixed<std::uint64_t>(); break;
      case 0x09: value = static_cast<std::uintptr_t>(sleb()); break;
      case 0x0A: value = static_cast<std::uintptr_t>(std::int64_t{fixed<std::int16_t>()}); break;
      case 0x0B: value = static_cast<std::uintptr_t>(std::int64_t{fixed<std::int32_t>()}); break;
      case 0x0C: value = fixed<std::uint64_t>(); break;
      default: is_good_ = false;
    }
    switch (encoding & 0x70) {
      case 0: break;
      case kRelativeToItself: value += itself; break;
      case kRelativeToTable: value += table; break;
      default: is_good_ = false;
    }
    // clang-format on
    return value;
  }

  Bytes take(std::uint64_t size) {
    if (!has(size)) return Bytes(end_, end_);
    const Bytes taken(at_, at_ + size);
    at_ += size;
    return taken;
  }

 private:
  bool has(std::uint64_t size) {
    is_good_ = is_good_ && size <= static_cast<std::uint64_t>(end_ - at_);
    if (!is_good_) at_ = end_;
    return is_good_;
  }

  const unsigned char* at_;
  const unsigned char* end_;
  bool is_good_ = true;
};

struct Entry {  // a CIE or FDE without its length and id
  Bytes body;
  const unsigned char* id_at;
  std::uint32_t id;
};

// What stands at `address` of the module's mapping, up to the mapping's end.
Bytes bytes_at(const LoadedModule& module, std::uintptr_t address) {
  const auto* end = reinterpret_cast<const unsigned char*>(module.mapped_end);
  if (address < module.mapped_begin || address >= module.mapped_end) return Bytes(end, end);
  return Bytes(reinterpret_cast<const unsigned char*>(address), end);
}

Entry entry_at(const LoadedModule& module, std::uintptr_t address) {
  Bytes bytes = bytes_at(module, address);
  const auto length = bytes.fixed<std::uint32_t>();
  // 64-bit entries do not occur: no linker writes them for sections below 4 GiB.
  Bytes body = length == 0xFFFFFFFFu ? Bytes(bytes.end(), bytes.end()) : bytes.take(length);
  const unsigned char* id_at = body.at();
  const auto id = body.fixed<std::uint32_t>();
  return {body, id_at, id};
}

// The binary search table of .eh_frame_hdr -> the address of the last FDE that starts at or before `address`; 0: none.
std::uintptr_t find_fde(const LoadedModule& module, std::uintptr_t address) {
  struct Row {
    std::int32_t function;
    std::int32_t fde;
  };
  const auto table = reinterpret_cast<std::uintptr_t>(module.eh_frame_hdr);
  Bytes header = bytes_at(module, table);
  const auto version = header.fixed<std::uint8_t>();
  const unsigned frame_encoding = header.fixed<std::uint8_t>();
  const unsigned count_encoding = header.fixed<std::uint8_t>();
  const unsigned row_encoding = header.fixed<std::uint8_t>();
  constexpr unsigned kSignedTableRelative = 0x3B;  // what every linker writes
  if (version != 1 || count_encoding == kOmitted || row_encoding != kSignedTableRelative) return 0;
  header.encoded(frame_encoding, table);
  const std::uintptr_t count = header.encoded(count_encoding, table);
  if (!header.is_good() || count > static_cast<std::uintptr_t>(header.end() - header.at()) / sizeof(Row)) return 0;
  const unsigned char* rows = header.at();
  const auto row_at = [rows](std::uintptr_t index) {
    Row row;
    std::memcpy(&row, rows + index * sizeof(Row), sizeof row);
    return row;
  };
  std::uintptr_t low = 0;
  std::uintptr_t high = count;
  while (low < high) {
    const std::uintptr_t middle = low + (high - low) / 2;
    const std::uintptr_t function = table + static_cast<std::uintptr_t>(std::int64_t{row_at(middle).function});
    if (function <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? 0 : table + static_cast<std::uintptr_t>(std::int64_t{row_at(low - 1).fde});
}

struct CommonInfo {  // of a CIE
  bool is_understood = false;
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  unsigned pointer_encoding = 0;
  bool has_augmentation_data = false;
  Bytes instructions{nullptr, nullptr};
};

CommonInfo read_common(const LoadedModule& module, std::uintptr_t address) {
  CommonInfo common;
  Entry entry = entry_at(module, address);
  if (entry.id != 0) return common;
  Bytes& body = entry.body;
  const auto version = body.fixed<std::uint8_t>();
  const auto* text = reinterpret_cast<const char*>(body.at());
  while (body.fixed<std::uint8_t>() != 0) {
  }
  if (!body.is_good() || (version != 1 && version != 3)) return common;
  const std::string_view augmentation(text);
  common.code_alignment = body.uleb();
  common.data_alignment = body.sleb();
  const std::uint64_t return_register = version == 1 ? body.fixed<std::uint8_t>() : body.uleb();
  if (return_register != kReturnAddress) return common;
  if (!augmentation.empty()) {
    if (augmentation[0] != 'z') return common;
    common.has_augmentation_data = true;
    Bytes data = body.take(body.uleb());
    for (const char letter : augmentation.substr(1)) {
      if (letter == 'R') {
        common.pointer_encoding = data.fixed<std::uint8_t>();
      } else if (letter == 'P') {
        const unsigned encoding = data.fixed<std::uint8_t>();
        data.encoded(encoding & 0x0F, 0);
      } else if (letter == 'L') {
        data.fixed<std::uint8_t>();
      } else if (letter != 'B' || !kMaySignReturnAddress) {  // 'B' is the key of the signatures
        // 'S' is the frame of a signal handler: its caller was interrupted, not called, and a walk of calls ends there.
        return common;
      }
    }
    if (!data.is_good()) return common;
  }
  common.instructions = body;
  common.is_understood = body.is_good();
  return common;
}

enum class Where : std::uint8_t { kUnchanged, kAtCfa, kNearFp, kUndefined, kElsewhere };

struct Saved {
  Where where = Where::kUnchanged;
  std::int64_t offset = 0;
};

struct State {
  CfaKind cfa_kind = CfaKind::kNone;
  std::int64_t cfa_offset = 0;
  Saved fp;
  Saved return_address;
};

// Runs the instructions of one function up to an address. One object a lookup.
class Program {
 public:
  Program(const CommonInfo& common, std::uintptr_t function, std::uintptr_t address)
      : common_(common), location_(function), address_(address) {}

  // False when an instruction is not understood.
  bool run(Bytes instructions) {
    while (is_understood_ && !instructions.is_at_end() && location_ <= address_) step(instructions);
    return is_understood_ && instructions.is_good();
  }
  void keep_initial() { initial_ = state_; }
  const State& state() const { return state_; }

 private:
  static constexpr std::size_t kMaxRemembered = 8;

  Saved* saved_of(std::uint64_t number) {
    if (number == kFramePointer) return &state_.fp;
    return number == kReturnAddress ? &state_.return_address : nullptr;
  }
  void set(std::uint64_t number, Where where, std::int64_t offset = 0) {
    if (Saved* saved = saved_of(number)) *saved = {where, offset};
  }
  void restore(std::uint64_t number) {
    if (number == kFramePointer) state_.fp = initial_.fp;
    if (number == kReturnAddress) state_.return_address = initial_.return_address;
  }
  // Unsigned inside: a damaged table may hold any number.
  std::int64_t scaled(std::int64_t factored) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(factored) *
                                     static_cast<std::uint64_t>(common_.data_alignment));
  }
  void advance(std::uint64_t units) { location_ += units * common_.code_alignment; }
  void remember_state() {
    is_understood_ = is_understood_ && remembered_count_ < kMaxRemembered;
    if (is_understood_) remembered_[remembered_count_++] = state_;
  }
  void restore_state() {
    is_understood_ = is_understood_ && remembered_count_ > 0;
    if (is_understood_) state_ = remembered_[--remembered_count_];
  }
  void set_cfa_register(std::uint64_t number) {
    state_.cfa_kind = number == kStackPointer   ? CfaKind::kFromSp
                      : number == kFramePointer ? CfaKind::kFromFp
                                                : CfaKind::kNone;
  }

  // Understood: frame pointer + n, and what is stored there. -> whether a dereference follows; offset in `offset`.
  static bool read_fp_expression(Bytes expression, std::int64_t& offset, bool& is_dereferenced) {
    constexpr std::uint8_t kFpPlus = 0x70 + kFramePointer;
    constexpr std::uint8_t kDereference = 0x06;
    if (expression.fixed<std::uint8_t>() != kFpPlus) return false;
    offset = expression.sleb();
    if (!expression.is_good()) return false;
    is_dereferenced = !expression.is_at_end();
    return !is_dereferenced || (expression.fixed<std::uint8_t>() == kDereference && expression.is_at_end());
  }
  void set_cfa_expression(Bytes expression) {
    bool is_dereferenced = false;
    const bool is_known = read_fp_expression(expression, state_.cfa_offset, is_dereferenced);
    state_.cfa_kind = !is_known ? CfaKind::kNone : is_dereferenced ? CfaKind::kStoredNearFp : CfaKind::kFromFp;
  }
  void set_expression(std::uint64_t number, Bytes expression) {
    std::int64_t offset = 0;
    bool is_dereferenced = false;
    const bool is_known = read_fp_expression(expression, offset, is_dereferenced) && !is_dereferenced;
    set(number, is_known ? Where::kNearFp : Where::kElsewhere, offset);
  }

  void step(Bytes& in);
  void extended_step(unsigned code, Bytes& in);

  const CommonInfo& common_;
  std::uintptr_t location_;
  std::uintptr_t address_;
  bool is_understood_ = true;
  State state_;
  State initial_;
  State remembered_[kMaxRemembered];
  std::size_t remembered_count_ = 0;
};

void Program::step(Bytes& in) {
  const unsigned code = in.fixed<std::uint8_t>();
  const std::uint64_t operand = code & 0x3F;
  switch (code >> 6) {
    case 1:
      advance(operand);
      break;  // advance_loc
    case 2:
      set(operand, Where::kAtCfa, scaled(in.length()));
      break;  // offset
    case 3:
      restore(operand);
      break;  // restore
    default:
      extended_step(code, in);
  }
}

// One case for each DW_CFA_*, in the order of their numbers.
// clang-format off
void Program::extended_step(unsigned code, Bytes& in) {
  std::uint64_t number = 0;
  switch (code) {
    case 0x00: break;                                                                          // nop
    case 0x01: location_ = in.encoded(common_.pointer_encoding, 0); break;                     // set_loc
    case 0x02: advance(in.fixed<std::uint8_t>()); break;                                       // advance_loc1
    case 0x03: advance(in.fixed<std::uint16_t>()); break;                                      // advance_loc2
    case 0x04: advance(in.fixed<std::uint32_t>()); break;                                      // advance_loc4
    case 0x05: number = in.uleb(); set(number, Where::kAtCfa, scaled(in.length())); break;     // offset_extended
    case 0x06: restore(in.uleb()); break;                                                      // restore_extended
    case 0x07: set(in.uleb(), Where::kUndefined); break;                                       // undefined
    case 0x08: set(in.uleb(), Where::kUnchanged); break;                                       // same_value
    case 0x09: number = in.uleb(); in.uleb(); set(number, Where::kElsewhere); break;           // register
    case 0x0A: remember_state(); break;                                                        // remember_state
    case 0x0B: restore_state(); break;                                                         // restore_state
    case 0x0C: set_cfa_register(in.uleb()); state_.cfa_offset = in.length(); break;            // def_cfa
    case 0x0D: set_cfa_register(in.uleb()); break;                                             // def_cfa_register
    case 0x0E: state_.cfa_offset = in.length(); break;                                         // def_cfa_offset
    case 0x0F: set_cfa_expression(in.take(in.uleb())); break;                                  // def_cfa_expression
    case 0x10: number = in.uleb(); set_expression(number, in.take(in.uleb())); break;          // expression
    case 0x11: number = in.uleb(); set(number, Where::kAtCfa, scaled(in.sleb())); break;       // offset_extended_sf
    case 0x12: set_cfa_register(in.uleb()); state_.cfa_offset = scaled(in.sleb()); break;      // def_cfa_sf
    case 0x13: state_.cfa_offset = scaled(in.sleb()); break;                                   // def_cfa_offset_sf
    case 0x14:                                                                                 // val_offset
    case 0x15: number = in.uleb(); in.sleb(); set(number, Where::kElsewhere); break;           // val_offset_sf
    case 0x16: number = in.uleb(); in.take(in.uleb()); set(number, Where::kElsewhere); break;  // val_expression
    case 0x2C:                                                                                 // negate_ra_state_with_pc
    case 0x2D: is_understood_ = kMaySignReturnAddress; break;                                  // negate_ra_state
    case 0x2E: in.uleb(); break;                                                               // GNU_args_size
    default: is_understood_ = false;
  }
}
// clang-format on

// Whether an offset is a number of words that `bits` can hold.
bool fits(std::int64_t offset, int bits) {
  const std::int64_t limit = std::int64_t{8} << (bits - 1);
  return offset % 8 == 0 && offset >= -limit && offset < limit;
}

FpKind kind_of(Where where) {
  switch (where) {
    case Where::kUnchanged:
      return FpKind::kUnchanged;
    case Where::kAtCfa:
      return FpKind::kAtCfa;
    case Where::kNearFp:
      return FpKind::kNearFp;
    case Where::kUndefined:
    case Where::kElsewhere:
      break;
  }
  return FpKind::kUnknown;
}

UnwindRule rule_of(const State& state) {
  UnwindRule rule{};
  if (state.return_address.where == Where::kUndefined) {
    rule.cfa_kind = CfaKind::kEndOfStack;
    return rule;
  }
  const bool is_stored = state.return_address.where == Where::kAtCfa;
  if (!is_stored || !fits(state.cfa_offset, UnwindRule::kCfaBits) || !fits(state.fp.offset, 16) ||
      !fits(state.return_address.offset, 16)) {
    return rule;
  }
  rule.cfa_kind = state.cfa_kind;
  rule.cfa_bits = static_cast<std::uint64_t>(state.cfa_offset / 8) & ((1u << UnwindRule::kCfaBits) - 1);
  rule.fp_kind = kind_of(state.fp.where);
  rule.fp_words = static_cast<std::int16_t>(state.fp.offset / 8);
  rule.return_words = static_cast<std::int16_t>(state.return_address.offset / 8);
  return rule;
}

}  // namespace

UnwindRule read_unwind_rule(const LoadedModule& module, std::uintptr_t address) noexcept {
  if (module.eh_frame_hdr == nullptr) return {};
  const std::uintptr_t fde_at = find_fde(module, address);
  if (fde_at == 0) return {};
  Entry fde = entry_at(module, fde_at);
  if (fde.id == 0) return {};
  const CommonInfo common = read_common(module, reinterpret_cast<std::uintptr_t>(fde.id_at) - fde.id);
  if (!common.is_understood) return {};
  const std::uintptr_t function = fde.body.encoded(common.pointer_encoding, 0);
  const std::uintptr_t size = fde.body.encoded(common.pointer_encoding & 0x0F, 0);
  if (!fde.body.is_good() || address < function || address - function >= size) return {};
  if (common.has_augmentation_data) fde.body.take(fde.body.uleb());
  Program program(common, function, address);
  if (!program.run(common.instructions)) return {};
  program.keep_initial();
  return program.run(fde.body) ? rule_of(program.state()) : UnwindRule{};
}

}  // namespace turnpike::record
