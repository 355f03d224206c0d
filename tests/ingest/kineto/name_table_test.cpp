// Numbers for names, in the order in which they come.
#include "ingest/kineto/name_table.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike::ingest {
namespace {

TEST(NameTable, NumbersNamesFromOneInTheirOrder) {
  NameTable names;
  EXPECT_EQ(names.number_of("a"), 1u);
  EXPECT_EQ(names.number_of("b"), 2u);
  EXPECT_EQ(names.number_of("a"), 1u);
  EXPECT_EQ(names.number_of(""), 3u);
  EXPECT_EQ(names.number_of(""), 3u);
  EXPECT_EQ(names.text(1), "a");
  EXPECT_EQ(names.text(3), "");
}

TEST(NameTable, KeepsNumbersWhenItGrows) {
  NameTable names;
  constexpr std::uint32_t kCount = 5'000;
  for (std::uint32_t i = 1; i <= kCount; ++i) ASSERT_EQ(names.number_of("name " + std::to_string(i)), i);
  for (std::uint32_t i = 1; i <= kCount; ++i) {
    ASSERT_EQ(names.number_of("name " + std::to_string(i)), i);
    ASSERT_EQ(names.text(i), "name " + std::to_string(i));
  }
}

}  // namespace
}  // namespace turnpike::ingest
