// Sites, totals and synchronisations of one process, with exact figures.
#include "analyze/sums/process_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using trace::AutogradRole;
using trace::CallKind;
using trace::CopyKind;
using trace::MemoryKind;

const Total& total(const Report& report, Direction direction) {
  return report.totals[static_cast<std::size_t>(direction)];
}

TEST(Analysis, OfNothingIsEmptyAndUnknown) {
  ProcessBuilder builder;
  const Report report = builder.report();
  EXPECT_THAT(report.sites, IsEmpty());
  EXPECT_THAT(report.sync_sites, IsEmpty());
  EXPECT_EQ(report.span_ns, 0);
  EXPECT_EQ(report.steps, std::nullopt);
  EXPECT_EQ(report.syncs.host_blocked_ns, std::nullopt);
  EXPECT_EQ(total(report, Direction::kHostToDevice).device_time_ns, std::nullopt);
  EXPECT_EQ(report.verdict.bound_by, std::nullopt);
  EXPECT_THAT(report.losses, IsEmpty());
}

// A blocking upload of pageable memory: half of its device time under a kernel of another stream.
TEST(Analysis, ChargesAnUploadToItsLine) {
  ProcessBuilder builder;
  const auto stack = builder.stack({builder.op("copy_"), builder.op("_to_copy"), builder.op("to_dtype_layout"),
                                    builder.python("train", "/home/user/train.py", 23)});
  builder.call({.start_ns = 1'000, .end_ns = 21'000, .correlation = 5, .stack = stack});
  builder.copy(
      {.start_ns = 10'000, .end_ns = 20'000, .correlation = 5, .bytes = 200'000, .src = MemoryKind::kPageable});
  builder.call({.kind = CallKind::kLaunch, .start_ns = 0, .end_ns = 500, .correlation = 4});
  builder.kernel({.start_ns = 15'000, .end_ns = 30'000, .correlation = 4});
  const Report report = builder.report();

  ASSERT_THAT(report.sites, SizeIs(1));
  const Site& site = report.sites.front();
  EXPECT_EQ(site.site, "train.py:23");
  EXPECT_EQ(site.file, "/home/user/train.py");
  EXPECT_EQ(site.line, 23u);
  EXPECT_EQ(site.function, "train");
  EXPECT_EQ(site.op, "aten::to");
  EXPECT_EQ(site.inner_op, "aten::copy_");
  EXPECT_EQ(site.api, "cudaMemcpyAsync");
  EXPECT_EQ(site.phase, Phase::kOther);
  EXPECT_EQ(site.direction, Direction::kHostToDevice);
  EXPECT_EQ(site.src_kind, "pageable");
  EXPECT_EQ(site.dst_kind, "device");
  EXPECT_EQ(site.forward_site, std::nullopt);
  EXPECT_THAT(site.streams, ElementsAre(kDefaultStream));
  EXPECT_THAT(site.stack, ElementsAre("train (/home/user/train.py:23)"));
  EXPECT_FALSE(site.in_graph);
  EXPECT_EQ(site.count, 1u);
  EXPECT_EQ(site.bytes, 200'000u);
  EXPECT_EQ(site.blocked_count, 1u);
  EXPECT_EQ(site.device_time_ns, 10'000);
  EXPECT_EQ(site.host_blocked_ns, 20'000);
  EXPECT_EQ(site.exposed_ns, 5'000);
  EXPECT_EQ(site.gpu_idle_ns, 9'000);  // from 1 to 10 us
  EXPECT_DOUBLE_EQ(*site.overlapped_pct, 50.0);
  EXPECT_DOUBLE_EQ(*site.bandwidth_gbps, 20.0);

  const Total& uploads = total(report, Direction::kHostToDevice);
  EXPECT_EQ(uploads.count, 1u);
  EXPECT_EQ(uploads.bytes, 200'000u);
  EXPECT_EQ(uploads.device_time_ns, 10'000);
  EXPECT_EQ(uploads.host_blocked_ns, 20'000);
  EXPECT_EQ(uploads.pageable_count, 1u);
  EXPECT_EQ(uploads.pageable_bytes, 200'000u);
  EXPECT_DOUBLE_EQ(*uploads.bandwidth_gbps, 20.0);
  EXPECT_EQ(uploads.link_gbps, std::nullopt);
  EXPECT_EQ(report.span_ns, 30'000);
}

// What .item() does: a small copy to pinned memory that does not block, and a synchronisation that does.
struct Item {
  ProcessBuilder builder;
  std::uint32_t copy_stack;
  std::uint32_t sync_stack;

  Item() {
    const auto line = builder.python("train", "/home/user/train.py", 30);
    copy_stack = builder.stack({builder.op("_local_scalar_dense"), builder.op("item"), line});
    sync_stack = builder.stack({builder.native("cudaStreamSynchronize", "/lib/libcudart.so.13"),
                                builder.op("_local_scalar_dense"), builder.op("item"), line});
  }
  void add(std::int64_t at_ns, std::uint32_t correlation) {
    builder.call({.start_ns = at_ns, .end_ns = at_ns + 4'000, .correlation = correlation, .stack = copy_stack});
    builder.copy({.start_ns = at_ns + 20'000,
                  .end_ns = at_ns + 21'000,
                  .correlation = correlation,
                  .bytes = 4,
                  .kind = CopyKind::kDeviceToHost,
                  .src = MemoryKind::kDevice,
                  .dst = MemoryKind::kPinned});
    builder.call({.kind = CallKind::kSynchronize,
                  .start_ns = at_ns + 5'000,
                  .end_ns = at_ns + 25'000,
                  .correlation = correlation + 1,
                  .stack = sync_stack,
                  .name = "cudaStreamSynchronize"});
  }
};

TEST(Analysis, ChargesThePairedSynchronisationToItsTransfer) {
  Item item;
  item.add(0, 1);
  item.add(100'000, 3);
  item.builder.kernel({.start_ns = 0, .end_ns = 10'000});
  const Report report = item.builder.report();
  ASSERT_THAT(report.sites, SizeIs(1));
  EXPECT_EQ(report.sites[0].op, "aten::item");
  EXPECT_EQ(report.sites[0].count, 2u);
  EXPECT_EQ(report.sites[0].blocked_count, 2u);
  EXPECT_EQ(report.sites[0].host_blocked_ns, 40'000);
  EXPECT_EQ(report.sites[0].gpu_idle_ns, 14'000 + 19'000);  // 10-20 and 21-25 us; all but the copy
  ASSERT_THAT(report.sync_sites, SizeIs(1));
  const SyncSite& sync = report.sync_sites[0];
  EXPECT_EQ(sync.site, "train.py:30");
  EXPECT_EQ(sync.op, "aten::item");
  EXPECT_EQ(sync.api, "cudaStreamSynchronize");
  EXPECT_EQ(sync.count, 2u);
  EXPECT_EQ(sync.of_transfers_count, 2u);
  EXPECT_EQ(sync.host_blocked_ns, 40'000);
  EXPECT_EQ(sync.gpu_idle_ns, 33'000);
  EXPECT_EQ(report.syncs.count, 2u);
  EXPECT_EQ(report.syncs.host_blocked_ns, 40'000);
  EXPECT_EQ(report.syncs.of_transfers_count, 2u);
  EXPECT_EQ(report.syncs.of_transfers_host_blocked_ns, 40'000);
}

TEST(Analysis, CountsAnExplicitSynchronisationForItself) {
  ProcessBuilder builder;
  builder.call({.kind = CallKind::kSynchronize,
                .start_ns = 10,
                .end_ns = 50,
                .stack = builder.line("/home/user/train.py", 40),
                .name = "cudaDeviceSynchronize"});
  builder.call({.kind = CallKind::kDeviceFree, .start_ns = 60, .end_ns = 90, .name = "cudaFree"});
  const Report report = builder.report();
  ASSERT_THAT(report.sync_sites, SizeIs(1));
  EXPECT_EQ(report.sync_sites[0].site, "train.py:40");
  EXPECT_EQ(report.syncs.count, 1u);
  EXPECT_EQ(report.syncs.host_blocked_ns, 40);
  EXPECT_EQ(report.syncs.of_transfers_count, 0u);
  EXPECT_EQ(report.syncs.of_transfers_host_blocked_ns, std::nullopt);
}

TEST(Analysis, PairsNoSynchronisationWithACopyThatIsNotThere) {
  Item item;
  item.builder.call({.start_ns = 0, .end_ns = 10, .correlation = 1, .stack = item.copy_stack});
  item.builder.call({.kind = CallKind::kSynchronize, .start_ns = 20, .end_ns = 50, .stack = item.sync_stack});
  EXPECT_EQ(item.builder.report().syncs.of_transfers_count, 0u);
}

TEST(Analysis, SaysUnknownWithoutKernelRecords) {
  ProcessBuilder builder("transfers");
  builder.call({.start_ns = 0, .end_ns = 100, .correlation = 1});
  builder.copy({.start_ns = 10, .end_ns = 60, .correlation = 1, .bytes = 100});
  builder.call({.kind = CallKind::kSynchronize, .start_ns = 200, .end_ns = 300});
  const Report report = builder.report();
  const Site& site = report.sites.at(0);
  EXPECT_EQ(site.host_blocked_ns, 100);
  EXPECT_EQ(site.device_time_ns, 50);
  EXPECT_EQ(site.exposed_ns, std::nullopt);
  EXPECT_EQ(site.overlapped_pct, std::nullopt);
  EXPECT_EQ(site.gpu_idle_ns, std::nullopt);
  EXPECT_EQ(report.sync_sites.at(0).gpu_idle_ns, std::nullopt);
  EXPECT_EQ(report.verdict.bound_by, std::nullopt);
  EXPECT_EQ(report.verdict.gpu_busy_pct, std::nullopt);
}

TEST(Analysis, ExposesEverythingWhenNothingWasLaunchedInFullDetail) {
  ProcessBuilder builder("full");
  builder.call({.start_ns = 0, .end_ns = 1, .correlation = 1});
  builder.copy({.start_ns = 10'000, .end_ns = 10'050, .correlation = 1});
  const Site site = builder.report().sites.at(0);
  EXPECT_EQ(site.exposed_ns, 50);
  EXPECT_DOUBLE_EQ(*site.overlapped_pct, 0.0);
}

TEST(Analysis, SumsOnlyWhatIsKnown) {
  ProcessBuilder builder;
  const auto stack = builder.line("/home/user/train.py", 1);
  builder.call({.start_ns = 0, .end_ns = 10, .correlation = 1, .stack = stack});
  builder.copy({.start_ns = 5'000, .end_ns = 5'100, .correlation = 1, .bytes = 1000});
  builder.call({.start_ns = 20, .end_ns = 30, .correlation = 2, .stack = stack});
  builder.copy({.start_ns = trace::kUnknownTime, .end_ns = trace::kUnknownTime, .correlation = 2, .bytes = 5000});
  const Report report = builder.report();
  const Site& site = report.sites.at(0);
  EXPECT_EQ(site.count, 2u);
  EXPECT_EQ(site.bytes, 6000u);
  EXPECT_EQ(site.device_time_ns, 100);
  EXPECT_EQ(site.host_blocked_ns, 0);
  EXPECT_DOUBLE_EQ(*site.bandwidth_gbps, 10.0);  // of the 1000 bytes whose time is known
}

TEST(Analysis, SaysUnknownWhereNoTransferHasTimes) {
  ProcessBuilder builder;
  builder.call({.start_ns = 20, .end_ns = 30, .correlation = 2});
  builder.copy({.start_ns = trace::kUnknownTime, .end_ns = trace::kUnknownTime, .correlation = 2, .bytes = 5000});
  const Site site = builder.report().sites.at(0);
  EXPECT_EQ(site.device_time_ns, std::nullopt);
  EXPECT_EQ(site.host_blocked_ns, std::nullopt);
  EXPECT_EQ(site.exposed_ns, std::nullopt);
  EXPECT_EQ(site.bandwidth_gbps, std::nullopt);
}

TEST(Analysis, GivesAZeroLengthCopyNoBandwidth) {
  ProcessBuilder builder;
  builder.copy({.start_ns = 10, .end_ns = 10, .correlation = 1, .bytes = 4});
  const Site site = builder.report().sites.at(0);
  EXPECT_EQ(site.device_time_ns, 0);
  EXPECT_EQ(site.bandwidth_gbps, std::nullopt);
  EXPECT_EQ(site.overlapped_pct, std::nullopt);
}

TEST(Analysis, KeepsATransferWithoutItsCall) {
  ProcessBuilder builder;
  builder.copy({.start_ns = 10, .end_ns = 20, .correlation = 77, .bytes = 64});
  const Report report = builder.report();
  const Site& site = report.sites.at(0);
  EXPECT_EQ(site.site, "call not in file");
  EXPECT_EQ(site.missing_call, MissingCall::kUnknown);
  EXPECT_EQ(site.file, std::nullopt);
  EXPECT_EQ(site.api, std::nullopt);
  EXPECT_EQ(site.phase, std::nullopt);
  EXPECT_EQ(site.host_blocked_ns, std::nullopt);
  EXPECT_EQ(site.count, 1u);
  EXPECT_EQ(report.losses.at("unmatched_activity"), 1u);
}

TEST(Analysis, TellsCopiesAskedForBeforeTheFileBeganFromThoseWhoseCallWasLost) {
  ProcessBuilder builder;
  builder.call({.start_ns = 100, .end_ns = 110, .correlation = 50});
  builder.copy({.start_ns = 105, .end_ns = 108, .correlation = 49, .bytes = 64});
  builder.copy({.start_ns = 120, .end_ns = 130, .correlation = 50, .bytes = 32});
  builder.copy({.start_ns = 140, .end_ns = 150, .correlation = 51, .bytes = 16});
  const Report report = builder.report();
  ASSERT_EQ(report.sites.size(), 3u);
  std::map<std::uint64_t, std::optional<MissingCall>> missing_by_bytes;
  for (const Site& site : report.sites) missing_by_bytes[site.bytes] = site.missing_call;
  EXPECT_EQ(missing_by_bytes.at(64), MissingCall::kEarlier);
  EXPECT_EQ(missing_by_bytes.at(32), std::nullopt);
  EXPECT_EQ(missing_by_bytes.at(16), MissingCall::kUnknown);
}

TEST(Analysis, MissesNoCallWhereTheLineThatCapturedTheWorkIsKnown) {
  ProcessBuilder builder;
  builder.graph_node(11, builder.line("train.py", 7), 0);
  builder.copy({.start_ns = 10, .end_ns = 20, .correlation = 77, .bytes = 64, .graph_node = 11});
  EXPECT_EQ(builder.report().sites.at(0).missing_call, std::nullopt);
}

TEST(Analysis, CountsCopiesWhoseDeviceRecordNeverCame) {
  ProcessBuilder builder;
  builder.call({.start_ns = 0, .end_ns = 10, .correlation = 1, .bytes = 64});
  builder.call({.start_ns = 20, .end_ns = 30, .correlation = 2, .bytes = 64});
  builder.copy({.start_ns = 25, .end_ns = 28, .correlation = 2, .bytes = 64});
  EXPECT_EQ(builder.report().losses.at("missing_activity"), 1u);
}

TEST(Analysis, MissesNoRecordOfACopyThatMovesNothing) {
  ProcessBuilder builder;
  builder.call({.start_ns = 0, .end_ns = 10, .correlation = 1, .bytes = 0});
  builder.call({.start_ns = 20, .end_ns = 30, .correlation = 2, .bytes = trace::kUnknownSize});
  builder.call({.start_ns = 40, .end_ns = 50, .correlation = 3, .bytes = 64, .result = 1});
  builder.call({.start_ns = 60, .end_ns = 70, .correlation = 4, .bytes = 64, .is_captured = true});
  EXPECT_TRUE(builder.report().losses.empty());
}

TEST(Analysis, NamesASiteWithoutStackByItsCall) {
  ProcessBuilder builder;
  builder.call({.start_ns = 0, .end_ns = 1, .correlation = 1, .name = "cuMemcpyHtoD_v2"});
  builder.copy({.start_ns = 10, .end_ns = 20, .correlation = 1});
  EXPECT_EQ(builder.report().sites.at(0).site, "cuMemcpyHtoD_v2");
}

TEST(Analysis, TellsSitesApartByDirectionMemoryAndOperator) {
  ProcessBuilder builder;
  const auto line = builder.python("f", "/home/user/train.py", 1);
  const auto to = builder.stack({builder.op("to_device"), line});
  const auto copy = builder.stack({builder.op("copy_"), line});
  std::uint32_t correlation = 0;
  const auto add = [&](std::uint32_t stack, CopySpec spec) {
    builder.call({.start_ns = 0, .end_ns = 1, .correlation = ++correlation, .stack = stack});
    spec.correlation = correlation;
    builder.copy(spec);
  };
  add(to, {});
  add(to, {});
  add(to, {.src = MemoryKind::kPageable});
  add(to, {.kind = CopyKind::kDeviceToHost});
  add(copy, {});
  const Report report = builder.report();
  EXPECT_THAT(report.sites, SizeIs(4));
  EXPECT_EQ(total(report, Direction::kHostToDevice).count, 4u);
  EXPECT_EQ(total(report, Direction::kDeviceToHost).count, 1u);
}

TEST(Analysis, RanksSitesByBlockedPlusExposedTime) {
  ProcessBuilder builder;
  const auto add = [&](std::uint32_t line, std::uint32_t correlation, std::int64_t call_ns, std::int64_t copy_ns) {
    builder.call({.start_ns = 0,
                  .end_ns = call_ns,
                  .correlation = correlation,
                  .stack = builder.line("/home/user/train.py", line)});
    builder.copy({.start_ns = 0, .end_ns = copy_ns, .correlation = correlation});
  };
  add(1, 1, 10, 50'000);      // 50 exposed
  add(2, 2, 60'000, 30'000);  // 60 blocked, 30 exposed
  add(3, 3, 10, 70'000);      // 70 exposed
  const Report report = builder.report();
  EXPECT_EQ(report.sites.at(0).site, "train.py:2");
  EXPECT_EQ(report.sites.at(1).site, "train.py:3");
  EXPECT_EQ(report.sites.at(2).site, "train.py:1");
}

TEST(Analysis, CountsABatchByItsCopiesAndItsCallOnce) {
  ProcessBuilder builder;
  builder.call({.start_ns = 0, .end_ns = 50'000, .correlation = 1});
  builder.copy({.start_ns = 10'000, .end_ns = 20'000, .correlation = 1, .bytes = 300, .count = 3});
  builder.copy({.start_ns = 20'000, .end_ns = 30'000, .correlation = 1, .bytes = 200, .count = 2});
  const Site site = builder.report().sites.at(0);
  EXPECT_EQ(site.count, 5u);
  EXPECT_EQ(site.blocked_count, 5u);
  EXPECT_EQ(site.bytes, 500u);
  EXPECT_EQ(site.host_blocked_ns, 50'000);
  EXPECT_EQ(site.gpu_idle_ns, 30'000);
}

TEST(Analysis, LeadsCopiesOfAGraphToTheLineThatCapturedIt) {
  ProcessBuilder builder;
  const auto captured = builder.stack({builder.op("copy_"), builder.python("capture", "/home/user/model.py", 7)});
  builder.graph_node(11, captured, 0);
  builder.graph_node(12, trace::kNoId, 11);
  builder.call({.kind = CallKind::kGraphLaunch,
                .start_ns = 0,
                .end_ns = 90'000,
                .correlation = 1,
                .stack = builder.line("/home/user/train.py", 3),
                .name = "cudaGraphLaunch"});
  builder.copy({.start_ns = 10'000, .end_ns = 20'000, .correlation = 1, .bytes = 64, .graph_node = 12});
  builder.copy({.start_ns = 30'000, .end_ns = 40'000, .correlation = 1, .bytes = 64, .graph_node = 12});
  const Report report = builder.report();
  ASSERT_THAT(report.sites, SizeIs(1));
  const Site& site = report.sites[0];
  EXPECT_EQ(site.site, "model.py:7");
  EXPECT_EQ(site.op, "aten::copy_");
  EXPECT_TRUE(site.in_graph);
  EXPECT_EQ(site.count, 2u);
  EXPECT_EQ(site.blocked_count, 0u);
  EXPECT_EQ(site.host_blocked_ns, 0);
}

TEST(Analysis, LeadsCopiesOfAnUnknownNodeToTheReplay) {
  ProcessBuilder builder;
  builder.call({.kind = CallKind::kGraphLaunch,
                .start_ns = 0,
                .end_ns = 9,
                .correlation = 1,
                .stack = builder.line("/home/user/train.py", 3)});
  builder.copy({.start_ns = 10, .end_ns = 20, .correlation = 1, .graph_node = 99});
  const Site site = builder.report().sites.at(0);
  EXPECT_EQ(site.site, "train.py:3");
  EXPECT_TRUE(site.in_graph);
}

// Two copies in a backward pass, whose nodes lines 50 and 51 made.
Report report_of_backward(const std::string& detail) {
  ProcessBuilder builder(detail);
  builder.thread(200, "pt_autograd_0");
  const auto apply = builder.native("_ZN5torch8autograd9generated15ToCopyBackward05applyEv", "/lib/libtorch_cpu.so");
  const auto backward = builder.stack({builder.op("_to_copy"), apply});
  for (std::uint32_t node = 0; node < 2; ++node) {
    builder.call({.start_ns = 10 * (node + 1),
                  .end_ns = 10 * (node + 1) + 1,
                  .correlation = node + 1,
                  .stack = builder.line("/home/user/model.py", 50 + node),
                  .role = AutogradRole::kForward,
                  .sequence = node + 1});
    builder.call({.start_ns = 100 + node,
                  .end_ns = 101 + node,
                  .correlation = 10 + node,
                  .stack = backward,
                  .thread = 200,
                  .role = AutogradRole::kBackward,
                  .sequence = node});
    builder.copy({.start_ns = 200, .end_ns = 300 + node, .correlation = 10 + node, .bytes = 8});
  }
  return builder.report();
}

TEST(Analysis, LeadsABackwardTransferToItsForwardLine) {
  const Report report = report_of_backward("full");
  ASSERT_THAT(report.sites, SizeIs(2));
  EXPECT_EQ(report.sites[0].site, "ToCopyBackward0 (libtorch_cpu.so)");
  EXPECT_EQ(report.sites[0].phase, Phase::kBackward);
  EXPECT_EQ(report.sites[0].forward_site, "model.py:51");
  EXPECT_EQ(report.sites[1].forward_site, "model.py:50");
}

// What torch.autograd.graph.save_on_cpu does in the thread of autograd.
Report report_of_saved_tensor(const std::string& forward_file) {
  ProcessBuilder builder("full");
  builder.thread(200, "pt_autograd_0");
  const auto hook = builder.python("save_on_cpu.__init__.<locals>.unpack_from_cpu",
                                   "/venv/lib/python3.12/site-packages/torch/autograd/graph.py", 405);
  const auto apply = builder.native("_ZN5torch8autograd9generated12SinBackward05applyEv", "/lib/libtorch_cpu.so");
  builder.call({.start_ns = 10,
                .end_ns = 11,
                .correlation = 1,
                .stack = builder.line(forward_file, 50),
                .role = AutogradRole::kForward,
                .sequence = 1});
  builder.call({.start_ns = 100,
                .end_ns = 101,
                .correlation = 10,
                .stack = builder.stack({builder.op("_to_copy"), hook, apply}),
                .thread = 200,
                .role = AutogradRole::kBackward,
                .sequence = 0});
  builder.copy({.start_ns = 200, .end_ns = 300, .correlation = 10, .bytes = 8});
  return builder.report();
}

TEST(Analysis, LeadsAHookOfALibraryInTheBackwardPassToTheForwardLine) {
  const Report report = report_of_saved_tensor("/home/user/model.py");
  ASSERT_THAT(report.sites, SizeIs(1));
  EXPECT_EQ(report.sites[0].phase, Phase::kBackward);
  EXPECT_EQ(report.sites[0].forward_site, "model.py:50");
  EXPECT_EQ(report.sites[0].file, std::nullopt) << "no line of the program: reports show the forward one";
  EXPECT_EQ(report.sites[0].line, std::nullopt);
  EXPECT_EQ(report.sites[0].library_site, "torch: autograd/graph.py:405");
  ASSERT_FALSE(report.paths.costs.empty());
  const auto way = way_to(report.paths, report.paths.costs[0].node);
  ASSERT_THAT(way, SizeIs(1));
  EXPECT_EQ(report.paths.frames[report.paths.nodes[way[0]].frame].site, "model.py:50");
}

TEST(Analysis, LeavesAHookOfALibraryWhereTheForwardLineIsALibrarysToo) {
  const Report report = report_of_saved_tensor("/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py");
  ASSERT_THAT(report.sites, SizeIs(1));
  EXPECT_EQ(report.sites[0].site, "graph.py:405");
  EXPECT_EQ(report.sites[0].line, 405u);
}

// The launch that came first for a node may be missing, and a later operation's copy be the first that was recorded.
TEST(Analysis, GuessesNoForwardLineWithoutLaunches) {
  const Report report = report_of_backward("transfers");
  ASSERT_THAT(report.sites, SizeIs(1));
  EXPECT_EQ(report.sites[0].forward_site, std::nullopt);
}

TEST(Analysis, TakesAThreadOfAutogradForBackward) {
  ProcessBuilder builder;
  builder.call({.start_ns = 0, .end_ns = 1, .correlation = 1, .thread = 200});
  builder.copy({.start_ns = 10, .end_ns = 20, .correlation = 1});
  builder.thread(200, "pt_autograd_3");  // named after its first call
  EXPECT_EQ(builder.report().sites.at(0).phase, Phase::kBackward);
}

TEST(Analysis, CountsPeerCopiesAndMemsetsAndHostCopiesByDirection) {
  ProcessBuilder builder;
  builder.copy({.start_ns = 0,
                .end_ns = 10,
                .bytes = 100,
                .kind = CopyKind::kDeviceToDevice,
                .src = MemoryKind::kDevice,
                .src_device = 0,
                .dst_device = 1});
  builder.copy(
      {.start_ns = 0, .end_ns = 10, .bytes = 200, .kind = CopyKind::kDeviceToDevice, .src = MemoryKind::kDevice});
  builder.copy({.start_ns = 0,
                .end_ns = 10,
                .bytes = 300,
                .kind = CopyKind::kHostToHost,
                .src = MemoryKind::kPageable,
                .dst = MemoryKind::kPinned});
  builder.memset(0, 10, 0, 400);
  const Report report = builder.report();
  EXPECT_EQ(total(report, Direction::kPeerToPeer).bytes, 100u);
  EXPECT_EQ(total(report, Direction::kDeviceToDevice).bytes, 200u);
  EXPECT_EQ(total(report, Direction::kHostToHost).bytes, 300u);
  EXPECT_EQ(total(report, Direction::kHostToHost).pageable_count, 1u);
  EXPECT_EQ(total(report, Direction::kMemset).bytes, 400u);
  EXPECT_EQ(total(report, Direction::kMemset).pageable_count, 0u);
}

TEST(Analysis, CountsMigrationsAsManagedTransfers) {
  ProcessBuilder builder;
  builder.migration(trace::MigrationKind::kHostToDevice, 0, 10, 4096);
  builder.migration(trace::MigrationKind::kFault, 0, 10, 0);
  const Report report = builder.report();
  ASSERT_THAT(report.sites, SizeIs(1));
  EXPECT_EQ(report.sites[0].site, "managed memory");
  EXPECT_EQ(report.sites[0].src_kind, "managed");
  EXPECT_EQ(report.sites[0].dst_kind, "managed");
  EXPECT_EQ(total(report, Direction::kHostToDevice).bytes, 4096u);
  EXPECT_THAT(report.losses, IsEmpty());
}

TEST(Analysis, LooksAtEachDeviceForItself) {
  ProcessBuilder builder;
  builder.call({.start_ns = 0, .end_ns = 20'000, .correlation = 1, .stack = builder.line("a.py", 1)});
  builder.call({.start_ns = 0, .end_ns = 20'000, .correlation = 2, .stack = builder.line("b.py", 1), .thread = 101});
  builder.copy({.start_ns = 10'000, .end_ns = 20'000, .correlation = 1, .device = 0});
  builder.copy({.start_ns = 10'000, .end_ns = 20'000, .correlation = 2, .device = 1});
  builder.kernel({.start_ns = 5'000, .end_ns = 20'000, .correlation = 3, .device = 0});
  const Report report = builder.report();
  ASSERT_THAT(report.sites, SizeIs(2));
  EXPECT_EQ(report.sites[0].site, "b.py:1");
  EXPECT_EQ(report.sites[0].exposed_ns, 10'000);
  EXPECT_EQ(report.sites[0].gpu_idle_ns, 10'000);
  EXPECT_EQ(report.sites[1].exposed_ns, 0);
  EXPECT_EQ(report.sites[1].gpu_idle_ns, 5'000);
}

TEST(Analysis, DoesNotDependOnTheOrderOfRecords) {
  const auto report_of = [](bool is_reversed) {
    ProcessBuilder builder;
    const auto stack = builder.line("/home/user/train.py", 1);
    for (std::uint32_t i = 0; i < 100; ++i) {
      const std::uint32_t at = is_reversed ? 99 - i : i;
      builder.copy({.start_ns = at * 1'000 + 500, .end_ns = at * 1'000 + 700, .correlation = at, .bytes = at});
      builder.call({.start_ns = at * 1'000, .end_ns = at * 1'000 + 100, .correlation = at, .stack = stack});
      builder.kernel({.start_ns = at * 1'000 + 600, .end_ns = at * 1'000 + 800, .correlation = at});
    }
    return builder.report();
  };
  const Report forwards = report_of(false);
  const Report backwards = report_of(true);
  ASSERT_THAT(backwards.sites, SizeIs(1));
  EXPECT_EQ(backwards.sites[0].count, 100u);
  EXPECT_EQ(backwards.sites[0].exposed_ns, 100 * 100);
  EXPECT_EQ(backwards.sites[0].host_blocked_ns, forwards.sites[0].host_blocked_ns);
  EXPECT_EQ(backwards.span_ns, forwards.span_ns);
  ASSERT_TRUE(backwards.steps);
  EXPECT_EQ(backwards.steps->count, 100u);
  EXPECT_EQ(backwards.steps->median_ns, 1'000);
}

// The steps last from 100 to 400. A call at 100 belongs to them, a call at 400 does not.
TEST(Analysis, CountsInTheStepsWhatWasAskedForInThem) {
  ProcessBuilder builder;
  for (std::int64_t start = 100; start < 400; start += 100) builder.range("step", start, start + 100);
  const auto upload = builder.line("train.py", 1);
  const auto wait = builder.line("train.py", 2);
  std::uint32_t correlation = 0;
  for (const std::int64_t at : {99, 100, 399, 400}) {
    builder.call({.start_ns = at, .end_ns = at, .correlation = ++correlation, .stack = upload});
    builder.copy({.start_ns = 250, .end_ns = 260, .correlation = correlation, .bytes = 1, .is_async = true});
    builder.call({.kind = CallKind::kSynchronize, .start_ns = at, .end_ns = at + 7, .stack = wait, .thread = 9});
  }
  // Without their calls, by their own times.
  for (const std::int64_t at : {99, 100, 399, 400}) {
    builder.copy({.start_ns = at, .end_ns = at + 1, .correlation = 1000, .bytes = 16});
  }
  const Report report = builder.report();
  for (const Site& site : report.sites) {
    if (site.site == "train.py:1") {
      EXPECT_EQ(site.in_steps.count, 2u);
      EXPECT_EQ(site.in_steps.device_time_ns, 20);
      EXPECT_EQ(site.in_steps.host_blocked_ns, 0);
    } else {
      EXPECT_EQ(site.in_steps.bytes, 32u);
      EXPECT_EQ(site.in_steps.host_blocked_ns, std::nullopt);
    }
  }
  EXPECT_EQ(report.sync_sites.at(0).in_steps.count, 2u);
  EXPECT_EQ(report.sync_sites.at(0).in_steps.host_blocked_ns, 14);
  EXPECT_EQ(report.sync_sites.at(0).host_blocked_ns, 28);
}

// Only threads that launch hold the device up; where none does, all do.
TEST(Analysis, AsksTheThreadsThatLaunchForWaits) {
  const auto waits_pct = [](bool has_launch, std::uint32_t waiting_thread) {
    ProcessBuilder builder;
    builder.kernel({.start_ns = 0, .end_ns = 50});
    builder.kernel({.start_ns = 100, .end_ns = 200, .correlation = 99});
    builder.call({.kind = CallKind::kSynchronize, .start_ns = 50, .end_ns = 100, .thread = waiting_thread});
    if (has_launch) builder.call({.kind = CallKind::kGraphLaunch, .start_ns = 0, .end_ns = 10});
    return builder.report().verdict.idle->syncs_pct;
  };
  EXPECT_DOUBLE_EQ(waits_pct(true, kMainThread), 25);
  EXPECT_DOUBLE_EQ(waits_pct(true, kMainThread + 1), 0);
  EXPECT_DOUBLE_EQ(waits_pct(false, kMainThread + 1), 25);
}

TEST(Analysis, KeepsWhatPageableMemoryCarries) {
  ProcessBuilder builder;
  builder.copy({.start_ns = 0, .end_ns = 10, .bytes = 100, .src = MemoryKind::kPageable, .count = 3});
  builder.copy({.start_ns = 0, .end_ns = 10, .bytes = 7});
  builder.copy({.start_ns = 0,
                .end_ns = 10,
                .bytes = 20,
                .kind = CopyKind::kDeviceToHost,
                .src = MemoryKind::kDevice,
                .dst = MemoryKind::kPageable});
  builder.memset(0, 10, 0, 50, MemoryKind::kPageable);
  const Report report = builder.report();
  EXPECT_EQ(total(report, Direction::kHostToDevice).pageable_count, 3u);
  EXPECT_EQ(total(report, Direction::kHostToDevice).pageable_bytes, 100u);
  EXPECT_EQ(total(report, Direction::kHostToDevice).count, 4u);
  EXPECT_EQ(total(report, Direction::kHostToDevice).bytes, 107u);
  EXPECT_EQ(total(report, Direction::kDeviceToHost).pageable_bytes, 20u);
  EXPECT_EQ(total(report, Direction::kMemset).pageable_count, 0u);
}

// The rate of a direction leaves out what has no times.
TEST(Analysis, RatesAreOfTransfersWithTimes) {
  ProcessBuilder builder;
  builder.copy({.start_ns = 0, .end_ns = 10, .bytes = 100});
  builder.copy({.start_ns = 20, .end_ns = 40, .bytes = 500});
  builder.copy({.start_ns = trace::kUnknownTime, .end_ns = trace::kUnknownTime, .bytes = 9000});
  const Report report = builder.report();
  const Total& uploads = total(report, Direction::kHostToDevice);
  EXPECT_DOUBLE_EQ(*uploads.bandwidth_gbps, 20);
  EXPECT_EQ(uploads.device_time_ns, 30);
  EXPECT_EQ(uploads.bytes, 9600u);
}

TEST(Analysis, SynchronisationsOfTransfersAreNoOtherWaits) {
  Item item;
  item.add(0, 1);
  item.builder.kernel({.start_ns = 0, .end_ns = 10'000});
  item.builder.kernel({.start_ns = 40'000, .end_ns = 80'000, .correlation = 99});
  item.builder.call({.kind = CallKind::kSynchronize,
                     .start_ns = 30'000,
                     .end_ns = 40'000,
                     .stack = item.builder.line("/home/user/train.py", 31),
                     .name = "cudaDeviceSynchronize"});
  const Report report = item.builder.report();
  // Of 80 us: the kernels 50, the copy 1, which was asked for before it; 21 to 30 in the copy's wait and behind it, 30
  // to 40 in the other wait.
  EXPECT_DOUBLE_EQ(report.verdict.idle->between_kernels_pct, 12.5);
  EXPECT_DOUBLE_EQ(report.verdict.idle->copies_pct, 11.25);
  EXPECT_DOUBLE_EQ(report.verdict.idle->syncs_pct, 12.5);
  EXPECT_EQ(report.syncs.count, 2u);
  EXPECT_EQ(report.syncs.host_blocked_ns, 30'000);
  EXPECT_EQ(report.syncs.of_transfers_count, 1u);
  EXPECT_EQ(report.syncs.of_transfers_host_blocked_ns, 20'000);
}

// The call of one copy in several parts is charged once, in the steps too.
TEST(Analysis, ChargesACallOnceHoweverManyItsTransfers) {
  ProcessBuilder builder;
  builder.call({.start_ns = 0, .end_ns = 50'000, .correlation = 1, .stack = builder.line("a.py", 1)});
  builder.copy({.start_ns = 10'000, .end_ns = 20'000, .correlation = 1, .bytes = 300});
  builder.memset(20'000, 30'000, 1, 64);
  const Report report = builder.report();
  ASSERT_THAT(report.sites, SizeIs(2));
  EXPECT_EQ(report.sites[0].host_blocked_ns, 50'000);
  EXPECT_EQ(report.sites[0].direction, Direction::kHostToDevice);
  EXPECT_EQ(report.sites[0].gpu_idle_ns, 30'000);
  EXPECT_EQ(report.sites[1].host_blocked_ns, 0);
  EXPECT_EQ(report.sites[1].gpu_idle_ns, 0);
  EXPECT_EQ(total(report, Direction::kMemset).host_blocked_ns, 0);
}

}  // namespace
}  // namespace turnpike::analyze
