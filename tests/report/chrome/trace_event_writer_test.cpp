// The Trace Event Format, event by event, as it stands in the file.
#include "report/chrome/trace_event_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace turnpike::report {
namespace {

constexpr std::size_t kFlushBytes = 256 << 10;

TEST(JsonFields, AreJoinedByCommas) {
  JsonFields fields;
  EXPECT_EQ(fields.text(), "");
  fields.add("text", "a\"b").add("number", std::uint64_t{18'446'744'073'709'551'615u}).add_decimal("rate", 2.0005);
  fields.add_json("list", "[1]").append("").append("\"more\":1");
  EXPECT_EQ(fields.text(),
            "\"text\":\"a\\\"b\",\"number\":18446744073709551615,\"rate\":2.001,\"list\":[1],\"more\":1");
  EXPECT_EQ(JsonFields().append("\"a\":1").text(), "\"a\":1");
}

TEST(JsonString, EscapesWhatJsonWantsAndReplacesWhatIsNoText) {
  EXPECT_EQ(json_string("a\"\\\x1f \x7f\xc3\xa9\xff"), "\"a\\\"\\\\\\u001f \\u007f\xc3\xa9\xef\xbf\xbd\"");
  EXPECT_EQ(json_string(std::string_view("\0", 1)), "\"\\u0000\"");
  EXPECT_EQ(json_string(""), "\"\"");
}

TEST(TraceEventWriter, WritesEachEventOnALine) {
  std::string text;
  TraceEventWriter writer([&](std::string_view bytes) { text += bytes; }, 1'000, JsonFields().add("a", "b"));
  writer.name_process(1, "process", 2);
  writer.name_thread({3, 4}, "thread", 5);
  writer.slice({6, 7}, "cat", "na\"me", 2'001, 1'234'567, JsonFields().add("x", "y"));
  writer.instant({8, 9}, "nvtx", "mark", 1'000);
  writer.flow("copy", {10, 11}, 1'999, {12, 13}, 3'000);
  writer.flow("copy", {10, 11}, 1'999, {12, 13}, 3'000);
  EXPECT_EQ(text, "") << "little is kept back";
  writer.close();
  EXPECT_EQ(text, R"({"displayTimeUnit":"ns","otherData":{"a":"b"},
"traceEvents":[
{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"process"}},
{"ph":"M","pid":1,"tid":0,"name":"process_sort_index","args":{"sort_index":2}},
{"ph":"M","pid":3,"tid":4,"name":"thread_name","args":{"name":"thread"}},
{"ph":"M","pid":3,"tid":4,"name":"thread_sort_index","args":{"sort_index":5}},
{"ph":"X","pid":6,"tid":7,"cat":"cat","name":"na\"me","ts":1.001,"dur":1234.567,"args":{"x":"y"}},
{"ph":"i","pid":8,"tid":9,"cat":"nvtx","name":"mark","ts":0.000,"s":"t"},
{"ph":"s","pid":10,"tid":11,"cat":"copy","name":"causes","ts":0.999,"id":1},
{"ph":"f","pid":12,"tid":13,"cat":"copy","name":"causes","ts":2.000,"id":1,"bp":"e"},
{"ph":"s","pid":10,"tid":11,"cat":"copy","name":"causes","ts":0.999,"id":2},
{"ph":"f","pid":12,"tid":13,"cat":"copy","name":"causes","ts":2.000,"id":2,"bp":"e"}
]}
)");
}

TEST(TraceEventWriter, TimesOfADamagedFileDoNotOverflow) {
  std::string text;
  TraceEventWriter writer([&](std::string_view bytes) { text += bytes; }, std::numeric_limits<std::int64_t>::min() + 1,
                          JsonFields());
  writer.instant({}, "nvtx", "", std::numeric_limits<std::int64_t>::max());
  writer.close();
  EXPECT_NE(text.find("\"ts\":18446744073709551.614"), std::string::npos) << text;
}

TEST(TraceEventWriter, HandsTheTextOverInPieces) {
  std::size_t empty_bytes = 0;
  TraceEventWriter empty([&](std::string_view bytes) { empty_bytes += bytes.size(); }, 0, JsonFields());
  empty.instant({}, "c", "", 0);
  empty.close();
  const std::size_t without_end = empty_bytes - std::string_view("\n]}\n").size();
  for (const std::size_t filled : {kFlushBytes - 1, kFlushBytes}) {
    std::vector<std::size_t> pieces;
    std::string text;
    const auto output = [&](std::string_view bytes) {
      pieces.push_back(bytes.size());
      text += bytes;
    };
    TraceEventWriter writer(output, 0, JsonFields());
    writer.instant({}, "c", std::string(filled - without_end, 'x'), 0);
    writer.instant({}, "c", "y", 0);
    if (filled == kFlushBytes) {
      EXPECT_EQ(pieces, std::vector{kFlushBytes});
    } else {
      EXPECT_TRUE(pieces.empty());
    }
    writer.close();
    EXPECT_EQ(pieces.size(), filled == kFlushBytes ? 2u : 1u);
    EXPECT_EQ(text.find("\"name\":\"y\""), text.rfind("\"name\":\"y\"")) << "nothing comes twice";
  }
}

}  // namespace
}  // namespace turnpike::report
