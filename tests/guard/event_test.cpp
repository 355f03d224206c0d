// The sentences and the JSON of a crossing that a rule is about.
#include "guard/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/place.h"

namespace turnpike::guard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What stands between the call and the advice; this program runs no Python.
std::string details(Kind kind, const Crossing& crossing, const Rule& rule = {.level = Level::kDisallow}) {
  const Place place;
  const std::string text = make_event(kind, crossing, place, "", rule).text;
  const std::string before = " (the lines of this version of Python are not known)";
  const std::size_t from = text.find(before);
  EXPECT_NE(from, std::string::npos) << text;
  const std::string rest = text.substr(from + before.size());
  return rest.substr(0, rest.find(". "));
}

Crossing crossing_of(Kind kind, HostMemory memory = HostMemory::kNone) {
  Crossing crossing{.call = "cudaMemcpy", .kind = kind, .kinds = kind, .bytes = 4};
  crossing.host_memory = memory;
  return crossing;
}

TEST(Event, SaysWhatHappenedAndWhatToDo) {
  const Place place;
  const Event event = make_event(Kind::kD2h, crossing_of(Kind::kD2h), place, "aten::item", {});
  EXPECT_EQ(event.text,
            "turnpike.guard: d2h of 4 B by aten::item (the lines of this version of Python are not known). Keep it on "
            "the GPU, or tp.fetch it; to permit it: with tp.allow(\"d2h\", reason=...)");
  EXPECT_EQ(what_happened(event), "d2h of 4 B by aten::item (the lines of this version of Python are not known)");
  Crossing wait = crossing_of(Kind::kSync);
  wait.bytes = 0;
  wait.call = "cudaDeviceSynchronize";
  EXPECT_THAT(make_event(Kind::kSync, wait, place, "", {}).text,
              HasSubstr("turnpike.guard: sync by cudaDeviceSynchronize (the"));
  EXPECT_THAT(make_event(Kind::kRepeat, crossing_of(Kind::kH2d), place, "", {}).text,
              HasSubstr("guard: repeated h2d of 4 B by cudaMemcpy"));
}

TEST(Event, AdvisesByTheKindOfTheRule) {
  const std::pair<Kind, const char*> kAdvice[] = {
      {Kind::kH2d, "Make it on the GPU"},     {Kind::kD2h, "Keep it on the GPU"},
      {Kind::kSync, "Let the GPU run ahead"}, {Kind::kPageable, "Use pinned memory"},
      {Kind::kAlloc, "Allocate before"},      {Kind::kRepeat, "Upload it once"},
      {Kind::kD2d, "Do without the copy"},    {Kind::kP2p, "Do without the copy"},
      {Kind::kH2h, "Do without the copy"}};
  const Place place;
  for (const auto& [kind, advice] : kAdvice) {
    const std::string text = make_event(kind, crossing_of(Kind::kH2d), place, "", {}).text;
    EXPECT_THAT(text, HasSubstr(std::string(". ") + advice));
    EXPECT_THAT(text, HasSubstr("with tp.allow(\"" + std::string(name_of(kind)) + "\", "));
  }
}

TEST(Event, TellsTheMemoryAndWhatElseThereIs) {
  EXPECT_EQ(details(Kind::kH2d, crossing_of(Kind::kH2d)), "");
  EXPECT_EQ(details(Kind::kH2d, crossing_of(Kind::kH2d, HostMemory::kPageable)), ": pageable memory -> GPU");
  EXPECT_EQ(details(Kind::kD2h, crossing_of(Kind::kD2h, HostMemory::kPinned)), ": GPU -> pinned memory");
  EXPECT_EQ(details(Kind::kH2h, crossing_of(Kind::kH2h, HostMemory::kManaged)), ": managed memory");
  Crossing waits = crossing_of(Kind::kD2h, HostMemory::kPageable);
  waits.kinds.add(Kind::kSync);
  EXPECT_EQ(details(Kind::kD2h, waits), ": GPU -> pageable memory, the CPU waits");
  Crossing captured = crossing_of(Kind::kH2d);
  captured.is_captured = true;
  EXPECT_THAT(details(Kind::kH2d, captured), HasSubstr("captured into a graph"));
  Crossing moved = crossing_of(Kind::kH2d);
  moved.is_move = true;
  EXPECT_THAT(details(Kind::kH2d, moved), HasSubstr("a copy of Turnpike's own"));
  Crossing over = crossing_of(Kind::kH2d);
  over.is_over = true;
  EXPECT_THAT(details(Kind::kH2d, over), HasSubstr("not stopped, because a library outside PyTorch made it"));
  EXPECT_THAT(details(Kind::kRepeat, crossing_of(Kind::kH2d)), HasSubstr("this line uploaded the same bytes before"));
  EXPECT_EQ(details(Kind::kH2d, crossing_of(Kind::kH2d), {.level = Level::kLimit, .most_count = 2}),
            ": more than the 2 permitted");
  EXPECT_EQ(details(Kind::kH2d, crossing_of(Kind::kH2d), {.level = Level::kLimit, .most_bytes = 16'000'000}),
            ": more than the 16.0 MB permitted");
}

TEST(Event, HasItsPlaceForAsLongAsItLives) {
  Place place;
  place.number = 3;
  EXPECT_EQ(make_event(Kind::kD2h, crossing_of(Kind::kD2h), place, "", {}).place.get(), &place);
  place.number = kMaxPlaces;  // not kept
  place.line = 12;
  const Event event = make_event(Kind::kD2h, crossing_of(Kind::kD2h), place, "", {});
  EXPECT_NE(event.place.get(), &place);
  EXPECT_EQ(event.place->line, 12u);
}

TEST(Event, IsOneObjectOfJson) {
  Place place;
  place.file = "/x/a.py";
  place.line = 7;
  place.function = "step";
  place.frames = {{"step", "/x/a.py", 7, 1}, {"main", "/x/b.py", 9, 2}};
  Event event;
  event.kind = Kind::kPageable;
  event.crossing = crossing_of(Kind::kD2h, HostMemory::kPageable);
  event.text = "a \"b\"";
  event.place = {std::shared_ptr<const Place>(), &place};
  event.crossing.stream = reinterpret_cast<const void*>(16);
  EXPECT_EQ(json_of(event),
            R"({"text":"a \"b\"","kind":"pageable","direction":"d2h","bytes":4,"file":"/x/a.py","line":7,)"
            R"("function":"step","op":null,"host_memory":"pageable","stream":16,)"
            R"("stack":[["/x/a.py",7,"step"],["/x/b.py",9,"main"]]})");
  event.op = "aten::item";
  EXPECT_THAT(json_of(event), HasSubstr(R"("op":"aten::item")"));
  const Place none;
  event.place = {std::shared_ptr<const Place>(), &none};
  event.crossing.host_memory = HostMemory::kNone;
  EXPECT_THAT(json_of(event), HasSubstr(R"("file":null,"line":0,"function":null)"));
  EXPECT_THAT(json_of(event), HasSubstr(R"("host_memory":null)"));
  EXPECT_THAT(json_of(event), HasSubstr(R"("stack":[]})"));
}

TEST(Event, EscapesText) {
  EXPECT_EQ(json_text("a\\b\"c\n\x1f\x20\x7f"), "\"a\\\\b\\\"c\\u000a\\u001f\x20\x7f\"");
  EXPECT_EQ(json_text("größe"), "\"größe\"");
  EXPECT_EQ(json_text(""), "\"\"");
}

}  // namespace
}  // namespace turnpike::guard
