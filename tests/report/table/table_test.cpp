// Tables read from files: batches, processes behind each other, and what cannot be read.
#include "report/table/table.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "report/table/arrow_stream.h"

namespace turnpike::report::table {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A run whose files hold one number each: so many copies their process makes.
class CountedRun {
 public:
  explicit CountedRun(const std::vector<int>& counts) {
    std::string name = (fs::temp_directory_path() / "turnpike-table-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      std::ofstream(path_ / (std::to_string(i + 1) + ".tpt")) << counts[i];
    }
  }
  ~CountedRun() { fs::remove_all(path_); }
  CountedRun(const CountedRun&) = delete;
  CountedRun& operator=(const CountedRun&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

constexpr int kDamaged = -1;

// The bytes of the copies count on over the files: 1, 2, 3, ... in each.
analyze::FileReader counted_files() {
  return {.kind_of = [](const fs::path&) -> Result<std::string> { return std::string("counted"); },
          .read = [](const fs::path& file, const auto& sink_of_process,
                     const auto&) -> Result<std::vector<trace::Process>> {
            int count = 0;
            std::ifstream(file) >> count;
            if (count == kDamaged) return Error{file.string() + " is damaged"};
            std::vector<trace::Process> processes(1);
            processes[0].path = file.string();
            processes[0].metadata["detail"] = "transfers";
            auto& sink = sink_of_process();
            for (int i = 1; i <= count; ++i) {
              trace::MemcpyRecord copy{};
              copy.start_ns = 10 * i;
              copy.end_ns = 10 * i + 5;
              copy.bytes = static_cast<std::uint64_t>(i);
              copy.copy_kind = trace::CopyKind::kHostToDevice;
              sink.on(copy);
            }
            return processes;
          }};
}

Result<TableStream> open(const CountedRun& run, std::string_view name, std::size_t batch_rows) {
  return TableStream::open(name, {run.path()}, counted_files(), batch_rows);
}

std::size_t index_of(const std::vector<Column>& columns, const std::string& name) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  ADD_FAILURE() << "no column " << name;
  return 0;
}

// The bytes of each row, batch by batch.
std::vector<std::vector<std::int64_t>> bytes_by_batch(TableStream& table) {
  std::vector<std::vector<std::int64_t>> batches;
  const std::size_t bytes = index_of(table.columns(), "bytes");
  for (;;) {
    const auto batch = table.next();
    if (!batch || *batch == nullptr) return batches;
    const auto values = (*batch)->cells(bytes).values;
    batches.emplace_back(values.begin(), values.end());
  }
}

TEST(TableStream, FillsItsBatchesOverTheBordersOfProcesses) {
  const CountedRun run({3, 0, 2, 4});
  auto table = open(run, "transfers", 4);
  ASSERT_TRUE(table);
  EXPECT_THAT(bytes_by_batch(*table), ElementsAre(ElementsAre(1, 2, 3, 1), ElementsAre(2, 1, 2, 3), ElementsAre(4)));
}

TEST(TableStream, EndsWithAFullBatchAndWithoutAnEmptyOne) {
  const CountedRun run({4});
  auto table = open(run, "transfers", 2);
  ASSERT_TRUE(table);
  EXPECT_THAT(bytes_by_batch(*table), ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4)));
  const auto after = table->next();
  ASSERT_TRUE(after);
  EXPECT_EQ(*after, nullptr);
}

TEST(TableStream, TakesOneRowABatchWhereNoneIsAsked) {
  const CountedRun run({2});
  auto table = open(run, "transfers", 0);
  ASSERT_TRUE(table);
  EXPECT_THAT(bytes_by_batch(*table), ElementsAre(ElementsAre(1), ElementsAre(2)));
}

TEST(TableStream, OfARunWithoutRowsHasNoBatch) {
  const CountedRun run({0, 0});
  for (const char* name : {"transfers", "syncs", "allocations", "sites"}) {
    auto table = open(run, name, 8);
    ASSERT_TRUE(table) << name;
    const auto batch = table->next();
    ASSERT_TRUE(batch) << name;
    EXPECT_EQ(*batch, nullptr) << name;
    EXPECT_FALSE(table->columns().empty()) << name;
  }
}

