// Blocks that threads compress are those that one thread makes, and never many at a time.
#include "report/html/block_packer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace turnpike::report::html {
namespace {

std::string planes_number(std::size_t number) {
  std::string planes;
  for (std::size_t i = 0; i < 20'000 / (number + 1); ++i) planes += std::to_string(i * number);
  return planes;
}

TEST(HtmlBlockPacker, GivesEachBlockItsTextWithAnyNumberOfThreads) {
  for (const std::size_t threads : {0u, 1u, 4u}) {
    BlockPacker packer(threads);
    std::vector<std::shared_future<std::string>> texts;
    for (std::size_t i = 0; i < 40; ++i) texts.push_back(packer.pack(planes_number(i)));
    for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(texts[i].get(), packed(planes_number(i))) << i << " of " << threads;
  }
}

TEST(HtmlBlockPacker, UsesNoThreadWhereItIsToldSo) {
  const auto caller = std::this_thread::get_id();
  for (const std::size_t threads : {0u, 2u}) {
    std::atomic<int> elsewhere = 0;
    BlockPacker packer(threads, [&](std::string_view, Effort) {
      if (std::this_thread::get_id() != caller) ++elsewhere;
      return std::string();
    });
    for (int i = 0; i < 10; ++i) packer.pack("").get();
    EXPECT_EQ(elsewhere, threads == 0 ? 0 : 10);
  }
  EXPECT_NE(BlockPacker::usual_threads(), 1u);
  EXPECT_LE(BlockPacker::usual_threads(), BlockPacker::kMaxThreads);
}

TEST(HtmlBlockPacker, ThrowsWhatWentWrongWhereTheTextIsAskedFor) {
  for (const std::size_t threads : {0u, 2u}) {
    BlockPacker packer(threads, [](std::string_view planes, Effort) {
      if (planes == "bad") throw std::length_error("too long");
      return std::string(planes);
    });
    const auto before = packer.pack("a");
    const auto bad = packer.pack("bad");
    const auto after = packer.pack("b");
    EXPECT_EQ(before.get(), "a");
    EXPECT_THROW(bad.get(), std::length_error);
    EXPECT_EQ(after.get(), "b") << "the thread goes on";
  }
}

TEST(HtmlBlockPacker, HoldsFewBlocksAtATime) {
  std::promise<void> gate;
  const std::shared_future<void> is_open = gate.get_future().share();
  BlockPacker packer(2, [&](std::string_view planes, Effort) {
    is_open.wait();
    return std::string(planes);
  });
  std::atomic<std::size_t> accepted = 0;
  std::vector<std::shared_future<std::string>> texts;
  std::thread caller([&] {
    for (int i = 0; i < 50; ++i) {
      texts.push_back(packer.pack("x"));
      ++accepted;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(accepted, 2 + 2 * BlockPacker::kWaitingByThread);
  gate.set_value();
  caller.join();
  for (const auto& text : texts) EXPECT_EQ(text.get(), "x");
}

TEST(HtmlBlockPacker, EndsWithoutCompressingWhatWaits) {
  std::atomic<int> packed_count = 0;
  std::promise<void> gate;
  const std::shared_future<void> is_open = gate.get_future().share();
  std::shared_future<std::string> last;
  std::thread opener;
  {
    BlockPacker packer(1, [&](std::string_view, Effort) {
      is_open.wait();
      ++packed_count;
      return std::string();
    });
    const auto first = packer.pack("");
    last = packer.pack("");
    last = packer.pack("");
    // The waiting blocks are dropped first, so the last one fails while the thread is still held.
    opener = std::thread([&] {
      last.wait();
      gate.set_value();
    });
  }
  opener.join();
  EXPECT_LE(packed_count, 1);
  EXPECT_THROW(last.get(), std::future_error);
}

}  // namespace
}  // namespace turnpike::report::html
