// One event and its keys, and the cursor that reads them.
#include "ingest/kineto/event.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike::ingest {
namespace {

// Text with the zero bytes behind it that the cursor needs.
class Padded {
 public:
  explicit Padded(std::string text) : size_(text.size()), text_(std::move(text)) {
    text_.append(JsonCursor::kPaddingBytes, '\0');
  }
  JsonCursor cursor() const { return {text_.data(), text_.data() + size_}; }
  std::size_t place_of(const JsonCursor& cursor) const { return static_cast<std::size_t>(cursor.at() - text_.data()); }

 private:
  std::size_t size_;
  std::string text_;
};

struct ReadEvent {
  explicit ReadEvent(const std::string& text) : padded(text), cursor(padded.cursor()) {
    scan = read_event(cursor, event);
  }
  Padded padded;
  JsonCursor cursor;
  KinetoEvent event;
  Scan scan;
};

TEST(KinetoEvent, TakesEachArgumentForItself) {
  const std::pair<const char*, Argument> keys[] = {
      {"correlation", Argument::kCorrelation},
      {"bytes", Argument::kBytes},
      {"size", Argument::kSize},
      {"device", Argument::kDevice},
      {"inDevice", Argument::kInDevice},
      {"fromDevice", Argument::kFromDevice},
      {"toDevice", Argument::kToDevice},
      {"context", Argument::kContext},
      {"inContext", Argument::kInContext},
      {"stream", Argument::kStream},
      {"graph id", Argument::kGraph},
      {"graph node id", Argument::kGraphNode},
      {"Sequence number", Argument::kSequence},
      {"Fwd thread id", Argument::kForwardThread},
      {"wait_on_cuda_event_record_corr_id", Argument::kWaitOnRecord},
      {"wait_on_stream", Argument::kWaitOnStream},
  };
  EXPECT_EQ(std::size(keys), static_cast<std::size_t>(Argument::kCount));
  for (const auto& [key, argument] : keys) {
    const ReadEvent read("{\"cat\": \"kernel\", \"args\": {\"other\": 1, \"" + std::string(key) + "\": 71}}");
    ASSERT_EQ(read.scan, Scan::kOk) << key;
    for (std::size_t i = 0; i < read.event.arguments.size(); ++i) {
      EXPECT_EQ(read.event.arguments[i], i == static_cast<std::size_t>(argument) ? 71 : kAbsent) << key << ' ' << i;
    }
  }
  for (const char* key : {"sizf", "bytez", "devicf", "streax", "contexx", "inDevicx", "graph ie", "inContexx", "xsize",
                          "fromDevicx", "correlatiox", "Fwd thread ix", "Sequence numbex", ""}) {
    const ReadEvent read("{\"cat\": \"kernel\", \"args\": {\"" + std::string(key) + "\": 71}}");
    for (const std::int64_t value : read.event.arguments) EXPECT_EQ(value, kAbsent) << key;
  }
}

TEST(KinetoEvent, TakesWholeNumbersAlsoAsTexts) {
  const auto bytes = [](const std::string& value) {
    return ReadEvent(R"({"cat": "kernel", "args": {"bytes": )" + value + "}}").event.argument(Argument::kBytes);
  };
  EXPECT_EQ(bytes("12"), 12);
  EXPECT_EQ(bytes("\"12\""), 12);
  EXPECT_EQ(bytes("-12"), -12);
  for (const char* value : {"1.5", "\"x\"", "[1]", "{}", "null", "true"}) EXPECT_EQ(bytes(value), kAbsent) << value;
}

TEST(KinetoEvent, KnowsEveryCategory) {
  const std::pair<const char*, Category> categories[] = {
      {"python_function", Category::kPython},
      {"cpu_op", Category::kOperator},
      {"Operator", Category::kOperator},
      {"user_annotation", Category::kAnnotation},
      {"cuda_runtime", Category::kRuntimeCall},
      {"Runtime", Category::kRuntimeCall},
      {"privateuse1_runtime", Category::kRuntimeCall},
      {"cuda_driver", Category::kDriverCall},
      {"xpu_driver", Category::kDriverCall},
      {"kernel", Category::kKernel},
      {"Kernel", Category::kKernel},
      {"gpu_memcpy", Category::kMemcpy},
      {"Memcpy", Category::kMemcpy},
      {"gpu_memset", Category::kMemset},
      {"Memset", Category::kMemset},
      {"cuda_sync", Category::kSynchronisation},
      {"fwdbwd", Category::kForwardBackward},
      {"forward_backward", Category::kForwardBackward},
      {"ac2g", Category::kOther},
      {"gpu_user_annotation", Category::kOther},
      {"driver", Category::kOther},
      {"", Category::kOther},
  };
  for (const auto& [name, category] : categories) {
    const ReadEvent read(R"({"ph": "X", "cat": ")" + std::string(name) + R"("})");
    EXPECT_EQ(read.event.category, category) << name;
    EXPECT_TRUE(read.event.has_category) << name;
    EXPECT_EQ(ReadEvent(R"({"ph": "M", "cat": ")" + std::string(name) + R"("})").event.category, Category::kMetadata);
  }
}

TEST(KinetoEvent, HasEachFieldWhereItBelongs) {
  const ReadEvent read(
      R"({"ph": "X", "name": "n\n", "pid": 1, "tid": "2", "ts": 3.5, "dur": 4, "cat": "cuda_sync",
          "args": {"cuda_sync_kind": "Context Sync", "kind": "no"}} )");
  ASSERT_EQ(read.scan, Scan::kOk);
  EXPECT_EQ(read.event.phase, 'X');
  EXPECT_EQ(read.event.name.text, R"(n\n)");
  EXPECT_TRUE(read.event.name.has_escapes);
  EXPECT_EQ(read.event.pid, 1);
  EXPECT_EQ(read.event.tid, 2);
  EXPECT_EQ(read.event.start_ns, 3'500);
  EXPECT_EQ(read.event.duration_ns, 4'000);
  EXPECT_TRUE(read.event.has_times());
  EXPECT_EQ(read.event.text.text, "Context Sync");
  const ReadEvent labels(R"({"ph": "M", "args": {"labels": "GPU 3"}})");
  EXPECT_EQ(labels.event.text.text, "GPU 3");
  const ReadEvent odd(R"({"ph": "XX", "name": 5, "cat": 6, "ts": "7", "dur": null, "pid": [1], "tid": {}})");
  ASSERT_EQ(odd.scan, Scan::kOk);
  EXPECT_EQ(odd.event.phase, '\0');
  EXPECT_EQ(odd.event.name.text, "");
  EXPECT_FALSE(odd.event.has_category);
  EXPECT_EQ(odd.event.category, Category::kOther);
  EXPECT_EQ(odd.event.start_ns, trace::kUnknownTime);
  EXPECT_EQ(odd.event.duration_ns, trace::kUnknownTime);
  EXPECT_EQ(odd.event.pid, kAbsent);
  EXPECT_EQ(odd.event.tid, kAbsent);
  EXPECT_FALSE(odd.event.has_times());
  EXPECT_FALSE(ReadEvent(R"({"ts": 1})").event.has_times());
  EXPECT_FALSE(ReadEvent(R"({"dur": 1})").event.has_times());
}

TEST(KinetoEvent, HasNoArgumentsWhereNoneAreOfUse) {
  for (const char* category : {"python_function", "user_annotation", "fwdbwd"}) {
    const ReadEvent read(R"({"cat": ")" + std::string(category) + R"(", "args": {"bytes": 1, "name": "x"}, "tid": 9})");
    EXPECT_EQ(read.event.argument(Argument::kBytes), kAbsent) << category;
    EXPECT_EQ(read.event.text.text, "") << category;
    EXPECT_EQ(read.event.tid, 9) << category;
  }
  EXPECT_EQ(ReadEvent(R"({"args": {"bytes": 1}, "cat": "fwdbwd"})").event.argument(Argument::kBytes), 1);
}

// Of one event read after another nothing is left.
TEST(KinetoEvent, StartsAnew) {
  const Padded padded(R"({"ph": "X", "name": "a", "ts": 1, "dur": 2, "args": {"bytes": 3}} {})");
  JsonCursor cursor = padded.cursor();
  KinetoEvent event;
  ASSERT_EQ(read_event(cursor, event), Scan::kOk);
  EXPECT_EQ(event.argument(Argument::kBytes), 3);
  ASSERT_EQ(read_event(cursor, event), Scan::kOk);
  EXPECT_EQ(event.argument(Argument::kBytes), kAbsent);
  EXPECT_EQ(event.name.text, "");
  EXPECT_EQ(event.phase, '\0');
  EXPECT_FALSE(event.has_times());
}

TEST(KinetoEvent, TellsWhatIsCutOffFromWhatIsWrong) {
  const std::string whole = R"({"ph": "X", "args": {"bytes": [1, "a\"b"], "x": {}}, "ts": 12})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(ReadEvent(whole.substr(0, size)).scan, Scan::kMore) << whole.substr(0, size);
  }
  const ReadEvent read(whole + "x");
  EXPECT_EQ(read.scan, Scan::kOk);
  EXPECT_EQ(read.padded.place_of(read.cursor), whole.size());
  for (const char* text :
       {R"({"a" 1})", R"({"a": 1 "b": 2})", R"({"a": })", R"({"a": 1,})", R"({a: 1})", R"({,})", R"({"a": 1])",
        R"({"a": [1}, "b": 1)", R"({"a": [1 2]})", "{\"a\": \"\n\"}", R"({"a": @})"}) {
    const Scan scan = ReadEvent(text).scan;
    if (std::string_view(text) == R"({"a": [1}, "b": 1)") continue;  // brackets are counted, not matched
    EXPECT_EQ(scan, Scan::kBad) << text;
  }
}

