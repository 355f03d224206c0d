// Unpacking: whole, in pieces, cut off, damaged, and larger than memory.
#include "ingest/kineto/gzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "ingest/kineto_trace.h"

namespace turnpike::ingest {
namespace {

std::string packed(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Unpacked {
  std::string text;
  std::uint64_t damaged_bytes;
};

Unpacked unpack(std::string_view bytes, std::size_t piece_bytes = 1u << 20, std::size_t read_bytes = 4096) {
  const auto source = unpacked(std::make_unique<TextSource>(bytes, piece_bytes));
  std::string text;
  std::string buffer(read_bytes, '\0');
  while (true) {
    const auto count = source->read(buffer);
    EXPECT_TRUE(count);
    if (!count || *count == 0) break;
    text.append(buffer, 0, *count);
  }
  return {text, source->damaged_bytes()};
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919) + ',';
  return text;
}

TEST(Gzip, UnpacksInPiecesOfAnySize) {
  const std::string text = long_text();
  const std::string bytes = packed(text);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20}) {
    EXPECT_EQ(unpack(bytes, piece, 5).text, text) << piece;
    EXPECT_EQ(unpack(bytes, piece).damaged_bytes, 0u) << piece;
  }
}

TEST(Gzip, UnpacksSeveralMembers) {
  EXPECT_EQ(unpack(packed("one,") + packed("") + packed("two")).text, "one,two");
  EXPECT_EQ(unpack(packed("one,") + packed("two"), 1).damaged_bytes, 0u);
}

TEST(Gzip, IgnoresPaddingBehindTheEnd) {
  const auto read = unpack(packed("text") + std::string(100, '\0'));
  EXPECT_EQ(read.text, "text");
  EXPECT_EQ(read.damaged_bytes, 0u);
}

TEST(Gzip, GivesWhatIsThereOfACutOffFile) {
  const std::string text = long_text();
  const std::string bytes = packed(text);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{12}, bytes.size() / 2, bytes.size() - 1}) {
    const auto read = unpack(std::string_view(bytes).substr(0, size));
    EXPECT_TRUE(text.starts_with(read.text)) << size;
    EXPECT_GT(read.damaged_bytes, 0u) << size;
  }
  EXPECT_GT(unpack(std::string_view(bytes).substr(0, bytes.size() / 2)).text.size(), text.size() / 4);
}

TEST(Gzip, StopsAtDamageAndSaysHowMuchIsLost) {
  const std::string text = long_text();
  std::string bytes = packed(text);
  for (std::size_t at = bytes.size() / 2; at < bytes.size() / 2 + 64; ++at) bytes[at] = static_cast<char>(0xFF);
  const auto read = unpack(bytes, 1024);
  EXPECT_TRUE(text.starts_with(read.text.substr(0, text.size() / 4)));
  EXPECT_GT(read.damaged_bytes, 0u);
  EXPECT_LE(read.damaged_bytes, bytes.size());
}

Result<trace::Process> read_blanks(int mebibytes, Records& records) {
  const std::string member = packed(std::string(1u << 20, ' '));
  std::string bytes = packed(R"({"traceEvents": [)" + on_host("cpu_op", "aten::to", 1, 2));
  for (int i = 0; i < mebibytes; ++i) bytes += member;
  bytes += packed("]}");
  const auto source = unpacked(std::make_unique<TextSource>(bytes));
  return read_kineto(*source, "bomb.json.gz", records);
}

// A small file may compress as well as it can: blanks go through the window, which does not grow.
TEST(Gzip, ReadsWhatUnpacksToLittle) {
  Records records;
  const auto process = read_blanks(60, records);
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_TRUE(process->losses.empty());
  EXPECT_EQ(records.samples.size(), 1u);
}

TEST(Gzip, RefusesABomb) {
  Records records;
  const auto process = read_blanks(80, records);
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message, testing::HasSubstr("bomb.json.gz cannot be read: it unpacks to more than 100"));
}

}  // namespace
}  // namespace turnpike::ingest
