// Who was recorded, as the processes say.
#include "analyze/model/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Metadata = std::map<std::string, std::string>;

Source source_of(const std::vector<Metadata>& processes) {
  Source source;
  for (const Metadata& metadata : processes) {
    trace::Process process;
    process.metadata = metadata;
    add_process(source, process, Timeline());
  }
  return source;
}

TEST(Source, CountsProcesses) {
  EXPECT_EQ(source_of({{}, {}}).process_count, 2u);
}

TEST(Source, ShowsTheCommandLineAsItWouldBeTyped) {
  EXPECT_EQ(source_of({{{"program", "python\x1ftrain.py\x1f--lr=0.1"}}}).program, "python train.py --lr=0.1");
  EXPECT_EQ(source_of({{{"program", "python\x1f-c\x1fprint('a b')\x1f"}}}).program,
            "python -c 'print('\\''a b'\\'')' ''");
  EXPECT_EQ(source_of({{}}).program, "");
}

TEST(Source, TakesTheFirstProcessThatSaysSomething) {
  const Source source =
      source_of({{}, {{"program", "a"}, {"detail", "full"}}, {{"program", "b"}, {"detail", "transfers"}}});
  EXPECT_EQ(source.program, "a");
  EXPECT_EQ(source.detail, "full");
}

TEST(Source, CollectsVersionsByTheirSubject) {
  const Source source = source_of({{{"python_version", "3.12.3"}, {"torch_version", ""}},
                                   {{"python_version", "3.11"}, {"cupti_version", "130000"}}});
  EXPECT_THAT(source.versions, ElementsAre(Pair("cupti", "130000"), Pair("python", "3.12.3")));
}

TEST(Source, SaysOnceWhyProcessesCouldNotBeRecorded) {
  const Source source =
      source_of({{{"unusable", "No libcupti."}}, {{"unusable", "No libcupti."}}, {{"unusable", "Old driver."}}});
  EXPECT_THAT(source.unusable, ElementsAre("No libcupti.", "Old driver."));
  EXPECT_THAT(source_of({{}}).unusable, IsEmpty());
}

TEST(Source, IdentifiesEachProcess) {
  const Source source = source_of({{{"host", "pod-a"},
                                    {"node", "node-b"},
                                    {"job_id", "17"},
                                    {"launcher", "torchrun slurm"},
                                    {"rank", "13"},
                                    {"local_rank", "5"},
                                    {"world_size", "32"},
                                    {"local_world_size", "8"},
                                    {"node_rank", "1"},
                                    {"restart_count", "0"},
                                    {"self_time", "count=14 ns=15"}},
                                   {{"rank", "first"}, {"local_rank", "1x"}, {"world_size", ""}},
                                   {{"self_time", "count=14 ns=15us"}},
                                   {{"self_time", "count=14"}},
                                   {{"self_time", "ns=15 count=14"}}});
  ASSERT_EQ(source.identities.size(), 5u);
  const Identity& known = source.identities[0];
  EXPECT_EQ(known.host, "pod-a");
  EXPECT_EQ(known.node, "node-b");
  EXPECT_EQ(known.job_id, "17");
  EXPECT_EQ(known.launcher, "torchrun slurm");
  EXPECT_EQ(known.rank, 13);
  EXPECT_EQ(known.local_rank, 5);
  EXPECT_EQ(known.world_size, 32);
  EXPECT_EQ(known.local_world_size, 8);
  EXPECT_EQ(known.node_rank, 1);
  EXPECT_EQ(known.restart_count, 0);
  ASSERT_TRUE(known.self_time);
  EXPECT_EQ(known.self_time->count, 14u);
  EXPECT_EQ(known.self_time->ns, 15u);
  for (std::size_t other = 1; other < source.identities.size(); ++other) {
    EXPECT_FALSE(source.identities[other].self_time) << other;
  }
  const Identity& unknown = source.identities[1];
  for (const auto& value : {unknown.rank, unknown.local_rank, unknown.world_size, unknown.restart_count}) {
    EXPECT_EQ(value, std::nullopt) << "what is no number is unknown";
  }
}

TEST(Source, NamesEachMachineOnce) {
  EXPECT_THAT(source_of({{{"host", "node1"}}, {{"host", "node2"}}, {{"host", "node1"}}, {}}).hosts,
              ElementsAre("node1", "node2"));
}

TEST(Source, ListsDevicesOnceByIdAndName) {
  Source source;
  for (const auto& [id, name] : {std::pair{1u, "H100"}, {0u, "H200"}, {0u, "H100"}, {0u, "H100"}}) {
    ProcessBuilder builder;
    builder.device(id, name);
    const LoadedProcess loaded = builder.take();
    add_process(source, loaded.process, loaded.timeline);
  }
  ASSERT_EQ(source.devices.size(), 3u);
  EXPECT_EQ(source.devices[0].name, "H100");
  EXPECT_EQ(source.devices[1].name, "H200");
  EXPECT_EQ(source.devices[2].id, 1u);
}

}  // namespace
}  // namespace turnpike::analyze