TEST(JsonCursor, ReadsStringsOfEveryLength) {
  for (std::size_t size = 0; size < 40; ++size) {
    const std::string plain(size, 'x');
    const Padded padded('"' + plain + "\" ");
    JsonCursor cursor = padded.cursor();
    JsonValue value;
    ASSERT_EQ(cursor.string(value), Scan::kOk) << size;
    EXPECT_EQ(value.text, plain);
    EXPECT_FALSE(value.has_escapes);
    EXPECT_EQ(padded.place_of(cursor), size + 2);
    const Padded escaped('"' + plain + "\\\"z\\\\\"");
    cursor = escaped.cursor();
    ASSERT_EQ(cursor.string(value), Scan::kOk) << size;
    EXPECT_EQ(value.text, plain + "\\\"z\\\\");
    EXPECT_TRUE(value.has_escapes);
    const Padded open('"' + plain);
    cursor = open.cursor();
    EXPECT_EQ(cursor.string(value), Scan::kMore) << size;
    const Padded half('"' + plain + '\\');
    cursor = half.cursor();
    EXPECT_EQ(cursor.string(value), Scan::kMore) << size;
    const Padded broken('"' + plain + "\n\"");
    cursor = broken.cursor();
    EXPECT_EQ(cursor.string(value), Scan::kBad) << size;
    const Padded control('"' + plain + "\x1f\x01\"");
    cursor = control.cursor();
    EXPECT_EQ(cursor.string(value), Scan::kOk) << size;
  }
}

