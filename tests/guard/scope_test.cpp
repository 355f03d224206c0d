// What a block keeps count of: limits, warm-up, the log, what is deferred; and the lines that its allow list names.
#include "guard/scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace turnpike::guard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Place place_at(std::uint32_t number, const char* file = "/x/train.py", std::uint32_t line = 7) {
  Place place;
  place.file = file;
  place.line = line;
  place.function = "step";
  place.frames.push_back({"step", file, line, 1});
  place.number = number;
  return place;
}

Event event_at(const Place& place, Kind kind = Kind::kD2h, std::uint64_t bytes = 4) {
  Event event;
  event.kind = kind;
  event.crossing.call = "cudaMemcpy";
  event.crossing.kind = kind;
  event.crossing.bytes = bytes;
  event.place = {std::shared_ptr<const Place>(), &place};
  event.text = "line " + std::to_string(place.line);
  return event;
}

std::shared_ptr<PreparedRules> prepared(const char* text) {
  auto rules = prepare_rules(text);
  EXPECT_TRUE(rules) << text;
  return *rules;
}

TEST(Scope, PermitsAsManyAndAsMuchAsItsRulesSay) {
  LogTable log;
  Scope scope(prepared("d2h=2,h2d=10 B"), log);
  const Rule& count = *scope.rules().of(Kind::kD2h);
  const Rule& size = *scope.rules().of(Kind::kH2d);
  EXPECT_TRUE(scope.is_within(count, Kind::kD2h, 1 << 30));
  EXPECT_TRUE(scope.is_within(count, Kind::kD2h, 1 << 30));
  EXPECT_FALSE(scope.is_within(count, Kind::kD2h, 0));
  EXPECT_TRUE(scope.is_within(size, Kind::kH2d, 6)) << "each kind by itself";
  EXPECT_TRUE(scope.is_within(size, Kind::kH2d, 4));
  EXPECT_FALSE(scope.is_within(size, Kind::kH2d, 1));
}

TEST(Scope, LetsEachPlaceWarmUp) {
  LogTable log;
  Scope scope(prepared("d2h=disallow,skip=2"), log);
  const Place first = place_at(0), second = place_at(300);
  EXPECT_FALSE(scope.is_warm(first, Kind::kD2h));
  EXPECT_FALSE(scope.is_warm(first, Kind::kD2h));
  EXPECT_TRUE(scope.is_warm(first, Kind::kD2h));
  EXPECT_TRUE(scope.is_warm(first, Kind::kD2h));
  EXPECT_FALSE(scope.is_warm(first, Kind::kSync));
  EXPECT_FALSE(scope.is_warm(second, Kind::kD2h));
  const Place unkept = place_at(kMaxPlaces, "/x/a.py", 1);
  EXPECT_FALSE(scope.is_warm(unkept, Kind::kD2h));
  EXPECT_FALSE(scope.is_warm(unkept, Kind::kD2h));
  EXPECT_TRUE(scope.is_warm(unkept, Kind::kD2h));
  EXPECT_FALSE(scope.is_warm(place_at(kMaxPlaces, "/x/a.py", 2), Kind::kD2h)) << "another of that number";
  Scope at_once(prepared("d2h=disallow"), log);
  EXPECT_TRUE(at_once.is_warm(first, Kind::kD2h));
}

TEST(Scope, LogsEachLineOnceAndCountsOn) {
  LogTable log;
  Scope scope(prepared("d2h=log"), log);
  EXPECT_TRUE(scope.is_uneventful());
  EXPECT_EQ(scope.json(), "");
  const Place place = place_at(5);
  EXPECT_EQ(log.find(place, Kind::kD2h), nullptr);
  EXPECT_TRUE(scope.log(event_at(place)));
  EXPECT_FALSE(scope.log(event_at(place, Kind::kD2h, 8)));
  EXPECT_TRUE(scope.log(event_at(place, Kind::kSync, 0))) << "of another kind";
  EXPECT_FALSE(scope.is_uneventful());
  ASSERT_NE(log.find(place, Kind::kD2h), nullptr);
  log.find(place, Kind::kD2h)->add(100);
  EXPECT_EQ(log.rows().size(), 2u);
  EXPECT_EQ(scope.json().find("{\"logged\":[{\"count\":3,\"bytes\":112,\"first\":{\"text\":\"line 7\","), 0u)
      << scope.json();
  EXPECT_THAT(scope.json(), HasSubstr("},{\"count\":1,\"bytes\":0,\"first\":"));
  EXPECT_THAT(scope.json(), HasSubstr("],\"deferred\":[]}"));
  Scope later(prepared("d2h=log"), log);
  EXPECT_FALSE(later.log(event_at(place))) << "a process has a line logged once";
  EXPECT_TRUE(later.is_uneventful());
}

