// Exception tables made by hand: which call site holds an address, and what each handler of it does.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "guard/landing.h"

namespace turnpike::guard {
namespace {

using TableBytes = std::vector<unsigned char>;

// As the C++ runtime lays out a type_info.
struct FakeType {
  const void* functions;
  const char* name;
};
const FakeType kRuntimeError{nullptr, "St13runtime_error"};
const FakeType kException{nullptr, "St9exception"};
const FakeType kLocalException{nullptr, "*St9exception"};
const FakeType kLogicError{nullptr, "St11logic_error"};
const FakeType* const kEverything = nullptr;

TableBytes uleb(std::uint64_t value) {
  TableBytes bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<unsigned char>(value | 0x80));
  bytes.push_back(static_cast<unsigned char>(value));
  return bytes;
}

void add(TableBytes& to, const TableBytes& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// In the form that an encoding names; `self`: where it will stand.
TableBytes encoded(unsigned encoding, std::uintptr_t value, std::uintptr_t self = 0) {
  if ((encoding & 0x0F) == 1) return uleb(value);
  if ((encoding & 0x10) != 0 && value != 0) value -= self;
  const std::size_t size = (encoding & 7) == 2 ? 2 : (encoding & 7) == 3 ? 4 : 8;
  TableBytes bytes(size);
  std::memcpy(bytes.data(), &value, size);
  return bytes;
}

struct CallSite {
  std::uintptr_t begin;
  std::uintptr_t size;
  std::uintptr_t pad;
  std::uint64_t action;  // 1: the first byte of the actions; 0: none
};

struct ExceptionTable {
  std::vector<CallSite> sites;
  TableBytes actions{1, 0};  // a handler of the first type, and no further action
  std::vector<const FakeType*> types{kEverything};
  unsigned site_encoding = 0x01;
  unsigned type_encoding = 0x00;
  TableBytes start{0xFF};
  std::uintptr_t far_away = 0;  // bytes between the actions and the types

  // What happens to an exception that comes out of the instruction at so many bytes of the function.
  Landing at(std::uintptr_t offset) const {
    TableBytes sites_bytes;
    for (const CallSite& site : sites) {
      for (const std::uintptr_t field : {site.begin, site.size, site.pad})
        add(sites_bytes, encoded(site_encoding, field));
      add(sites_bytes, uleb(site.action));
    }
    TableBytes behind{static_cast<unsigned char>(site_encoding)};
    add(behind, uleb(sites_bytes.size()));
    add(behind, sites_bytes);
    add(behind, actions);
    behind.resize(behind.size() + far_away);
    const std::size_t type_size = encoded(type_encoding, 0).size();
    TableBytes bytes = start;
    bytes.reserve(4096);  // types may be told by their distance
    bytes.push_back(static_cast<unsigned char>(type_encoding));
    if (type_encoding != 0xFF) add(bytes, uleb(behind.size() + types.size() * type_size));
    add(bytes, behind);
    std::vector<const FakeType*> places(types.rbegin(), types.rend());
    for (const FakeType* const& type : places) {
      if (type_encoding == 0xFF) break;
      const bool is_indirect = (type_encoding & 0x80) != 0;
      const auto value = reinterpret_cast<std::uintptr_t>(
          is_indirect && type != nullptr ? static_cast<const void*>(&type) : static_cast<const void*>(type));
      add(bytes, encoded(type_encoding, value, reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size())));
    }
    EXPECT_LE(bytes.size(), 4096u);
    constexpr std::uintptr_t kFunction = 0x400000;
    return landing_at(bytes.data(), kFunction, kFunction + offset);
  }
};

TEST(LandingTable, HoldsAnAddressInTheSiteThatCoversIt) {
  const ExceptionTable table{.sites = {{10, 5, 1, 1}, {20, 1, 0, 0}, {21, 4, 1, 0}, {25, 4, 0, 1}, {300, 200, 1, 1}}};
  EXPECT_EQ(table.at(9), Landing::kTerminates) << "a call that may not throw";
  EXPECT_EQ(table.at(10), Landing::kCatches);
  EXPECT_EQ(table.at(14), Landing::kCatches);
  EXPECT_EQ(table.at(15), Landing::kTerminates);
  EXPECT_EQ(table.at(19), Landing::kTerminates);
  EXPECT_EQ(table.at(20), Landing::kPasses) << "nothing to do here";
  EXPECT_EQ(table.at(21), Landing::kPasses) << "only a cleanup";
  EXPECT_EQ(table.at(25), Landing::kPasses) << "no place to land";
  EXPECT_EQ(table.at(299), Landing::kTerminates);
  EXPECT_EQ(table.at(300), Landing::kCatches);
  EXPECT_EQ(table.at(499), Landing::kCatches);
  EXPECT_EQ(table.at(500), Landing::kTerminates);
  EXPECT_EQ(ExceptionTable{}.at(0), Landing::kTerminates) << "noexcept";
}

TEST(LandingTable, CatchesByTheTypesThatTakeARuntimeError) {
  const auto landing = [](const FakeType* type) {
    return ExceptionTable{.sites = {{0, 9, 1, 1}}, .types = {type}}.at(3);
  };
  EXPECT_EQ(landing(kEverything), Landing::kCatches);
  EXPECT_EQ(landing(&kRuntimeError), Landing::kCatches);
  EXPECT_EQ(landing(&kException), Landing::kCatches);
  EXPECT_EQ(landing(&kLocalException), Landing::kCatches);
  EXPECT_EQ(landing(&kLogicError), Landing::kPasses);
}

TEST(LandingTable, FollowsTheHandlersOfASite) {
  const auto landing = [](const TableBytes& actions, std::uint64_t first = 1) {
    return ExceptionTable{.sites = {{0, 9, 1, first}}, .actions = actions, .types = {&kLogicError, &kException}}.at(3);
  };
  EXPECT_EQ(landing({1, 0}), Landing::kPasses);
  EXPECT_EQ(landing({2, 0}), Landing::kCatches);
  EXPECT_EQ(landing({1, 1, 2, 0}), Landing::kCatches) << "the second handler";
  EXPECT_EQ(landing({1, 1, 1, 0}), Landing::kPasses);
  EXPECT_EQ(landing({1, 3, 2, 0, 1, 0}), Landing::kPasses) << "over one that is another site's";
  EXPECT_EQ(landing({2, 0, 1, 0x7D}, 3), Landing::kCatches) << "back to the first";
  EXPECT_EQ(landing({0, 0}), Landing::kPasses) << "a cleanup";
  EXPECT_EQ(landing({0, 1, 2, 0}), Landing::kCatches) << "a handler behind a cleanup";
  EXPECT_EQ(landing({0x7F, 0}), Landing::kTerminates) << "what its throw() does not list";
  EXPECT_EQ(landing({1, 1, 0x9C, 0x7F, 0}), Landing::kTerminates);
  EXPECT_EQ(landing({0x82, 0x00, 0}), Landing::kCatches) << "a number of two bytes";
}

TEST(LandingTable, FindsATypeFarFromItsEnd) {
  ExceptionTable table{.sites = {{0, 9, 1, 1}}, .actions = {0xC9, 0x00, 0}, .types = {}, .far_away = 200};
  table.types.assign(80, &kLogicError);
  EXPECT_EQ(table.at(0), Landing::kPasses);
  table.types[72] = &kException;
  EXPECT_EQ(table.at(0), Landing::kCatches);
}

TEST(LandingTable, UnderstandsTheFormsOfTypes) {
  for (const unsigned encoding : {0x00, 0x04, 0x0C, 0x10, 0x1C, 0x80, 0x90}) {
    ExceptionTable table{.sites = {{0, 9, 1, 1}}, .actions = {2, 0}, .type_encoding = encoding};
    table.types = {&kLogicError, &kException};
    EXPECT_EQ(table.at(0), Landing::kCatches) << encoding;
    table.types = {&kException, &kLogicError};
    EXPECT_EQ(table.at(0), Landing::kPasses) << encoding;
    table.types = {&kLogicError, kEverything};
    EXPECT_EQ(table.at(0), Landing::kCatches) << encoding;
  }
  for (const unsigned encoding : {0x9B, 0x1B, 0x13, 0x1A, 0x12, 0x02, 0x03, 0x0A, 0x0B}) {
    const ExceptionTable table{.sites = {{0, 9, 1, 1}}, .types = {kEverything}, .type_encoding = encoding};
    EXPECT_EQ(table.at(0), Landing::kCatches) << encoding;
  }
  const ExceptionTable unknown{.sites = {{0, 9, 1, 1}}, .types = {kEverything}, .type_encoding = 0x05};
  EXPECT_EQ(unknown.at(0), Landing::kPasses);
  const ExceptionTable none{.sites = {{0, 9, 1, 1}}, .type_encoding = 0xFF};
  EXPECT_EQ(none.at(0), Landing::kPasses) << "no types, so no handlers";
}

TEST(LandingTable, UnderstandsTheFormsOfSites) {
  for (const unsigned encoding : {0x00, 0x01, 0x02, 0x03, 0x04, 0x0A, 0x0B, 0x0C}) {
    const ExceptionTable table{.sites = {{10, 300, 1, 1}, {400, 300, 1, 0}}, .site_encoding = encoding};
    EXPECT_EQ(table.at(9), Landing::kTerminates) << encoding;
    EXPECT_EQ(table.at(309), Landing::kCatches) << encoding;
    EXPECT_EQ(table.at(310), Landing::kTerminates) << encoding;
    EXPECT_EQ(table.at(400), Landing::kPasses) << encoding;
  }
  const ExceptionTable unknown{.sites = {{0, 9, 1, 1}}, .site_encoding = 0x05};
  EXPECT_EQ(unknown.at(0), Landing::kPasses);
}

TEST(LandingTable, SkipsWhereItsFunctionStarts) {
  ExceptionTable table{.sites = {{0, 9, 1, 1}}};
  table.start = {0x1B, 1, 2, 3, 4};
  EXPECT_EQ(table.at(0), Landing::kCatches);
  table.start = {0x05};
  EXPECT_EQ(table.at(0), Landing::kPasses) << "an unknown form";
}

}  // namespace
}  // namespace turnpike::guard
