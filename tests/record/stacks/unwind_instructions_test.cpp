// Unwind tables made by hand: what each instruction of DWARF's call frame information, each encoding of a pointer and
// each field of an entry means for the rule.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "record/stacks/call_frame_info.h"

namespace turnpike::record {
namespace {

using TableBytes = std::vector<unsigned char>;

TableBytes operator+(TableBytes a, const TableBytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TableBytes uleb(std::uint64_t value) {
  TableBytes bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<unsigned char>(value | 0x80));
  bytes.push_back(static_cast<unsigned char>(value));
  return bytes;
}

TableBytes sleb(std::int64_t value) {
  TableBytes bytes;
  for (; value < -0x40 || value >= 0x40; value >>= 7) bytes.push_back(static_cast<unsigned char>(value | 0x80));
  bytes.push_back(static_cast<unsigned char>(value & 0x7F));
  return bytes;
}

template <typename T>
void put(TableBytes& to, T value) {
  unsigned char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

void put_pointer(TableBytes& to, unsigned encoding, std::uintptr_t value) {
  if ((encoding & 0x70) == 0x10) value -= reinterpret_cast<std::uintptr_t>(to.data() + to.size());
  switch (encoding & 0x0F) {
    case 0x01:
      to = std::move(to) + uleb(value);
      break;
    case 0x09:
      to = std::move(to) + sleb(static_cast<std::int64_t>(value));
      break;
    case 0x02:
    case 0x0A:
      put(to, static_cast<std::uint16_t>(value));
      break;
    case 0x03:
    case 0x0B:
      put(to, static_cast<std::uint32_t>(value));
      break;
    default:
      put(to, static_cast<std::uint64_t>(value));
  }
}

// At first the caller's stack begins 8 bytes above rsp, and the return address is the last thing on it.
const TableBytes kUsualStart{0x0C, 7, 8, 0x90, 1};

struct CommonPart {
  std::uint32_t id = 0;
  unsigned char version = 1;
  std::string augmentation = "zR";
  TableBytes alignments{1, 0x78};  // of code 1, of data -8
  TableBytes return_register{16};
  TableBytes augmentation_data{1, 0x1B};
  TableBytes instructions = kUsualStart;
};

struct FunctionPart {
  std::uintptr_t at = 0x4000;  // from where the tables begin
  std::uint64_t size = 0x1000;
  TableBytes instructions{};
  unsigned encoding = 0x1B;
  TableBytes augmentation_data{0};
};

struct HeaderPart {
  unsigned char version = 1;
  unsigned char frame_encoding = 0x1B;
  unsigned char count_encoding = 0x03;
  unsigned char row_encoding = 0x3B;
  int more_rows = 0;  // told, and not there
};

struct Tables {
  TableBytes bytes;
  LoadedModule module;
  std::vector<std::size_t> entries;  // where the functions' stand
  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(bytes.data()); }
  UnwindRule rule(std::uintptr_t at) const { return read_unwind_rule(module, begin() + at); }
};

void end_entry(TableBytes& bytes, std::size_t start) {
  const auto length = static_cast<std::uint32_t>(bytes.size() - start - 4);
  std::memcpy(bytes.data() + start, &length, sizeof length);
}

Tables make_tables(const CommonPart& common, const std::vector<FunctionPart>& functions,
                   const HeaderPart& header = {}) {
  Tables tables;
  TableBytes& bytes = tables.bytes;
  bytes.reserve(0x1000);  // pointers are relative to where they stand
  put(bytes, std::uint32_t{0});
  put(bytes, common.id);
  bytes.push_back(common.version);
  bytes.insert(bytes.end(), common.augmentation.begin(), common.augmentation.end());
  bytes.push_back(0);
  for (const TableBytes& part :
       {common.alignments, common.return_register, common.augmentation_data, common.instructions}) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  end_entry(bytes, 0);
  for (const FunctionPart& function : functions) {
    const std::size_t start = bytes.size();
    tables.entries.push_back(start);
    put(bytes, std::uint32_t{0});
    put(bytes, static_cast<std::uint32_t>(start + 4));
    put_pointer(bytes, function.encoding, tables.begin() + function.at);
    put_pointer(bytes, function.encoding & 0x0F, function.size);
    bytes.insert(bytes.end(), function.augmentation_data.begin(), function.augmentation_data.end());
    bytes.insert(bytes.end(), function.instructions.begin(), function.instructions.end());
    end_entry(bytes, start);
  }
  const std::size_t table = bytes.size();
  for (const unsigned char byte : {header.version, header.frame_encoding, header.count_encoding, header.row_encoding}) {
    bytes.push_back(byte);
  }
  put_pointer(bytes, header.frame_encoding, tables.begin());
  put_pointer(bytes, header.count_encoding, functions.size() + static_cast<std::size_t>(header.more_rows));
  for (std::size_t i = 0; i < functions.size(); ++i) {
    put(bytes, static_cast<std::int32_t>(functions[i].at) - static_cast<std::int32_t>(table));
    put(bytes, static_cast<std::int32_t>(tables.entries[i]) - static_cast<std::int32_t>(table));
  }
  EXPECT_LE(bytes.size(), 0x1000u) << "or the pointers have moved";
  tables.module.mapped_begin = tables.begin();
  tables.module.mapped_end = tables.begin() + bytes.size();
  tables.module.eh_frame_hdr = bytes.data() + table;
  return tables;
}

std::string with_sign(std::int64_t number) {
  return (number < 0 ? "" : "+") + std::to_string(number);
}

std::string told(const UnwindRule& rule) {
  std::string text;
  switch (rule.cfa_kind) {
    case CfaKind::kNone:
      return "none";
    case CfaKind::kEndOfStack:
      return "end";
    case CfaKind::kFromSp:
      text = "rsp" + with_sign(rule.cfa_words() * 8);
      break;
    case CfaKind::kFromFp:
      text = "rbp" + with_sign(rule.cfa_words() * 8);
      break;
    case CfaKind::kStoredNearFp:
      text = "[rbp" + with_sign(rule.cfa_words() * 8) + "]";
      break;
  }
  if (rule.return_words != -1) text += ", return at cfa" + with_sign(rule.return_words * 8);
  const std::string words = with_sign(rule.fp_words * 8);
  switch (rule.fp_kind) {
    case FpKind::kUnchanged:
      return text;
    case FpKind::kAtCfa:
      return text + ", rbp at cfa" + words;
    case FpKind::kNearFp:
      return text + ", rbp at rbp" + words;
    case FpKind::kUnknown:
      return text + ", rbp lost";
  }
  return "?";
}

// Of a function with these instructions, at so many bytes of it.
std::string rule_after(const TableBytes& instructions, std::uintptr_t bytes = 0x10, const CommonPart& common = {}) {
  return told(make_tables(common, {{.instructions = instructions}}).rule(0x4000 + bytes));
}

TEST(UnwindInstructions, EachMeansWhatDwarfSays) {
  const TableBytes rbp_pushed{0x86, 2};
  const TableBytes next{0x0E, 24};  // shows that the one before it was read to its end
  const struct {
    const char* name;
    TableBytes instructions;
    const char* rule;
  } kCases[] = {
      {"none", {}, "rsp+8"},
      {"nop", TableBytes{0, 0} + next, "rsp+24"},
      {"offset", rbp_pushed + next, "rsp+24, rbp at cfa-16"},
      {"offset of a register that does not matter", TableBytes{0x83, 3} + next, "rsp+24"},
      {"offset of the return address", {0x90, 2}, "rsp+8, return at cfa-16"},
      {"offset_extended", TableBytes{0x05, 6, 3} + next, "rsp+24, rbp at cfa-24"},
      {"restore", rbp_pushed + TableBytes{0xC6} + next, "rsp+24"},
      {"restore of another register", rbp_pushed + TableBytes{0xC3}, "rsp+8, rbp at cfa-16"},
      {"restore of the return address", {0x90, 2, 0xD0}, "rsp+8"},
      {"restore_extended", rbp_pushed + TableBytes{0x06, 6} + next, "rsp+24"},
      {"undefined return address", {0x07, 16}, "end"},
      {"undefined rbp", TableBytes{0x07, 6} + next, "rsp+24, rbp lost"},
      {"undefined, another register", TableBytes{0x07, 3} + next, "rsp+24"},
      {"same_value", rbp_pushed + TableBytes{0x08, 6} + next, "rsp+24"},
      {"register", TableBytes{0x09, 6, 3} + next, "rsp+24, rbp lost"},
      {"return address in a register", {0x09, 16, 3}, "none"},
      {"remember_state, restore_state", TableBytes{0x0A} + rbp_pushed + next + TableBytes{0x0B}, "rsp+8"},
      {"two remembered", {0x0A, 0x0E, 16, 0x0A, 0x0E, 24, 0x0B}, "rsp+16"},
      {"two remembered, two restored", {0x0A, 0x0E, 16, 0x0A, 0x0E, 24, 0x0B, 0x0B}, "rsp+8"},
      {"restore_state of nothing", {0x0B}, "none"},
      {"def_cfa of rbp", {0x0C, 6, 16}, "rbp+16"},
      {"def_cfa of rsp", {0x0C, 6, 16, 0x0C, 7, 32}, "rsp+32"},
      {"def_cfa of another register", {0x0C, 3, 16}, "none"},
      {"def_cfa_register", {0x0D, 6}, "rbp+8"},
      {"def_cfa_register of another", {0x0D, 10}, "none"},
      {"def_cfa_offset", {0x0E, 16}, "rsp+16"},
      {"def_cfa_expression", TableBytes{0x0F, 2, 0x76, 0x10} + rbp_pushed, "rbp+16, rbp at cfa-16"},
      {"def_cfa_expression that reads", {0x0F, 3, 0x76, 0x78, 0x06}, "[rbp-8]"},
      {"def_cfa_expression of rsp", {0x0F, 2, 0x77, 0x10}, "none"},
      {"def_cfa_expression that reads twice", {0x0F, 4, 0x76, 0x78, 0x06, 0x06}, "none"},
      {"def_cfa_expression that does something else", {0x0F, 3, 0x76, 0x78, 0x1F}, "none"},
      {"def_cfa_expression without its number", {0x0F, 1, 0x76}, "none"},
      {"def_cfa_expression of nothing", {0x0F, 0}, "none"},
      {"expression", TableBytes{0x10, 6, 2, 0x76, 0} + next, "rsp+24, rbp at rbp+0"},
      {"expression below rbp", {0x10, 6, 2, 0x76, 0x70}, "rsp+8, rbp at rbp-16"},
      {"expression that reads", TableBytes{0x10, 6, 3, 0x76, 0x70, 0x06} + next, "rsp+24, rbp lost"},
      {"expression that does something else", {0x10, 6, 3, 0x76, 0x70, 0x1F}, "rsp+8, rbp lost"},
      {"expression of rsp", {0x10, 6, 2, 0x77, 0x08}, "rsp+8, rbp lost"},
      {"expression for the return address", {0x10, 16, 2, 0x76, 0x08}, "none"},
      {"offset_extended_sf", TableBytes{0x11, 6, 0x02} + next, "rsp+24, rbp at cfa-16"},
      {"offset_extended_sf, negative", {0x11, 6, 0x7E}, "rsp+8, rbp at cfa+16"},
      {"def_cfa_sf", {0x12, 6, 0x7E}, "rbp+16"},
      {"def_cfa_offset_sf", {0x13, 0x7D}, "rsp+24"},
      {"def_cfa_offset_sf, positive", {0x13, 0x01}, "rsp-8"},
      {"val_offset", TableBytes{0x14, 6, 2} + next, "rsp+24, rbp lost"},
      {"val_offset_sf", TableBytes{0x15, 6, 0x7E} + next, "rsp+24, rbp lost"},
      {"val_expression", TableBytes{0x16, 6, 2, 0x76, 0} + next, "rsp+24, rbp lost"},
      {"GNU_args_size", TableBytes{0x2E, 0x90, 0x01} + next, "rsp+24"},
      {"an unknown one", TableBytes{0x17} + next, "none"},
      {"an unknown one of GNU", TableBytes{0x2D} + next, "none"},
      {"one that is cut off", {0x0E}, "none"},
      {"one that is cut off in its second number", {0x0C, 6}, "none"},
      {"an expression that is longer than the entry", {0x0F, 9, 0x76, 0x10}, "none"},
  };
  for (const auto& each : kCases) EXPECT_EQ(rule_after(each.instructions), each.rule) << each.name;
}

TEST(UnwindInstructions, HoldFromTheirPlaceOn) {
  const TableBytes push{0x0E, 16};
  const struct {
    const char* name;
    TableBytes advance;
    std::uintptr_t bytes;
  } kCases[] = {
      {"advance_loc", {0x41}, 1},
      {"advance_loc, the farthest", {0x7F}, 0x3F},
      {"advance_loc, twice", {0x42, 0x43}, 5},
      {"advance_loc1", {0x02, 0xF0}, 0xF0},
      {"advance_loc2", {0x03, 0x80, 0x01}, 0x180},
      {"advance_loc4", {0x04, 0x10, 0x02, 0, 0}, 0x210},
  };
  for (const auto& each : kCases) {
    EXPECT_EQ(rule_after(each.advance + push, each.bytes - 1), "rsp+8") << each.name;
    EXPECT_EQ(rule_after(each.advance + push, each.bytes), "rsp+16") << each.name;
  }
  const CommonPart fours{.alignments = {4, 0x78}};
  EXPECT_EQ(rule_after(TableBytes{0x43} + push, 11, fours), "rsp+8");
  EXPECT_EQ(rule_after(TableBytes{0x43} + push, 12, fours), "rsp+16");
  EXPECT_EQ(rule_after({0x50, 0x17}, 0x0F), "rsp+8") << "what comes later need not be understood";
}

TEST(UnwindInstructions, SetTheirPlaceByAnAddress) {
  const CommonPart absolute{.augmentation = "", .augmentation_data = {}};
  FunctionPart function{
      .instructions = {0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0x0E, 16}, .encoding = 0, .augmentation_data = {}};
  Tables tables = make_tables(absolute, {function});
  const std::uint64_t place = tables.begin() + 0x4020;
  std::memcpy(tables.bytes.data() + tables.entries[0] + 8 + 16 + 1, &place, sizeof place);
  EXPECT_EQ(told(tables.rule(0x401F)), "rsp+8");
  EXPECT_EQ(told(tables.rule(0x4020)), "rsp+16");
}

TEST(UnwindInstructions, RestoreWhatTheCommonPartSays) {
  const CommonPart common{.instructions = kUsualStart + TableBytes{0x86, 3}};
  EXPECT_EQ(rule_after({}, 0, common), "rsp+8, rbp at cfa-24");
  EXPECT_EQ(rule_after({0x86, 2}, 0, common), "rsp+8, rbp at cfa-16");
  EXPECT_EQ(rule_after({0x86, 2, 0xC6}, 0, common), "rsp+8, rbp at cfa-24");
  EXPECT_EQ(rule_after({0x07, 16, 0x06, 16}, 0, common), "rsp+8, rbp at cfa-24");
}

TEST(UnwindInstructions, RememberEightStates) {
  TableBytes eight;
  for (unsigned char i = 0; i < 8; ++i) eight = eight + TableBytes{0x0A, 0x0E, static_cast<unsigned char>(16 + 8 * i)};
  EXPECT_EQ(rule_after(eight), "rsp+72");
  EXPECT_EQ(rule_after(eight + TableBytes{0x0B}), "rsp+64");
  EXPECT_EQ(rule_after(eight + TableBytes{0x0A}), "none");
}

TEST(UnwindInstructions, HaveNumbersOfAnyLength) {
  EXPECT_EQ(rule_after(TableBytes{0x0E} + uleb(304)), "rsp+304");
  EXPECT_EQ(rule_after(TableBytes{0x0E} + uleb(70'000)), "rsp+70000");
  EXPECT_EQ(rule_after(TableBytes{0x13} + sleb(-300)), "rsp+2400");
  EXPECT_EQ(rule_after(TableBytes{0x13} + sleb(300)), "rsp-2400");
  EXPECT_EQ(rule_after(TableBytes{0x13} + sleb(64)), "rsp-512") << "bit 6 of its first byte is no sign";
  // Ten bytes hold 64 bits; what stands in more is not looked at.
  const TableBytes padding(9, 0x80);
  EXPECT_EQ(rule_after(TableBytes{0x0E, 0x90} + padding + TableBytes{0x01}), "rsp+16");
  EXPECT_EQ(rule_after(TableBytes{0x13, 0xFE} + TableBytes(8, 0xFF) + TableBytes{0x7F}), "rsp+16");
  EXPECT_EQ(rule_after(TableBytes{0x13, 0x82} + padding + TableBytes{0x7F}), "rsp-16");
}

TEST(UnwindInstructions, AreRefusedWhereTheirNumbersDoNotFit) {
  EXPECT_EQ(rule_after(TableBytes{0x0E} + uleb(0x0FFFFFF8)), "rsp+268435448");
  EXPECT_EQ(rule_after(TableBytes{0x0E} + uleb(0x10000000)), "none");
  EXPECT_EQ(rule_after(TableBytes{0x0E} + uleb(0x80000000)), "none");
  EXPECT_EQ(rule_after(TableBytes{0x0E} + uleb(300)), "none") << "not at a word";
  EXPECT_EQ(rule_after(TableBytes{0x86} + uleb(32'767)), "rsp+8, rbp at cfa-262136");
  EXPECT_EQ(rule_after(TableBytes{0x86} + uleb(32'768)), "rsp+8, rbp at cfa-262144");
  EXPECT_EQ(rule_after(TableBytes{0x86} + uleb(32'769)), "none");
  EXPECT_EQ(rule_after(TableBytes{0x11, 6} + sleb(-32'767)), "rsp+8, rbp at cfa+262136");
  EXPECT_EQ(rule_after(TableBytes{0x11, 6} + sleb(-32'768)), "none");
  const CommonPart ones{.alignments = {1, 1}, .instructions = {0x0C, 7, 8, 0x11, 16, 0x78}};
  EXPECT_EQ(rule_after(TableBytes{0x13} + sleb(-0x10000000), 0, ones), "rsp-268435456");
  EXPECT_EQ(rule_after(TableBytes{0x13} + sleb(-0x10000008), 0, ones), "none");
  EXPECT_EQ(rule_after(TableBytes{0x13} + sleb(-0x7FFFFFFF - 1), 0, ones), "none");
  EXPECT_EQ(rule_after({0x11, 6, 0x70}, 0, ones), "rsp+8, rbp at cfa-16");
  EXPECT_EQ(rule_after({0x11, 6, 0x74}, 0, ones), "none") << "not at a word";
}

TEST(UnwindTables, UnderstandTheCommonPartsThatCompilersWrite) {
  const auto rule = [](const CommonPart& common) { return rule_after({0x0E, 16}, 0, common); };
  EXPECT_EQ(rule({.version = 3}), "rsp+16");
  EXPECT_EQ(rule({.version = 2}), "none");
  EXPECT_EQ(rule({.version = 4}), "none");
  EXPECT_EQ(rule({.version = 3, .return_register = {0x90, 0}}), "rsp+16") << "a number of two bytes";
  EXPECT_EQ(rule({.version = 1, .return_register = {0x90, 0}}), "none") << "always one byte";
  EXPECT_EQ(rule({.return_register = {17}}), "none");
  EXPECT_EQ(rule({.id = 8}), "none") << "no common part";
  EXPECT_EQ(rule({.augmentation = "zPLR", .augmentation_data = {7, 0x9B, 1, 2, 3, 4, 0x1B, 0x1B}}), "rsp+16");
  EXPECT_EQ(rule({.augmentation = "zRP", .augmentation_data = {10, 0x1B, 0, 1, 2, 3, 4, 5, 6, 7, 8}}), "rsp+16");
  EXPECT_EQ(rule({.augmentation_data = {3, 0x1B, 0xFF, 0xFF}}), "rsp+16") << "more than its letters say";
  EXPECT_EQ(rule({.augmentation_data = {0}}), "none") << "less than its letters say";
  EXPECT_EQ(rule({.augmentation = "zRS"}), "none") << "a signal's frame";
  EXPECT_EQ(rule({.augmentation = "eh"}), "none");
  EXPECT_EQ(rule({.instructions = kUsualStart + TableBytes{0x17}}), "none");
  EXPECT_EQ(rule({.instructions = {0x0C, 7, 8}}), "none") << "nobody knows where the return address stands";
}

TEST(UnwindTables, UnderstandEachEncodingOfAPointer) {
  for (const unsigned encoding : {0x00, 0x01, 0x04, 0x09, 0x0C, 0x10, 0x11, 0x12, 0x13, 0x14, 0x19, 0x1A, 0x1B, 0x1C}) {
    const CommonPart common{.augmentation_data = {1, static_cast<unsigned char>(encoding)}};
    const Tables tables = make_tables(common, {{.instructions = {0x42, 0x0E, 16}, .encoding = encoding}});
    EXPECT_EQ(told(tables.rule(0x4000)), "rsp+8") << encoding;
    EXPECT_EQ(told(tables.rule(0x4002)), "rsp+16") << encoding;
    EXPECT_EQ(told(tables.rule(0x4FFF)), "rsp+16") << encoding;
    EXPECT_EQ(told(tables.rule(0x5000)), "none") << encoding;
  }
  for (const unsigned encoding : {0x05, 0x0D, 0x20, 0x24, 0x50}) {
    const CommonPart common{.augmentation_data = {1, static_cast<unsigned char>(encoding)}};
    EXPECT_EQ(rule_after({}, 0, common), "none") << encoding;
  }
}

TEST(UnwindTables, UnderstandEachSignOfARelativePointer) {
  for (const unsigned encoding : {0x19, 0x1A, 0x1B, 0x1C}) {
    const CommonPart common{.augmentation_data = {1, static_cast<unsigned char>(encoding)}};
    const auto below = static_cast<std::uintptr_t>(-0x4000);
    const Tables tables = make_tables(common, {{.at = below, .instructions = {0x0E, 16}, .encoding = encoding}});
    EXPECT_EQ(told(tables.rule(below)), "rsp+16") << encoding;
  }
}

TEST(UnwindTables, SkipWhatAFunctionsEntryHasBeforeItsInstructions) {
  const FunctionPart function{.instructions = {0x0E, 16}, .augmentation_data = {4, 0x17, 0x17, 0x17, 0x17}};
  EXPECT_EQ(told(make_tables({}, {function}).rule(0x4000)), "rsp+16");
}

TEST(UnwindTables, AreSearchedForTheFunctionOfAnAddress) {
  const Tables tables = make_tables({}, {{.at = 0x4000, .size = 0x1000, .instructions = {0x0E, 16}},
                                         {.at = 0x5000, .size = 0x800, .instructions = {0x0E, 24}},
                                         {.at = 0x6000, .size = 1, .instructions = {0x0E, 32}},
                                         {.at = 0x6001, .size = 0x100, .instructions = {0x0E, 40}}});
  EXPECT_EQ(told(tables.rule(0x3FFF)), "none");
  EXPECT_EQ(told(tables.rule(0x4000)), "rsp+16");
  EXPECT_EQ(told(tables.rule(0x4FFF)), "rsp+16");
  EXPECT_EQ(told(tables.rule(0x5000)), "rsp+24");
  EXPECT_EQ(told(tables.rule(0x57FF)), "rsp+24");
  EXPECT_EQ(told(tables.rule(0x5800)), "none") << "between two functions";
  EXPECT_EQ(told(tables.rule(0x6000)), "rsp+32");
  EXPECT_EQ(told(tables.rule(0x6001)), "rsp+40");
  EXPECT_EQ(told(tables.rule(0x6100)), "rsp+40");
  EXPECT_EQ(told(tables.rule(0x6101)), "none");
}

TEST(UnwindTables, AreReadByAHeaderOfTheUsualFormAlone) {
  const auto rule = [](const HeaderPart& header) {
    return told(make_tables({}, {{.instructions = {0x0E, 16}}}, header).rule(0x4000));
  };
  EXPECT_EQ(rule({}), "rsp+16");
  EXPECT_EQ(rule({.frame_encoding = 0x10}), "rsp+16");
  EXPECT_EQ(rule({.count_encoding = 0x02}), "rsp+16");
  EXPECT_EQ(rule({.count_encoding = 0x05}), "none");
  EXPECT_EQ(rule({.count_encoding = 0xFF}), "none");
  EXPECT_EQ(rule({.version = 2}), "none");
  EXPECT_EQ(rule({.row_encoding = 0x1B}), "none");
  EXPECT_EQ(rule({.more_rows = 1}), "none") << "one more than there is room for";
  EXPECT_EQ(told(make_tables({}, {}).rule(0x4000)), "none");
}

TEST(UnwindTables, AreReadWithinTheModuleAlone) {
  const FunctionPart function{.instructions = {0x0E, 16}};
  Tables cut = make_tables({}, {function});
  --cut.module.mapped_end;
  EXPECT_EQ(told(cut.rule(0x4000)), "none") << "the last row";
  Tables late = make_tables({}, {function});
  late.module.mapped_begin += late.entries[0];
  EXPECT_EQ(told(late.rule(0x4000)), "none") << "the common part is before it";
  ++late.module.mapped_begin;
  EXPECT_EQ(told(late.rule(0x4000)), "none");
  Tables none = make_tables({}, {function});
  none.module.eh_frame_hdr = nullptr;
  EXPECT_EQ(told(none.rule(0x4000)), "none");
}

TEST(UnwindTables, AreRefusedWhereAnEntryIsNone) {
  const auto with_word = [](std::size_t at, std::uint32_t word) {
    Tables tables = make_tables({}, {{.instructions = {0x0E, 16}}});
    std::memcpy(tables.bytes.data() + tables.entries[0] + at, &word, sizeof word);
    return told(tables.rule(0x4000));
  };
  EXPECT_EQ(with_word(0, 0xFFFFFFFF), "none") << "of 64 bits";
  EXPECT_EQ(with_word(0, 0x1000), "none") << "longer than the tables";
  EXPECT_EQ(with_word(0, 0), "none") << "the end of the entries";
  EXPECT_EQ(with_word(4, 0), "none") << "a common part";
}

}  // namespace
}  // namespace turnpike::record
