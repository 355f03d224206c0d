// When a walk is known again, and when it is not.
#include "record/stacks/walk_memo.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace turnpike::record {
namespace {

class WalkMemoTest : public testing::Test {
 protected:
  void SetUp() override {
    memo_.begin(key_);
    memo_.add(address_of(1), words_[1], WalkMemo::kKept);
    memo_.add(address_of(3), words_[3], WalkMemo::kLink);
    memo_.add(address_of(6), words_[6], WalkMemo::kKept);
    memo_.finish(77);
  }
  std::uintptr_t address_of(std::size_t word) const { return reinterpret_cast<std::uintptr_t>(&words_[word]); }
  bool holds(const WalkMemo::Key& key) {
    kept_.clear();
    return memo_.holds(key, [this](std::uintptr_t word) { kept_.push_back(word); });
  }

  std::array<std::uintptr_t, 8> words_{10, 11, 12, 13, 14, 15, 16, 17};
  WalkMemo::Key key_{this, 1, reinterpret_cast<std::uintptr_t>(words_.data()), 5};
  WalkMemo memo_;
  std::vector<std::uintptr_t> kept_;
};

TEST_F(WalkMemoTest, HoldsWhileTheWordsStandWhereTheyStood) {
  EXPECT_TRUE(holds(key_));
  EXPECT_EQ(kept_, (std::vector<std::uintptr_t>{11, 16}));
  EXPECT_EQ(memo_.hash(), 77u);
  words_[2] = 99;
  EXPECT_TRUE(holds(key_)) << "a word that the walk did not read";
}

TEST_F(WalkMemoTest, FailsWhenAWordHasChanged) {
  for (const std::size_t word : {1, 3, 6}) {
    ++words_[word];
    EXPECT_FALSE(holds(key_)) << word;
    --words_[word];
  }
  EXPECT_TRUE(holds(key_));
}

TEST_F(WalkMemoTest, FailsForOtherRulesAnotherPlaceOrAnotherEnd) {
  EXPECT_FALSE(holds({nullptr, 1, key_.frame, 5}));
  EXPECT_FALSE(holds({this, 2, key_.frame, 5}));
  EXPECT_FALSE(holds({this, 1, key_.frame + 8, 5}));
  EXPECT_FALSE(holds({this, 1, key_.frame, 6}));
}

TEST_F(WalkMemoTest, KnowsNoWalkThatWasNotFinishedOrWasTooLong) {
  memo_.begin(key_);
  memo_.add(address_of(1), words_[1], WalkMemo::kKept);
  EXPECT_FALSE(holds(key_));
  memo_.begin(key_);
  for (int i = 0; i < 1000; ++i) memo_.add(address_of(1), words_[1], WalkMemo::kKept);
  memo_.finish(78);
  EXPECT_FALSE(holds(key_));
}

}  // namespace
}  // namespace turnpike::record