TEST(TableStream, HasTheColumnsThatItsNameTells) {
  const CountedRun run({1});
  for (const std::string_view name : table_names()) {
    const auto columns = columns_of(name);
    ASSERT_TRUE(columns) << name;
    auto table = open(run, name, 8);
    ASSERT_TRUE(table) << name;
    ASSERT_EQ(table->columns().size(), columns->size()) << name;
    for (std::size_t i = 0; i < columns->size(); ++i) EXPECT_EQ(table->columns()[i].name, (*columns)[i].name);
  }
}

TEST(TableStream, SaysWhichTablesThereAre) {
  const auto columns = columns_of("transfer");
  ASSERT_FALSE(columns);
  EXPECT_THAT(columns.error().message, AllOf(HasSubstr("no table 'transfer'"), HasSubstr("transfers, syncs")));
}

TEST(TableStream, FailsAboutKernelsThatWereNotRecorded) {
  const CountedRun run({1});
  auto table = open(run, "kernels", 8);
  ASSERT_TRUE(table);
  EXPECT_FALSE(table->lacks_kernels());
  const auto batch = table->next();
  ASSERT_FALSE(batch);
  EXPECT_THAT(batch.error().message, HasSubstr("1.tpt was recorded without kernels. Record with --detail full."));
  EXPECT_TRUE(table->lacks_kernels());
}

TEST(TableStream, FailsAtAFileThatCannotBeRead) {
  const CountedRun run({2, kDamaged});
  auto table = open(run, "transfers", 2);
  ASSERT_TRUE(table);
  const auto first = table->next();
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)->row_count(), 2u);
  const auto second = table->next();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("2.tpt is damaged"));
}

// What a reader of Arrow's stream sees.
struct Stream : ArrowArrayStream {
  Stream(const CountedRun& run, std::string_view name, std::size_t batch_rows) : ArrowArrayStream{} {
    auto table = open(run, name, batch_rows);
    EXPECT_TRUE(table);
    export_stream(std::move(*table), Texts::kDictionary, this);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (release != nullptr) release(this);
  }
};

TEST(ArrowStream, GivesItsSchemaItsBatchesAndAnEnd) {
  const CountedRun run({3});
  Stream stream(run, "transfers", 2);
  ArrowSchema schema{};
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  EXPECT_EQ(static_cast<std::size_t>(schema.n_children), columns_of("transfers")->size());
  schema.release(&schema);
  std::vector<std::int64_t> lengths;
  for (ArrowArray batch{}; stream.get_next(&stream, &batch) == 0 && batch.release != nullptr; batch.release(&batch)) {
    lengths.push_back(batch.length);
  }
  EXPECT_THAT(lengths, ElementsAre(2, 1));
  EXPECT_EQ(stream.get_last_error(&stream), nullptr);
}

TEST(ArrowStream, BatchesOutliveIt) {
  const CountedRun run({1});
  ArrowArray batch{};
  {
    Stream stream(run, "transfers", 2);
    ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  }
  const auto column = static_cast<std::int64_t>(index_of(*columns_of("transfers"), "bytes"));
  EXPECT_EQ(static_cast<const std::int64_t*>(batch.children[column]->buffers[1])[0], 1);
  batch.release(&batch);
}

TEST(ArrowStream, StaysAtTheErrorThatEndedIt) {
  const CountedRun run({kDamaged, 2});
  Stream stream(run, "transfers", 2);
  for (int i = 0; i < 2; ++i) {
    ArrowArray batch{};
    EXPECT_NE(stream.get_next(&stream, &batch), 0);
    EXPECT_EQ(batch.release, nullptr);
    EXPECT_THAT(stream.get_last_error(&stream), HasSubstr("1.tpt is damaged"));
  }
}

TEST(ArrowStream, IsMarkedWhenItIsReleased) {
  const CountedRun run({2});
  Stream stream(run, "transfers", 2);
  stream.release(&stream);
  EXPECT_EQ(stream.release, nullptr);
}

}  // namespace
}  // namespace turnpike::report::table
