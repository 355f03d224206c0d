// The tree of call paths, the tables by key, and what a place restricts them to.
#include "report/text/path_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::report {
namespace {

using analyze::CallPaths;
using analyze::Direction;
using analyze::PathCost;
using testing::HasSubstr;
using testing::Not;

// main.py:1 -> lib a.py:1 -> lib b.py:2: 60 us down, of B.forward; -> own net.py:9: 30 us up; no line: 10 us.
CallPaths paths() {
  CallPaths paths;
  paths.frames = {{"main.py:1", "", "/home/me/main.py", "main"},
                  {"lib: a.py:1", "lib", "/p/site-packages/lib/a.py", "outer"},
                  {"lib: b.py:2", "lib", "/p/site-packages/lib/b.py", "B.forward"},
                  {"net.py:9", "", "/home/me/net.py", "Net.forward"}};
  paths.nodes = {{analyze::kNoParent, 0}, {0, 1}, {1, 2}, {0, 3}};
  paths.costs = {{.node = 2,
                  .what = "aten::item",
                  .direction = Direction::kDeviceToHost,
                  .count = 6,
                  .bytes = 24,
                  .host_blocked_ns = 50'000,
                  .exposed_ns = 10'000},
                 {.node = 3,
                  .what = "aten::to",
                  .direction = Direction::kHostToDevice,
                  .count = 3,
                  .bytes = 3'000,
                  .host_blocked_ns = 30'000},
                 {.node = analyze::kNoParent,
                  .what = "cudaDeviceSynchronize",
                  .direction = std::nullopt,
                  .count = 1,
                  .host_blocked_ns = 10'000}};
  return paths;
}

TEST(PathTree, SumsTheCostOfEachLineOverAllThatItLedTo) {
  EXPECT_EQ(to_tree_text(paths(), {.width = 80}),
            "CALL PATHS\n"
            "  cost: time the CPU was blocked plus time the GPU copied without computing.\n"
            "  Wrappers (nn.Module's __call__, decorators) are left out.\n"
            "   100 us 100 %  all\n"
            "  90.0 us  90 %    main.py:1 main\n"
            "  60.0 us  60 %      lib: b.py:2 B.forward (behind 1 more line)\n"
            "  60.0 us  60 %        aten::item, GPU > CPU: 6 x, 24 B\n"
            "  30.0 us  30 %      net.py:9 Net.forward\n"
            "  30.0 us  30 %        aten::to, CPU > GPU: 3 x, 3.00 kB\n"
            "  10.0 us  10 %    cudaDeviceSynchronize, sync: 1 x\n");
}

TEST(PathTree, PutsWhatIsSmallTogether) {
  CallPaths small = paths();
  small.costs[1].host_blocked_ns = 600;
  EXPECT_THAT(to_tree_text(small, {}), HasSubstr("1 more, each below 1 %"));
  EXPECT_THAT(to_tree_text(small, {}), Not(HasSubstr("net.py:9")));
}

TEST(PathTree, OfNothingIsEmpty) {
  EXPECT_THAT(to_tree_text({}, {}), HasSubstr("0 ns"));
}

std::string table_by(PathKey key) {
  return to_table_text(paths(), key, {});
}

TEST(PathTree, OfWhatCostNothingEndsAtOnce) {
  CallPaths free = paths();
  for (PathCost& cost : free.costs) cost.host_blocked_ns = cost.exposed_ns = std::nullopt;
  const std::string text = to_tree_text(free, {});
  EXPECT_THAT(text, HasSubstr("     0 ns     ?  all\n"));
  EXPECT_THAT(text, Not(HasSubstr("main.py:1")));
}

TEST(PathTables, NameTheirRowsByTheKey) {
  EXPECT_THAT(table_by(PathKey::kPath), HasSubstr("60.0 us    60 %  GPU > CPU      6     24 B  "
                                                  "main.py:1 > lib: b.py:2 > aten::item\n"));
  EXPECT_THAT(table_by(PathKey::kPath), HasSubstr("net.py:9 > aten::to\n"));
  EXPECT_THAT(table_by(PathKey::kPath), HasSubstr("(no line of Python known) > cudaDeviceSynchronize\n"));
  EXPECT_THAT(table_by(PathKey::kLine), HasSubstr("  main.py:1\n"));
  EXPECT_THAT(table_by(PathKey::kLine), HasSubstr("  net.py:9\n"));
  EXPECT_THAT(table_by(PathKey::kLibrary), HasSubstr("  lib\n"));
  EXPECT_THAT(table_by(PathKey::kLibrary), HasSubstr("  (the program itself)\n"));
  EXPECT_THAT(table_by(PathKey::kOperator), HasSubstr("  aten::to\n"));
  EXPECT_THAT(table_by(PathKey::kModule), HasSubstr("  lib: B\n"));
  EXPECT_THAT(table_by(PathKey::kModule), HasSubstr("  Net\n"));
  EXPECT_THAT(table_by(PathKey::kModule), HasSubstr("  (outside of modules)\n"));
}

TEST(PathTables, ShowAsManyRowsAsAskedFor) {
  const std::string text = to_table_text(paths(), PathKey::kPath, {.top = 1});
  EXPECT_THAT(text, HasSubstr("2 more: --top 3 shows them all"));
  EXPECT_THAT(text, Not(HasSubstr("net.py:9")));
}

TEST(PathKeys, AreFoundByTheirNames) {
  for (const auto& [key, name, meaning] : all_path_keys()) EXPECT_EQ(path_key_named(name), key);
  EXPECT_EQ(path_key_named("row"), std::nullopt);
}

TEST(PathsUnder, KeepsWhatAPlaceLedTo) {
  EXPECT_EQ(paths_under(paths(), "main.py:1").costs.size(), 2u);
  EXPECT_EQ(paths_under(paths(), "lib").costs.size(), 1u);
  EXPECT_EQ(paths_under(paths(), "b.py:2").costs.size(), 1u);
  EXPECT_EQ(paths_under(paths(), "net.py").costs.size(), 1u) << "all lines of a file";
  EXPECT_EQ(paths_under(paths(), "et.py").costs.size(), 0u);
  EXPECT_EQ(paths_under(paths(), "li").costs.size(), 0u);
}

}  // namespace
}  // namespace turnpike::report
