// Which kind a file is, told by its content.
#include "ingest/run_reader.h"

#include <gmock/gmock.h>

#include <fstream>

#include "ingest/kineto/open_bytes.h"
#include "ingest/kineto_trace.h"
#include "ingest/nsys_database.h"

namespace turnpike::ingest {
namespace {

using ::testing::HasSubstr;

class RunReader : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, std::string_view bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  static std::string kind(const std::filesystem::path& path) {
    const auto found = kind_of(path);
    return found ? *found : "none: " + found.error().message;
  }
  TemporaryFolder folder_;
};

TEST_F(RunReader, TellsKindsByContentAndNotByName) {
  EXPECT_EQ(kind(write("a.sqlite", "\n {\"traceEvents\": []}")), "kineto");
  EXPECT_EQ(kind(write("b.tpt", "[]")), "kineto");
  EXPECT_EQ(kind(write("c", "\xEF\xBB\xBF{")), "kineto");
  EXPECT_EQ(kind(write("d.txt", "\x1f\x8b\x08 and so on")), "kineto");
  EXPECT_EQ(kind(write("e.json", std::string_view("SQLite format 3\0 and so on", 26))), "nsys");
  EXPECT_EQ(kind(write("f.json", "TPKTRACE and so on")), "turnpike");
  EXPECT_EQ(kind(write("g.json", "TPKT")), "turnpike");  // cut off: its reader says so
}

TEST_F(RunReader, SaysWhatToDoWithOtherFiles) {
  EXPECT_THAT(kind(write("a.nsys-rep", "anything")), HasSubstr("nsys export --type sqlite"));
  EXPECT_THAT(kind(write("b.json", "hello")), HasSubstr("b.json is no run that Turnpike knows"));
  EXPECT_THAT(kind(folder_ / "missing"), HasSubstr("missing"));
  EXPECT_THAT(kind(folder_.path()), HasSubstr("holds no trace files"));
  EXPECT_THAT(kind("/dev/null"), HasSubstr("not a regular file"));
}

TEST_F(RunReader, HandsAFileToItsReaderAndCountsItsBytes) {
  const auto path = write("t.json", trace_of({on_host("cpu_op", "aten::to", 0, 5)}));
  Records records;
  std::uint64_t last_bytes = 0;
  const auto processes = read_file(
      path, [&]() -> trace::RecordSink& { return records; },
      [&](std::uint64_t done_bytes, std::uint64_t all_bytes) {
        EXPECT_EQ(all_bytes, std::filesystem::file_size(path));
        last_bytes = done_bytes;
      });
  ASSERT_TRUE(processes) << processes.error().message;
  EXPECT_EQ(processes->size(), 1u);
  EXPECT_EQ(processes->front().path, path.string());
  EXPECT_EQ(last_bytes, std::filesystem::file_size(path));
}

TEST_F(RunReader, UnpacksWhatIsPackedAndNothingElse) {
  const auto read_all = [&](std::string_view bytes) {
    auto source = open_bytes(write("bytes", bytes));
    EXPECT_TRUE(source);
    std::string text(100, '\0');
    EXPECT_EQ((*source)->consumed_bytes(), 0u);
    EXPECT_EQ((*source)->file_bytes(), bytes.size());
    const auto count = (*source)->read(text);
    EXPECT_EQ((*source)->consumed_bytes(), bytes.size());
    return text.substr(0, count ? *count : 0);
  };
  // "a" as gzip packs it.
  const std::string packed("\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x04\0\x43\xbe\xb7\xe8\x01\0\0\0", 21);
  EXPECT_EQ(read_all(packed), "a");
  for (const std::string_view bytes : {"\x1f\x8c plain", "\x20\x8b plain", "\x1f", "plain"}) {
    EXPECT_EQ(read_all(bytes), bytes);
  }
  EXPECT_EQ(read_all(""), "");
  EXPECT_THAT(open_bytes(folder_ / "missing").error().message, HasSubstr("missing"));
  EXPECT_THAT(open_bytes(folder_.path()).error().message, HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace turnpike::ingest
