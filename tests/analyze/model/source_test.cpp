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
