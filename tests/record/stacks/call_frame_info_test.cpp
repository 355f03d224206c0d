// Unwind tables that are damaged give a rule or none, and nothing outside of them is read.
#include "record/stacks/call_frame_info.h"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <random>
#include <vector>

#include "record/stacks/loaded_module.h"

namespace turnpike::record {
namespace {

// This program's read-only segment with its unwind tables, copied: addresses in them are relative, so they move along.
struct Copy {
  std::vector<unsigned char> bytes;
  LoadedModule module;
  std::ptrdiff_t shift = 0;
};

LoadedModule this_program() {
  LoadedModule module;
  EXPECT_TRUE(find_module(reinterpret_cast<std::uintptr_t>(&this_program), module));
  return module;
}

// The segment holds other things too, with a sanitizer's red zones between them.
__attribute__((no_sanitize_address)) void copy_segment(const unsigned char* from, std::size_t size, unsigned char* to) {
  for (std::size_t i = 0; i < size; ++i) static_cast<volatile unsigned char*>(to)[i] = from[i];
}

Copy copy_tables() {
  const LoadedModule original = this_program();
  LoadedModule tables;
  EXPECT_TRUE(find_module(reinterpret_cast<std::uintptr_t>(original.eh_frame_hdr), tables));
  Copy copy;
  const auto* begin = reinterpret_cast<const unsigned char*>(tables.begin);
  copy.bytes.resize(tables.end - tables.begin);
  copy_segment(begin, copy.bytes.size(), copy.bytes.data());
  copy.shift = copy.bytes.data() - begin;
  copy.module = original;
  copy.module.mapped_begin = reinterpret_cast<std::uintptr_t>(copy.bytes.data());
  copy.module.mapped_end = copy.module.mapped_begin + copy.bytes.size();
  copy.module.eh_frame_hdr = original.eh_frame_hdr + copy.shift;
  return copy;
}

bool is_same(const UnwindRule& a, const UnwindRule& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

TEST(CallFrameInfo, CopiedTablesGiveTheSameRules) {
  const Copy copy = copy_tables();
  const LoadedModule original = this_program();
  const auto start = reinterpret_cast<std::uintptr_t>(&copy_tables);
  int found = 0;
  for (std::uintptr_t address = start; address < start + 2000; ++address) {
    const UnwindRule rule = read_unwind_rule(original, address);
    if (rule.cfa_kind != CfaKind::kNone) ++found;
    EXPECT_TRUE(is_same(rule, read_unwind_rule(copy.module, address + static_cast<std::uintptr_t>(copy.shift))));
  }
  EXPECT_GT(found, 1000);
}

TEST(CallFrameInfo, DamagedTablesAreHarmless) {
  Copy copy = copy_tables();
  const std::size_t header = static_cast<std::size_t>(copy.module.eh_frame_hdr - copy.bytes.data());
  std::mt19937 random(1);
  int found = 0;
  for (int i = 0; i < 20000; ++i) {
    if (i % 100 == 0) copy = copy_tables();  // or a header that is damaged for good hides the rest
    // Around the tables' start and anywhere behind it: the segment ends with them.
    const std::size_t at = header + random() % (i % 2 == 0 ? 64 : copy.bytes.size() - header);
    const unsigned char before = copy.bytes[at];
    copy.bytes[at] = static_cast<unsigned char>(random());
    const auto target = reinterpret_cast<std::uintptr_t>(&copy_tables) + static_cast<std::uintptr_t>(copy.shift);
    for (std::uintptr_t address = target; address < target + 400; address += 37) {
      if (read_unwind_rule(copy.module, address).cfa_kind != CfaKind::kNone) ++found;
    }
    if (i % 8 != 0) copy.bytes[at] = before;
  }
  EXPECT_GT(found, 0);
}

TEST(CallFrameInfo, TruncatedTablesAreHarmless) {
  Copy copy = copy_tables();
  const auto target = reinterpret_cast<std::uintptr_t>(&copy_tables) + static_cast<std::uintptr_t>(copy.shift);
  const auto header = reinterpret_cast<std::uintptr_t>(copy.module.eh_frame_hdr);
  const std::uintptr_t end = copy.module.mapped_end;
  for (std::uintptr_t cut = header; cut < end; cut += 1 + (end - header) / 3000) {
    copy.module.mapped_end = cut;
    read_unwind_rule(copy.module, target);
  }
  copy.module.mapped_end = end;
  EXPECT_NE(read_unwind_rule(copy.module, target + 30).cfa_kind, CfaKind::kNone);
}

TEST(CallFrameInfo, AddressesOfNoFunctionHaveNoRule) {
  const LoadedModule module = this_program();
  EXPECT_EQ(read_unwind_rule(module, module.mapped_begin).cfa_kind, CfaKind::kNone);
  EXPECT_EQ(read_unwind_rule(module, 0).cfa_kind, CfaKind::kNone);
  EXPECT_EQ(read_unwind_rule(module, UINTPTR_MAX).cfa_kind, CfaKind::kNone);
}

TEST(CallFrameInfo, AModuleWithoutTablesHasNoRules) {
  LoadedModule module = this_program();
  module.eh_frame_hdr = nullptr;
  EXPECT_EQ(read_unwind_rule(module, reinterpret_cast<std::uintptr_t>(&this_program)).cfa_kind, CfaKind::kNone);
}

int count_modules(dl_phdr_info*, std::size_t, void* data) {
  ++*static_cast<int*>(data);
  return 0;
}

TEST(CallFrameInfo, TheLoadersModulesAreFoundByTheirAddresses) {
  int modules = 0;
  dl_iterate_phdr(count_modules, &modules);
  EXPECT_GT(modules, 2);
  LoadedModule libc;
  ASSERT_TRUE(find_module(reinterpret_cast<std::uintptr_t>(&gnu_get_libc_version), libc));
  EXPECT_NE(libc.path.find("libc"), std::string::npos);
  int on_stack = 0;
  LoadedModule none;
  EXPECT_FALSE(find_module(reinterpret_cast<std::uintptr_t>(&on_stack), none));
}

}  // namespace
}  // namespace turnpike::record
