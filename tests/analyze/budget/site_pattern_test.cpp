// Patterns that name places.
#include "analyze/budget/site_pattern.h"

#include <gtest/gtest.h>

namespace turnpike::analyze {
namespace {

Item python(const std::string& file, std::uint32_t line, const std::string& function) {
  Item item;
  item.file = file;
  item.line = line;
  item.function = function;
  item.site = file.substr(file.rfind('/') + 1) + ":" + std::to_string(line);
  return item;
}

TEST(SitePattern, GlobsAreStarAndQuestionMarkOnly) {
  EXPECT_TRUE(matches_glob("a*c", "abbbc"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("a*", "a*b"));
  EXPECT_TRUE(matches_glob("t?ain.py", "train.py"));
  EXPECT_TRUE(matches_glob("[id].py", "[id].py"));
  EXPECT_FALSE(matches_glob("[id].py", "i.py"));
  EXPECT_FALSE(matches_glob("a", "ab"));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(SitePattern, ManyStarsEndInTime) {
  EXPECT_FALSE(matches_glob(std::string(50, '*') + "a*a*a*a*b", std::string(20'000, 'a')));
}

TEST(SitePattern, AFileIsItsNameOrTheEndOfItsPath) {
  const Item item = python("/home/me/src/train.py", 80, "save");
  for (const char* pattern : {"train.py", "src/train.py", "/home/me/src/train.py", "src/*", "*.py", "tr*"}) {
    EXPECT_TRUE(matches_site(pattern, item)) << pattern;
  }
  for (const char* pattern : {"rain.py", "model.py", "other/train.py", "train"}) {
    EXPECT_FALSE(matches_site(pattern, item)) << pattern;
  }
}

TEST(SitePattern, ALineOrAFunctionStandsBehindTheColon) {
  const Item item = python("/home/me/train.py", 80, "Trainer.save");
  for (const char* pattern : {"train.py:80", "train.py:save", "train.py:Trainer.save", "train.py:sa*", "train.py:*"}) {
    EXPECT_TRUE(matches_site(pattern, item)) << pattern;
  }
  for (const char* pattern : {"train.py:8", "train.py:800", "train.py:load", "train.py:ave"}) {
    EXPECT_FALSE(matches_site(pattern, item)) << pattern;
  }
}

TEST(SitePattern, NativeFunctionsKeepTheirColons) {
  Item item;
  item.site = "at::native::foo (libtorch.so)";
  item.function = "at::native::foo";
  EXPECT_TRUE(matches_site("at::native::foo", item));
  EXPECT_TRUE(matches_site("at::native::*", item));
  EXPECT_FALSE(matches_site("at::cuda::*", item));
}

TEST(SitePattern, ABackwardPassIsAtItsForwardLine) {
  Item item;
  item.site = item.function.emplace("ConvolutionBackward0");
  item.forward_site = "model.py:30";
  EXPECT_TRUE(matches_site("model.py:30", item));
  EXPECT_TRUE(matches_site("model.py", item));
  EXPECT_FALSE(matches_site("model.py:31", item));
}

TEST(SitePattern, ANameOfAPlaceWillDo) {
  EXPECT_TRUE(matches_site("train.py:80", "train.py:80"));
  EXPECT_TRUE(matches_site("train.py:*", "train.py:80"));
  EXPECT_FALSE(matches_site("train.py:8", "train.py:80"));
}

}  // namespace
}  // namespace turnpike::analyze
