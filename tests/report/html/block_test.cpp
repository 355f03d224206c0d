// Blocks against the vectors that the page's decoder is tested with, too.
#include "report/html/block.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "report/html/decoded.h"

namespace turnpike::report::html {
namespace {

using Json = nlohmann::json;

std::vector<Event> events_of(const Json& vector) {
  std::vector<Event> events;
  for (const Json& one : vector["events"]) {
    Event event;
    event.start_ns = one["start"];
    event.duration_ns = one["duration"];
    event.name = one.value("name", 0u);
    event.event_class = static_cast<Class>(one.value("class", 0));
    event.link = one.value("link", kNoLink);
    event.site = one.value("site", std::uint16_t{0});
    event.bytes = one.value("bytes", std::uint64_t{0});
    event.exposed_ns = one.value("exposed", 0u);
    events.push_back(event);
  }
  return events;
}

std::vector<Column> columns_of(const Json& vector) {
  std::vector<Column> columns;
  for (const std::string name : vector["columns"]) {
    for (std::size_t i = 0; i < kColumnCount; ++i) {
      if (name == name_of(static_cast<Column>(i))) columns.push_back(static_cast<Column>(i));
    }
  }
  return columns;
}

std::string hex_of(const std::string& bytes) {
  std::string hex;
  for (const char c : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    hex += "0123456789abcdef"[c & 15];
  }
  return hex;
}

std::string inflated(const std::string& deflated, std::size_t size) {
  std::string bytes(size + 1, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, -15), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(deflated.data()));
  stream.avail_in = static_cast<uInt>(deflated.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  inflateEnd(&stream);
  return bytes;
}

TEST(HtmlBlock, MatchesTheVectorsOfThePage) {
  std::ifstream file(TURNPIKE_HTML_VECTORS);
  ASSERT_TRUE(file) << TURNPIKE_HTML_VECTORS;
  const Json vectors = Json::parse(file);
  ASSERT_FALSE(vectors.empty());
  for (const Json& vector : vectors) {
    const std::string name = vector["name"];
    const auto events = events_of(vector);
    const auto columns = columns_of(vector);
    std::span<const Event> left(events);
    for (const Json& expected : vector["blocks"]) {
      const auto part = left.first(block_size(left));
      left = left.subspan(part.size());
      BlockHeader header;
      const std::string planes = planes_of(part, columns, header);
      EXPECT_EQ(hex_of(planes), expected["planes_hex"]) << name;
      EXPECT_EQ(header.count, expected["count"]) << name;
      EXPECT_EQ(header.first_ns, expected["first"]) << name;
      EXPECT_EQ(Json(header.long_durations), expected.value("long", Json::array())) << name;
      EXPECT_EQ(inflated(decoded(packed(planes)), planes.size()), planes) << name;
    }
    EXPECT_TRUE(left.empty()) << name;
  }
}

TEST(HtmlBlock, WritesTheNumberThatANameHas) {
  std::vector<Event> events(3);
  events[0].name = 2;
  events[2].name = 1;
  const std::uint32_t numbers[] = {7, 0x0102, 5};
  const Column columns[] = {Column::kName};
  BlockHeader header;
  EXPECT_EQ(hex_of(planes_of(events, columns, header)), "020001000000");
  EXPECT_EQ(hex_of(planes_of(events, columns, header, numbers)), "050702000001");
}

TEST(HtmlBlock, EndsWhereAGapLiesDeepInALongBlock) {
  for (const std::size_t gap : {1023u, 1024u, 1025u, 5000u, 65535u}) {
    std::vector<Event> events(kMaxBlockEvents);
    for (std::size_t i = 0; i < events.size(); ++i) {
      events[i].start_ns = static_cast<std::int64_t>(i) * 10'000'000 + (i < gap ? 0 : std::int64_t{1} << 32);
    }
    EXPECT_EQ(block_size(events), gap);
  }
}

TEST(HtmlBlock, EndsAtItsLimitAndWhereStartsLieTooFarApart) {
  std::vector<Event> events(kMaxBlockEvents + 1);
  EXPECT_EQ(block_size(events), kMaxBlockEvents);
  for (std::size_t i = 10; i < events.size(); ++i) events[i].start_ns = std::int64_t{1} << 32;
  EXPECT_EQ(block_size(events), 10u);
  for (std::size_t i = 10; i < events.size(); ++i) events[i].start_ns = (std::int64_t{1} << 32) - 1;
  EXPECT_EQ(block_size(events), kMaxBlockEvents);
  EXPECT_EQ(block_size({}), 0u);
}

TEST(HtmlBlock, IsSmallerThanThePagesLimitEvenWhereNothingCompresses) {
  std::vector<Event> events(kMaxBlockEvents);
  std::uint64_t state = 1;
  const auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (Event& event : events) {
    event.duration_ns = next() >> 33;
    event.bytes = next();
    event.link = static_cast<std::uint32_t>(next() >> 32);
    event.exposed_ns = static_cast<std::uint32_t>(next() >> 32);
    event.name = static_cast<std::uint32_t>(next() >> 48);
    event.site = static_cast<std::uint16_t>(next() >> 48);
  }
  BlockHeader header;
  const auto columns = html::columns_of(LaneKind::kCopyUp);
  const std::string planes = planes_of(events, columns, header);
  for (const Effort effort : {Effort::kSmallPage, Effort::kLargePage, Effort::kKernelsOfLargePage}) {
    const std::string text = packed(planes, effort);
    EXPECT_LT(text.size(), 4194304u);
    EXPECT_EQ(inflated(decoded(text), planes.size()), planes) << "what cannot be compressed comes back too";
  }
}

TEST(HtmlBlock, TakesTheLeastTimeOfTheKernelsOfALargePage) {
  for (const LaneKind kind : {LaneKind::kHost, LaneKind::kState, LaneKind::kStream}) {
    EXPECT_EQ(effort_for(kind, 0), Effort::kSmallPage);
    EXPECT_EQ(effort_for(kind, 524'287), Effort::kSmallPage);
    EXPECT_EQ(effort_for(kind, 524'288), kind == LaneKind::kStream ? Effort::kKernelsOfLargePage : Effort::kLargePage);
  }
}

TEST(HtmlBlock, IsLargerWhereItMayTakeLessTime) {
  std::vector<Event> events(20'000);
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].start_ns = static_cast<std::int64_t>(i * 5000 + i * i % 977);
    events[i].duration_ns = 1000 + i * 7919 % 313;
  }
  BlockHeader header;
  const std::string planes = planes_of(events, html::columns_of(LaneKind::kStream), header);
  const std::size_t small = packed(planes, Effort::kSmallPage).size();
  const std::size_t large = packed(planes, Effort::kLargePage).size();
  const std::size_t kernels = packed(planes, Effort::kKernelsOfLargePage).size();
  EXPECT_LE(small, large);
  EXPECT_LT(large, kernels);
}

}  // namespace
}  // namespace turnpike::report::html
