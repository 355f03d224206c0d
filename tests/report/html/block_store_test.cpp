#include "report/html/block_store.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <string>

namespace turnpike::report::html {
namespace {

std::shared_future<std::string> known(std::string text) {
  std::promise<std::string> promise;
  promise.set_value(std::move(text));
  return promise.get_future().share();
}

// Of more than stays in memory.
std::string block_text(std::size_t number) {
  return std::string(100'000 + number, static_cast<char>('a' + number % 26));
}

TEST(BlockStore, GivesTextsThatAreKnownNowAndLater) {
  BlockStore store;
  std::promise<std::string> late;
  std::size_t count = 0;
  for (; count < 60; ++count) ASSERT_EQ(store.add(known(block_text(count))), count);
  ASSERT_EQ(store.add(late.get_future().share()), count);
  for (std::size_t i = 1; i < 5; ++i) ASSERT_EQ(store.add(known(block_text(count + i))), count + i);
  late.set_value(block_text(count));
  for (std::size_t i = count + 5; i-- > 0;) ASSERT_EQ(store.text(i), block_text(i)) << i;
}

TEST(BlockStore, ThrowsWhatWentWrongWithABlock) {
  std::promise<std::string> promise;
  promise.set_exception(std::make_exception_ptr(std::runtime_error("no")));
  BlockStore store;
  EXPECT_THROW(store.add(promise.get_future().share()), std::runtime_error);
}

}  // namespace
}  // namespace turnpike::report::html