TEST(Scope, DefersTheFirstSixteen) {
  LogTable log;
  Scope scope(prepared("d2h=disallow"), log);
  std::vector<Place> places;
  for (std::uint32_t line = 1; line <= 17; ++line) places.push_back(place_at(line, "/x/train.py", line));
  EXPECT_FALSE(scope.has_deferred());
  for (const Place& place : places) scope.defer(event_at(place));
  EXPECT_TRUE(scope.has_deferred());
  EXPECT_FALSE(scope.is_uneventful());
  EXPECT_EQ(scope.json().find("{\"logged\":[],\"deferred\":[{\"text\":\"line 1\","), 0u) << scope.json();
  Event event;
  for (std::uint32_t line = 1; line <= 16; ++line) {
    EXPECT_TRUE(scope.has_deferred());
    ASSERT_TRUE(scope.take_deferred(event));
    EXPECT_EQ(event.place->line, line);
  }
  EXPECT_FALSE(scope.has_deferred());
  EXPECT_FALSE(scope.take_deferred(event));
  EXPECT_TRUE(scope.is_uneventful());
}

TEST(LogTable, TellsApartTheLinesOfPlacesThatAreNotKept) {
  LogTable log;
  Place first = place_at(kMaxPlaces, "/x/a.py", 1);
  const auto made = [](const Place& place) {
    Crossing crossing;
    crossing.call = "cudaMalloc";
    crossing.kind = Kind::kAlloc;
    return make_event(Kind::kAlloc, crossing, place, "", {});
  };
  ASSERT_TRUE(log.add(made(first)).is_new);
  const Place again = first;
  first = place_at(kMaxPlaces, "/x/b.py", 1);  // as its thread does
  EXPECT_EQ(log.find(first, Kind::kAlloc), nullptr);
  EXPECT_TRUE(log.add(made(first)).is_new);
  EXPECT_FALSE(log.add(made(again)).is_new);
  Place other_function = again;
  other_function.function = "other";
  for (const Place& place : {again, first, place_at(kMaxPlaces, "/x/a.py", 2), other_function}) {
    log.add(made(place));
    ASSERT_NE(log.find(place, Kind::kAlloc), nullptr);
    EXPECT_EQ(log.find(place, Kind::kAlloc)->first.place->site(), place.site());
  }
  EXPECT_EQ(log.rows().size(), 4u);
  EXPECT_EQ(log.find(again, Kind::kAlloc)->count, 3u);
  EXPECT_EQ(log.find(again, Kind::kSync), nullptr);
}

TEST(LogTable, IsFullAtItsRows) {
  LogTable log;
  std::vector<Place> places;
  for (std::uint32_t number = 0; number < 4096; ++number) places.push_back(place_at(number));
  for (const Place& place : places) {
    EXPECT_FALSE(log.is_full());
    EXPECT_TRUE(log.add(event_at(place)).is_new);
  }
  EXPECT_TRUE(log.is_full());
  EXPECT_FALSE(log.add(event_at(places[9])).is_new);
  EXPECT_EQ(log.add(event_at(places[9])).row.count, 3u);
}

TEST(PlaceTable, HasSomethingOfItsOwnForEachPlace) {
  PlaceTable<int> table;
  for (const std::uint32_t number : {0u, 1u, 255u, 256u, kMaxPlaces - 1, kMaxPlaces}) {
    table.at(place_at(number)) = static_cast<int>(number) + 1;
  }
  for (const std::uint32_t number : {0u, 1u, 255u, 256u, kMaxPlaces - 1, kMaxPlaces}) {
    EXPECT_EQ(table.at(place_at(number)), static_cast<int>(number) + 1);
  }
  EXPECT_EQ(table.at(place_at(2)), 0);
  EXPECT_EQ(table.find(place_at(512)), nullptr);
  EXPECT_EQ(table.find(place_at(kMaxPlaces, "/x/other.py")), nullptr);
  EXPECT_FALSE(place_at(kMaxPlaces).is_kept());
  EXPECT_TRUE(place_at(kMaxPlaces - 1).is_kept());
}

