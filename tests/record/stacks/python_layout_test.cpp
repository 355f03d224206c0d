// What is made of the offsets that CPython publishes, and that nothing is made of what it cannot have meant.
#include "record/stacks/python_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace turnpike::record {
namespace {

using Table = std::vector<std::uint64_t>;

struct Release {
  std::uint32_t hex;
  std::size_t words;   // of the table
  std::size_t thread;  // where in the table the size of PyThreadState stands
  std::size_t frame;   // and of _PyInterpreterFrame,
  std::size_t code;    // PyCodeObject,
  std::size_t object;  // PyObject,
  std::size_t bytes;   // PyBytesObject; 0: none
  std::size_t str;     // PyUnicodeObject
  std::size_t thread_id;
  std::size_t base_frame;                   // 0: none
  std::vector<std::uint64_t> frame_fields;  // size, previous, executable, instruction, locals, owner
  std::uint64_t code_size;
  std::uint64_t thread_id_offset;
  std::uint64_t threads_head;
};

// As the headers of the releases say.
const Release kReleases[] = {
    {0x030D00F0, 73, 19, 28, 34, 44, 0, 67, 24, 0, {80, 8, 0, 56, 72, 70}, 208, 152, 7344},
    {0x030E0AF0, 95, 22, 31, 39, 50, 74, 77, 27, 0, {88, 8, 0, 56, 80, 74}, 216, 152, 7344},
    {0x030F02F0, 111, 22, 39, 47, 58, 86, 89, 30, 27, {88, 8, 0, 56, 80, 74}, 216, 176, 7336},
};

void put(Table& table, std::size_t at, const std::vector<std::uint64_t>& words) {
  std::copy(words.begin(), words.end(), table.begin() + static_cast<std::ptrdiff_t>(at));
}

Table published_by(const Release& release) {
  Table table(release.words, 24);
  std::memcpy(table.data(), "xdebugpy", 8);
  put(table, 1, {release.hex, 0});
  put(table, 6, {225864, 7200, 7192, release.threads_head});
  put(table, release.thread, {832, 0, 8, 16, 72});
  if (release.base_frame != 0) put(table, release.base_frame, {80});
  put(table, release.thread_id, {release.thread_id_offset, release.thread_id_offset + 8});
  put(table, release.frame, release.frame_fields);
  put(table, release.code, {release.code_size, 112, 120, 128, 136, 68, 52, 96, 104, release.code_size - 8});
  put(table, release.object, {16, 8});
  if (release.bytes != 0) put(table, release.bytes, {40, 16, 32});
  put(table, release.str, {64, 32, 16, 40});
  return table;
}

bool is_same(const PythonLayout& a, const PythonLayout& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

class PublishedLayout : public testing::TestWithParam<Release> {
 protected:
  static Published read(const Table& table, PythonLayout& layout, std::uint32_t hex = GetParam().hex) {
    std::memset(&layout, 0, sizeof layout);
    return read_published_layout(table.data(), hex, layout);
  }
};

TEST_P(PublishedLayout, IsReadFromItsTable) {
  const Release& release = GetParam();
  PythonLayout layout;
  ASSERT_EQ(read(published_by(release), layout), Published::kRead);
  EXPECT_EQ(layout.version, release.hex >> 16);
  EXPECT_EQ(layout.interpreter_threads, release.threads_head);
  EXPECT_EQ(layout.thread_id, release.thread_id_offset);
  EXPECT_EQ(layout.thread_frame, 72);
  EXPECT_EQ(layout.thread_base_frame, release.base_frame == 0 ? kNotThere : 80);
  EXPECT_EQ(layout.frame_previous, 8);
  EXPECT_EQ(layout.frame_code, 0);
  EXPECT_EQ(layout.frame_instruction, 56);
  EXPECT_EQ(layout.frame_owner, release.frame_fields[5]);
  EXPECT_EQ(layout.code_filename, 112);
  EXPECT_EQ(layout.code_name, 128);
  EXPECT_EQ(layout.code_line_table, 136);
  EXPECT_EQ(layout.code_first_line, 68);
  EXPECT_EQ(layout.code_version, 92);
  EXPECT_EQ(layout.code_bytecode, release.code_size - 8);
  EXPECT_EQ(layout.ascii_size, 40);
  EXPECT_EQ(layout.compact_size, 56);
}

TEST_P(PublishedLayout, FollowsAFieldThatALaterPatchMoves) {
  Table table = published_by(GetParam());
  table[9] += 512;
  PythonLayout layout;
  ASSERT_EQ(read(table, layout), Published::kRead);
  EXPECT_EQ(layout.interpreter_threads, GetParam().threads_head + 512);
}

// Whatever a word of the table is changed to, either it is not read, or the table is refused, or the change is
// followed.
TEST_P(PublishedLayout, IsNeverGuessed) {
  const Table good = published_by(GetParam());
  PythonLayout expected;
  ASSERT_EQ(read(good, expected), Published::kRead);
  std::size_t refused_count = 0;
  for (std::size_t word = 0; word < good.size(); ++word) {
    for (const std::uint64_t wrong : {std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{1} << 16,
                                      std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
      Table table = good;
      table[word] = wrong;
      PythonLayout layout;
      const Published answer = read(table, layout);
      if (answer != Published::kRead) ++refused_count;
      if (answer != Published::kRead || word == 6) continue;
      if (word == 9) {
        EXPECT_EQ(layout.interpreter_threads, wrong);
        continue;
      }
      EXPECT_TRUE(is_same(layout, expected)) << "word " << word << " is " << wrong;
    }
  }
  EXPECT_GT(refused_count, 150u);
}

// Each order of fields that is relied on: another one is refused, though its offsets are possible ones.
TEST_P(PublishedLayout, IsRefusedWhenFieldsStandInAnotherOrder) {
  const Release& release = GetParam();
  const std::size_t code = release.code;
  const std::size_t frame = release.frame;
  struct Change {
    std::size_t word;
    std::uint64_t value;
  };
  const Change changes[] = {
      {code + 2, 128},                     // the name of a code object where its qualified name is
      {code + 3, 144},                     // the qualified name behind the table
      {code + 4, 104},                     // the table before the file name
      {code + 9, 128},                     // the bytecode before the table's end
      {code + 9, release.code_size - 16},  // and not last
      {code + 5, 20},                      // the first line in the head of the object
      {code + 7, 64},                      // the local names before the first line's end
      {code + 7, 112},                     // and where the file name is
      {frame + 1, 0},                      // the previous frame where the code is
      {frame + 1, 56},                     // and where the instruction is
      {frame + 2, 64},                     // the code behind the instruction
      {frame + 5, 60},                     // the owner within the instruction
      {frame + 4, release.frame_fields[0] - 16},
  };
  for (const Change& change : changes) {
    Table table = published_by(release);
    ASSERT_NE(table[change.word], change.value);
    table[change.word] = change.value;
    PythonLayout layout;
    EXPECT_EQ(read(table, layout), Published::kImplausible) << "word " << change.word << " is " << change.value;
  }
}

TEST_P(PublishedLayout, IsRefusedWhenATableHasAWordMore) {
  const Table good = published_by(GetParam());
  for (const std::size_t before : {std::size_t{6}, GetParam().thread, GetParam().thread_id, GetParam().frame,
                                   GetParam().code, GetParam().object, GetParam().str}) {
    Table table = good;
    table.insert(table.begin() + static_cast<std::ptrdiff_t>(before), 48);
    PythonLayout layout;
    EXPECT_EQ(read(table, layout), Published::kImplausible) << before;
  }
}

TEST_P(PublishedLayout, OfABuildWithoutTheGilIsRefused) {
  Table table = published_by(GetParam());
  table[2] = 1;
  PythonLayout layout;
  EXPECT_EQ(read(table, layout), Published::kFreeThreaded);
}

TEST_P(PublishedLayout, OfAnotherVersionThanRunsIsRefused) {
  PythonLayout layout;
  EXPECT_EQ(read(published_by(GetParam()), layout, GetParam().hex + 0x100), Published::kImplausible);
}

TEST_P(PublishedLayout, BeforeTheFirstCandidateIsNotKnown) {
  PythonLayout layout;
  for (const std::uint32_t level : {0xA1u, 0xB4u, 0xC1u}) {
    Table table = published_by(GetParam());
    const std::uint32_t hex = (GetParam().hex & 0xFFFF0000u) | level;
    table[1] = hex;
    EXPECT_EQ(read(table, layout, hex), level == 0xC1u ? Published::kRead : Published::kUnknownVersion);
  }
}

INSTANTIATE_TEST_SUITE_P(Releases, PublishedLayout, testing::ValuesIn(kReleases),
                         [](const auto& test) { return "Python3_" + std::to_string(test.param.hex >> 16 & 0xFF); });

TEST(PythonLayout, OfAVersionToComeIsNotKnown) {
  Release release = kReleases[2];
  release.hex = 0x031000F0;
  PythonLayout layout;
  EXPECT_EQ(read_published_layout(published_by(release).data(), release.hex, layout), Published::kUnknownVersion);
}

TEST(PythonLayout, IsBuiltInForVersionsThatPublishNothing) {
  for (const std::uint32_t version : {0x030Au, 0x030Bu, 0x030Cu}) {
    for (const std::uint32_t hex : {version << 16, version << 16 | 0x01F0, version << 16 | 0x00C2}) {
      ASSERT_NE(unpublished_layout(hex), nullptr);
      EXPECT_EQ(unpublished_layout(hex)->version, version);
    }
    EXPECT_EQ(unpublished_layout(version << 16 | 0x00B3), nullptr) << "a beta";
  }
  for (const std::uint32_t version : {0u, 0x0309u, 0x030Du, 0x0400u})
    EXPECT_EQ(unpublished_layout(version << 16), nullptr);
}

}  // namespace
}  // namespace turnpike::record