TEST(JsonCursor, TellsKindsOfValues) {
  const std::tuple<const char*, JsonValue::Kind, const char*> cases[] = {
      {"\"a\" ", JsonValue::Kind::kString, "a"},
      {" -1.5e+3,", JsonValue::Kind::kScalar, "-1.5e+3"},
      {"null}", JsonValue::Kind::kScalar, "null"},
      {"{\"a\": [1, {}]} ", JsonValue::Kind::kObject, "{\"a\": [1, {}]}"},
      {"[[], \"]\"] ", JsonValue::Kind::kArray, "[[], \"]\"]"},
  };
  for (const auto& [text, kind, expected] : cases) {
    const Padded padded(text);
    JsonCursor cursor = padded.cursor();
    JsonValue value{.kind = JsonValue::Kind::kScalar, .has_escapes = true, .text = {}};
    ASSERT_EQ(cursor.value(value), Scan::kOk) << text;
    EXPECT_EQ(value.kind, kind) << text;
    EXPECT_EQ(value.text, expected);
    EXPECT_FALSE(value.has_escapes) << text;
  }
  for (const char* text : {"12", "nul", "-", "[1, 2", "{", "[\"a\"", ""}) {
    const Padded padded(text);
    JsonCursor cursor = padded.cursor();
    JsonValue value;
    EXPECT_EQ(cursor.value(value), Scan::kMore) << text;
  }
  for (const char* text : {"}", "]", ",", "@", "[1;2]"}) {
    const Padded padded(text);
    JsonCursor cursor = padded.cursor();
    JsonValue value;
    EXPECT_EQ(cursor.value(value), Scan::kBad) << text;
  }
}

}  // namespace
}  // namespace turnpike::ingest
