// Which transfers and synchronisations share a row.
#include "analyze/sums/site_table.h"

#include <gtest/gtest.h>

#include <functional>

namespace turnpike::analyze {
namespace {

// One change to each field that tells a place from another one.
const std::vector<std::function<void(Where&)>> kOtherPlaces = {
    [](Where& where) { where.site = "train.py:24"; },
    [](Where& where) { where.file = "/home/me/train.py"; },
    [](Where& where) { where.line = 24; },
    [](Where& where) { where.function = "train"; },
    [](Where& where) { where.op = "aten::to"; },
    [](Where& where) { where.phase = Phase::kForward; },
    [](Where& where) { where.forward_site = "a.py:1"; },
    [](Where& where) { where.library_site = "lib: a.py:1"; }};

TEST(SiteTable, APlaceOfItsOwnIsARowOfItsOwn) {
  SiteTable sites;
  SyncTable syncs;
  EXPECT_EQ(sites.row_of({}), 0u);
  EXPECT_EQ(syncs.row_of({}), 0u);
  std::uint32_t row = 0;
  for (const auto& change : kOtherPlaces) {
    Site site;
    change(site);
    SyncSite sync;
    change(sync);
    ++row;
    EXPECT_EQ(sites.row_of(site), row);
    EXPECT_EQ(syncs.row_of(sync), row);
    EXPECT_EQ(sites.row_of(site), row) << "seen before";
    EXPECT_EQ(syncs.row_of(sync), row) << "seen before";
  }
}

TEST(SiteTable, AKindOfTransferOfItsOwnIsARowOfItsOwn) {
  const std::vector<std::function<void(TransferKind&)>> changes = {
      [](TransferKind& kind) { kind.direction = Direction::kMemset; },
      [](TransferKind& kind) { kind.src_kind = "pinned"; },
      [](TransferKind& kind) { kind.dst_kind = "pinned"; },
      [](TransferKind& kind) { kind.inner_op = "aten::copy_"; },
      [](TransferKind& kind) { kind.missing_call = MissingCall::kEarlier; },
      [](TransferKind& kind) { kind.in_graph = true; }};
  SiteTable sites;
  EXPECT_EQ(sites.row_of({}), 0u);
  std::uint32_t row = 0;
  for (const auto& change : changes) {
    Site site;
    change(site);
    EXPECT_EQ(sites.row_of(site), ++row);
  }
}

TEST(SiteTable, CallsOfOtherNamesAndStacksShareTheRowOfTheFirst) {
  SiteTable sites;
  Site site;
  site.api = "cudaMemcpy";
  site.stack = {"main (train.py:3)"};
  EXPECT_EQ(sites.row_of(site), 0u);
  site.api = "cudaMemcpyAsync";
  site.stack = {"main (train.py:4)"};
  site.count = 7;
  EXPECT_EQ(sites.row_of(site), 0u);
  const std::vector<Site> rows = sites.take_ranked();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].api, "cudaMemcpy");
  EXPECT_EQ(rows[0].stack, std::vector<std::string>{"main (train.py:3)"});
  EXPECT_EQ(rows[0].count, 0u);
}

TEST(SiteTable, IsEmptyOnceItsRowsAreTaken) {
  SyncTable syncs;
  SyncSite sync;
  sync.site = "first";
  syncs.row_of(sync);
  EXPECT_EQ(syncs.take_ranked().size(), 1u);
  sync.site = "second";
  EXPECT_EQ(syncs.row_of(sync), 0u);
  ASSERT_EQ(syncs.take_ranked().size(), 1u);
}

}  // namespace
}  // namespace turnpike::analyze
