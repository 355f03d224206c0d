// Places of diff and check in words.
#include "report/text/item_text.h"

#include <gtest/gtest.h>

namespace turnpike::report {
namespace {

using analyze::Direction;
using analyze::Item;
using analyze::Phase;

Item item_with(std::optional<std::string> file, std::optional<std::string> function,
               std::optional<std::string> forward_site, std::optional<Phase> phase) {
  Item item;
  item.site = "site.py:1";
  item.file = std::move(file);
  item.function = std::move(function);
  item.forward_site = std::move(forward_site);
  item.phase = phase;
  return item;
}

TEST(ItemText, APlaceIsALineAForwardLineOrAFunction) {
  const auto none = std::nullopt;
  EXPECT_EQ(place_text(item_with("/a/site.py", "f", "model.py:4", Phase::kBackward)), "site.py:1");
  EXPECT_EQ(place_text(item_with(none, "f", "model.py:4", Phase::kBackward)), "model.py:4 (bwd)");
  EXPECT_EQ(place_text(item_with(none, "f", "model.py:4", Phase::kForward)), "model.py:4");
  EXPECT_EQ(place_text(item_with(none, "f", "model.py:4", none)), "model.py:4");
  EXPECT_EQ(place_text(item_with(none, "f", none, Phase::kBackward)), "f");
  EXPECT_EQ(place_text(item_with(none, none, none, none)), "site.py:1");
}

TEST(ItemText, EveryDirectionHasItsWords) {
  const std::tuple<std::optional<Direction>, const char*, const char*, const char*> cases[] = {
      {Direction::kHostToDevice, "CPU > GPU", "upload", "from > to"},
      {Direction::kDeviceToHost, "GPU > CPU", "download", "from > to"},
      {Direction::kDeviceToDevice, "in GPU", "copy inside the GPU", "from > to"},
      {Direction::kPeerToPeer, "GPU > GPU", "copy between GPUs", "from > to"},
      {Direction::kHostToHost, "CPU > CPU", "copy on the CPU", "from > to"},
      {Direction::kMemset, "memset", "memset", "to"},
      {std::nullopt, "sync", "synchronisation", ""}};
  for (const auto& [direction, kind, noun, memory] : cases) {
    Item item;
    item.direction = direction;
    item.src_kind = "from";
    item.dst_kind = "to";
    EXPECT_EQ(kind_text(item), kind);
    EXPECT_EQ(noun_of(item), noun);
    EXPECT_EQ(memory_text(item), memory);
  }
  Item unknown;
  unknown.direction = Direction::kHostToDevice;
  EXPECT_EQ(memory_text(unknown), "unknown > unknown");
  unknown.direction = Direction::kMemset;
  EXPECT_EQ(memory_text(unknown), "unknown");
}

TEST(ItemText, CodeIsTheOperatorElseTheCall) {
  Item item;
  EXPECT_EQ(code_text(item), "operator unknown");
  item.api = "cudaMemcpy";
  EXPECT_EQ(code_text(item), "cudaMemcpy");
  item.op = "aten::to";
  EXPECT_EQ(code_text(item), "aten::to");
  item.function = "train";
  EXPECT_EQ(code_text(item), "aten::to in train");
}

}  // namespace
}  // namespace turnpike::report