TEST(PlaceTable, SharesOneAmongTheLinesThatAreTooMany) {
  PlaceTable<int> table;
  int* last = nullptr;
  for (std::uint32_t line = 1; line <= 10'000; ++line) last = &table.at(place_at(kMaxPlaces, "/x/a.py", line));
  EXPECT_EQ(&table.at(place_at(kMaxPlaces, "/x/a.py", 10'001)), last);
  EXPECT_EQ(table.find(place_at(kMaxPlaces, "/x/a.py", 10'002)), last);
  EXPECT_NE(&table.at(place_at(kMaxPlaces, "/x/a.py", 1)), last);
}

TEST(PreparedRules, TellWhatTheyAskAndMention) {
  const auto rules = prepared("d2h=log,h2d=allow,sync=3");
  Kinds asked(Kind::kD2h);
  asked.add(Kind::kSync);
  EXPECT_EQ(rules->asked.bits(), asked.bits());
  asked.add(Kind::kH2d);
  EXPECT_EQ(rules->mentioned.bits(), asked.bits());
}

TEST(PreparedRules, AreReadOnceForATextUntilThereAreMany) {
  const auto first = prepared("skip=1");
  EXPECT_EQ(prepared("skip=1"), first);
  EXPECT_FALSE(prepare_rules("skip=none"));
  for (int i = 2; i < 200; ++i) prepared(("skip=" + std::to_string(i)).c_str());
  EXPECT_EQ(prepared("skip=1"), first);
  for (int i = 200; i < 500; ++i) prepared(("skip=" + std::to_string(i)).c_str());
  EXPECT_NE(prepared("skip=1"), first);
  EXPECT_EQ(first->rules.skip, 1u) << "whoever has them keeps them";
}

// One line for each entry that allowed nothing.
std::map<std::string, bool> matched(const PreparedRules& rules) {
  std::map<std::string, bool> found;
  rules.add_matched(found);
  return found;
}

TEST(PreparedRules, AllowThePlacesOfTheirListForTheirKinds) {
  PreparedRules rules(*parse_rules("allow=a.py:1,allow=d2h b.py:2,allow=c.py,may_allow=d.py"));
  const Place b = place_at(1, "/x/b.py", 2), c = place_at(2, "/x/c.py", 9), other = place_at(3, "/x/b.py", 3);
  EXPECT_TRUE(matched(rules).empty()) << "nobody has entered them";
  rules.note_entered();
  const auto has_matched = [&] {
    std::vector<std::string> texts;
    for (const auto& [text, is_matched] : matched(rules)) {
      if (is_matched) texts.push_back(text);
    }
    return texts;
  };
  EXPECT_EQ(matched(rules).size(), 4u);
  EXPECT_THAT(has_matched(), ElementsAre("d.py")) << "it need not match";
  EXPECT_FALSE(rules.allows(other, Kind::kD2h));
  EXPECT_FALSE(rules.allows(b, Kind::kSync));
  EXPECT_THAT(has_matched(), ElementsAre("d.py"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(rules.allows(b, Kind::kD2h));
    EXPECT_THAT(has_matched(), ElementsAre("d.py", "d2h b.py:2"));
  }
  EXPECT_TRUE(rules.allows(c, Kind::kSync));
  EXPECT_THAT(has_matched(), ElementsAre("c.py", "d.py", "d2h b.py:2"));
  const Place not_kept = place_at(kMaxPlaces, "/x/a.py", 1);
  EXPECT_TRUE(rules.allows(not_kept, Kind::kAlloc));
  EXPECT_EQ(has_matched().size(), 4u);
  EXPECT_FALSE(rules.allows(place_at(kMaxPlaces, "/x/e.py", 1), Kind::kAlloc)) << "another of that number";
  EXPECT_FALSE(PreparedRules(*parse_rules("d2h=log")).allows(b, Kind::kD2h));
}

TEST(PreparedRules, SayWhichOfTheirListsAllowedNothing) {
  const auto entered = prepared("allow=e.py:1,allow=f.py:2");
  prepared("allow=never_entered.py");
  entered->note_entered();
  EXPECT_TRUE(entered->allows(place_at(1, "/x/f.py", 2), Kind::kD2h));
  EXPECT_EQ(unmatched_allowances(), "e.py:1\n");
  const auto again = prepared("allow=e.py:1");
  again->note_entered();
  EXPECT_TRUE(again->allows(place_at(1, "/x/e.py", 1), Kind::kD2h));
  EXPECT_EQ(unmatched_allowances(), "") << "allowed by it somewhere";
}

TEST(Place, IsNamedByItsFileAndLine) {
  EXPECT_EQ(place_at(1).site(), "train.py:7");
  EXPECT_EQ(place_at(1, "/x/train.py", 0).site(), "train.py");
  EXPECT_EQ(place_at(1, "train.py", 3).site(), "train.py:3");
  EXPECT_EQ(Place{}.site(), "");
  Place place = place_at(1);
  place.frames.push_back({"main", "/x/main.py", 99, 1});
  EXPECT_TRUE(place.matches("main.py:99")) << "a line that led to it";
  EXPECT_FALSE(place.matches("main.py:98"));
}

}  // namespace
}  // namespace turnpike::guard
