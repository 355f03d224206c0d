// What attach and a dormant process write is what they read.
#include "record/control_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::record {
namespace {

using testing::HasSubstr;

ControlMessage taken(std::string& received) {
  auto message = take_message(received);
  EXPECT_TRUE(message) << message.error().message;
  EXPECT_TRUE(message && *message);
  return message && *message ? **message : ControlMessage{};
}

TEST(ControlMessageTest, ComesAsItWasSent) {
  const ControlMessage sent{"start", {{"run", "/a=b/100%25 of\nit.tpk"}, {"empty", ""}, {"percent", "%0A%"}}};
  std::string text = to_text(sent);
  const ControlMessage message = taken(text);
  EXPECT_EQ(message.word, "start");
  EXPECT_EQ(message.values, sent.values);
  EXPECT_EQ(text, "");
  ASSERT_NE(message.find("empty"), nullptr);
  EXPECT_EQ(message.find("missing"), nullptr);
}

TEST(ControlMessageTest, ComesInPiecesAndTwoAtOnce) {
  const std::string first = to_text({"status"});
  const std::string both = first + to_text({"stop", {{"a", "b"}}});
  for (std::size_t cut = 0; cut < first.size(); ++cut) {
    std::string received = both.substr(0, cut);
    const auto nothing = take_message(received);
    ASSERT_TRUE(nothing) << cut;
    EXPECT_FALSE(*nothing) << cut;
    received += both.substr(cut);
    EXPECT_EQ(taken(received).word, "status") << cut;
    EXPECT_EQ(taken(received).word, "stop") << cut;
    EXPECT_EQ(received, "") << cut;
  }
}

TEST(ControlMessageTest, OfAnotherVersionIsRefused) {
  for (const std::string first : {"turnpike/2 status", "turnpike/10 status", "turnpike/1", "", "GET / HTTP/1.1"}) {
    std::string received = first + "\n\n";
    const auto message = take_message(received);
    ASSERT_FALSE(message) << first;
    EXPECT_THAT(message.error().message, HasSubstr("another version"));
  }
}

TEST(ControlMessageTest, WithALineThatIsNoValueIsRefused) {
  std::string received = "turnpike/1 start\nnonsense\n\n";
  EXPECT_FALSE(take_message(received));
}

TEST(ControlMessageTest, HasAnEndSomewhere) {
  std::string received(kMaxControlBytes, 'x');
  EXPECT_TRUE(take_message(received));
  received += 'x';
  EXPECT_FALSE(take_message(received));
}

TEST(ControlMessageTest, CarriesEveryCounter) {
  TurnpikeStatus status{};
  status.process_count = 1;
  status.transfer_count[0] = 18'446'744'073'709'551'615u;
  status.transfer_bytes[5] = 7;
  status.trigger_count = 9;
  const TurnpikeStatus read = counters_from_text(counters_to_text(status));
  EXPECT_EQ(read.process_count, 1u);
  EXPECT_EQ(read.transfer_count[0], status.transfer_count[0]);
  EXPECT_EQ(read.transfer_bytes[5], 7u);
  EXPECT_EQ(read.trigger_count, 9u);
}

TEST(ControlMessageTest, HasCountersOfAnOlderOrBrokenProcess) {
  const TurnpikeStatus few = counters_from_text("3 4");
  EXPECT_EQ(few.process_count, 3u);
  EXPECT_EQ(few.transfer_count[0], 4u);
  EXPECT_EQ(few.transfer_count[1], 0u);
  EXPECT_EQ(counters_from_text("").process_count, 0u);
  EXPECT_EQ(counters_from_text("x 4").transfer_count[0], 0u);
}

}  // namespace
}  // namespace turnpike::record
