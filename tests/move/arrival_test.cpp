// Downloads of one word, which need no event: that they arrive, what the driver is asked, and what tells where the
// memory does not.
#include "move/arrival.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "engine_run.h"

namespace turnpike::move {
namespace {

using simulated::Pace;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr Settings kSmall{.threads = 1, .chunk_bytes = 4096, .pinned_bytes = 8 * 4096};

// 4 or 8 bytes on a device, and a place for them on the host.
struct Word {
  Word(EngineRun& run, std::size_t its_size_bytes, int its_device = 0)
      : device(its_device),
        size_bytes(its_size_bytes),
        address(run.allocator.hold(device, nullptr, size_bytes)),
        host(std::make_shared<std::uint64_t>(0)) {}

  // A kernel of the default stream.
  void put(EngineRun& run, std::uint64_t its_value) {
    value = 0;
    std::memcpy(&value, &its_value, size_bytes);
    run.simulation.launch(device, nullptr,
                          {.name = "the kernel that makes a word",
                           .writes = {simulated::range_of(*address, size_bytes)},
                           .body = [&run, at = *address, bytes = its_value, size = size_bytes] {
                             std::memcpy(run.simulation.bytes(at), &bytes, size);
                           }});
  }
  std::unique_ptr<Transfer> fetch(EngineRun& run) const {
    const Piece piece{.host = host.get(), .device = *address, .size_bytes = size_bytes};
    auto transfer = run.engine->download_behind(device, {&piece, 1}, nullptr, run.watched(host));
    EXPECT_TRUE(transfer) << (transfer ? "" : transfer.error().message);
    return transfer ? std::move(*transfer) : nullptr;
  }
  bool has_arrived() const { return *host == value; }

  int device;
  std::size_t size_bytes;
  std::shared_ptr<const std::uint64_t> address;
  std::shared_ptr<std::uint64_t> host;
  std::uint64_t value = 0;
};

void finish(EngineRun& run, Transfer& transfer) {
  if (run.random.one_in(2)) {
    const Status status = transfer.wait();
    EXPECT_TRUE(status) << status.error().message;
  } else {
    while (!transfer.is_done()) std::this_thread::yield();
  }
}

// What has been called since `before`, but for what only says to whom the calls are made.
std::map<std::string, std::size_t> calls_since(const EngineRun& run, const std::map<std::string, std::size_t>& before) {
  std::map<std::string, std::size_t> calls = run.simulation.calls();
  for (const auto& [function, count] : before) calls[function] -= count;
  for (const char* function :
       {"ctx_push_current", "ctx_pop_current", "thread_exchange_stream_capture_mode", "stream_is_capturing"}) {
    calls.erase(function);
  }
  std::erase_if(calls, [](const auto& call) { return call.second == 0; });
  return calls;
}

TEST(Arrival, OfAWordTakesOneCallAndNoQuestion) {
  for (const std::size_t size_bytes : {4, 8}) {
    EngineRun run(1, {.pace = Pace::kOnlyWhenAsked}, kSmall);
    Word word(run, size_bytes);
    word.put(run, 1);
    ASSERT_TRUE(word.fetch(run)->wait());  // page-locks the ring
    word.put(run, 0x1234567890ABCDEF);
    const auto before = run.simulation.calls();
    auto transfer = word.fetch(run);
    EXPECT_THAT(calls_since(run, before), UnorderedElementsAre(Pair("memcpy_dtoh_async", 1U)));
    run.simulation.finish();
    const auto issued = run.simulation.calls();
    EXPECT_TRUE(transfer->is_done());
    EXPECT_TRUE(transfer->wait());
    EXPECT_TRUE(transfer->wait_on(0, run.simulation.make_stream(0)));
    EXPECT_EQ(run.simulation.calls(), issued);
    EXPECT_TRUE(word.has_arrived());
    transfer.reset();
    run.end();
  }
}

TEST(Arrival, OfAnythingElseIsToldByAnEvent) {
  EngineRun run(1, {.pace = Pace::kAtOnce}, kSmall);
  const DeviceAddress device = run.simulation.device_memory(0, 64);
  std::fill_n(run.simulation.bytes(device), 64, std::byte{7});
  std::vector<std::byte> host(64);
  const auto records = [&](std::vector<Piece> pieces, Stream stream) {
    const std::size_t before = run.simulation.calls("event_record");
    auto transfer = run.engine->download_behind(0, pieces, stream, nullptr);
    EXPECT_TRUE(transfer && (*transfer)->wait());
    return run.simulation.calls("event_record") - before;
  };
  const auto piece = [&](std::size_t at, std::size_t size_bytes) {
    return Piece{.host = host.data() + at, .device = device + at, .size_bytes = size_bytes};
  };
  EXPECT_EQ(records({piece(0, 8)}, nullptr), 0U);
  EXPECT_EQ(records({piece(4, 4)}, nullptr), 0U);
  EXPECT_EQ(records({piece(4, 8)}, nullptr), 1U) << "the device may read it in two pieces";
  EXPECT_EQ(records({piece(2, 4)}, nullptr), 1U);
  for (const std::size_t size_bytes : {0, 1, 2, 3, 5, 6, 7, 9, 12, 16, 64}) {
    EXPECT_EQ(records({piece(0, size_bytes)}, nullptr), 1U) << size_bytes;
  }
  EXPECT_EQ(records({piece(0, 4), piece(8, 4)}, nullptr), 1U);
  EXPECT_EQ(records({}, nullptr), 1U);
  EXPECT_EQ(records({piece(0, 8)}, run.simulation.make_stream(0)), 1U) << "the program may destroy the stream";
  run.end();
}

// More than the ring has places for, of two devices.
TEST(Arrival, BringsEveryWordAsItWas) {
  for_each_seed([](EngineRun& run) {
    std::vector<Word> words;
    for (int i = 0; i < 3; ++i) words.emplace_back(run, run.random.one_in(2) ? 4 : 8, i % 2);
    struct Fetch {
      std::unique_ptr<Transfer> transfer;
      Word word;
    };
    std::deque<Fetch> under_way;
    for (std::size_t times = run.random.one_in(10) ? 150 : run.random.between(1, 20); times > 0; --times) {
      Word& word = words[run.random.below(words.size())];
      word.put(run, run.random.one_in(4) ? run.random.below(3) : run.random.next());
      word.host = std::make_shared<std::uint64_t>(0);
      under_way.push_back({word.fetch(run), word});
      ASSERT_NE(under_way.back().transfer, nullptr);
      if (run.random.one_in(4)) word.put(run, 77);
      if (run.random.one_in(9)) run.engine->reap();
      if (run.random.one_in(9)) under_way.pop_back();  // abandoned
      if (under_way.empty() || run.random.one_in(2)) continue;
      finish(run, *under_way.front().transfer);
      EXPECT_TRUE(under_way.front().word.has_arrived());
      under_way.pop_front();
    }
    if (run.random.one_in(4)) run.engine.reset();
    for (const Fetch& fetch : under_way) {
      finish(run, *fetch.transfer);
      EXPECT_TRUE(fetch.word.has_arrived());
    }
  });
}

// A ring goes while other threads look at places in it.
TEST(Arrival, OutlivesChangesOfTheSettings) {
  for_each_seed([](EngineRun& run) {
    run.settings.pinned_bytes = std::size_t{32768} * 8;  // the most of some_settings()
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&run, i, seed = run.random.next()] {
        simulated::Random random(seed);
        for (int times = 0; times < 8; ++times) {
          Word word(run, random.one_in(2) ? 4 : 8, i % 2);
          word.put(run, random.next());
          const Piece piece{.host = word.host.get(), .device = *word.address, .size_bytes = word.size_bytes};
          auto transfer = run.engine->download_behind(word.device, {&piece, 1}, nullptr, word.host);
          ASSERT_TRUE(transfer);
          ASSERT_TRUE((*transfer)->wait());
          ASSERT_TRUE(word.has_arrived());
        }
      });
    }
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(run.engine->configure(some_settings(run.random)));
      run.engine->release_pinned();
    }
    for (std::thread& thread : threads) thread.join();
  });
}

// The memory says nothing; the stream is idle sooner or later.
TEST(Arrival, OfThePatternItselfIsToldByTheStream) {
  for_each_seed([](EngineRun& run) {
    Word word(run, run.random.one_in(2) ? 4 : 8);
    word.put(run, Arrival::kNothingYet);
    const auto transfer = word.fetch(run);
    ASSERT_NE(transfer, nullptr);
    if (run.random.one_in(2)) run.simulation.finish();
    finish(run, *transfer);
    EXPECT_TRUE(word.has_arrived());
  });
}

TEST(Arrival, OfThePatternInAStreamThatIsNeverIdleIsToldByAnEvent) {
  EngineRun run(1, {.pace = Pace::kOnlyWhenAsked}, kSmall);
  Word word(run, 8);
  word.put(run, Arrival::kNothingYet);
  auto transfer = word.fetch(run);
  const auto first = run.simulation.hold(0, nullptr);
  while (run.simulation.calls("event_record") == 0) ASSERT_FALSE(transfer->is_done());
  EXPECT_EQ(run.simulation.calls("stream_query"), 8U) << "an event is for streams that stay busy";
  const auto second = run.simulation.hold(0, nullptr);
  run.simulation.let_go(first);
  EXPECT_TRUE(transfer->wait());
  EXPECT_TRUE(word.has_arrived());
  EXPECT_FALSE(*run.engine->is_idle(0, nullptr));
  run.simulation.let_go(second);
  transfer.reset();
  run.end();
}

TEST(Arrival, AsksTheStreamOnceAMillisecond) {
  EngineRun run(1, {.pace = Pace::kOnlyWhenAsked}, kSmall);
  Word word(run, 4);
  word.put(run, 5);
  const auto hold = run.simulation.hold(0, nullptr);
  const auto start = steady_clock::now();
  auto transfer = word.fetch(run);
  std::size_t looks = 0;
  for (; steady_clock::now() - start < std::chrono::milliseconds(30) || looks < 1000; ++looks) {
    ASSERT_FALSE(transfer->is_done());
  }
  const auto took_ms = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - start).count();
  const std::size_t questions = run.simulation.calls("stream_query") + run.simulation.calls("event_query");
  EXPECT_GT(questions, 0U);
  EXPECT_LE(questions, static_cast<std::size_t>(took_ms));
  run.simulation.let_go(hold);
  EXPECT_TRUE(transfer->wait());
  EXPECT_TRUE(word.has_arrived());
  transfer.reset();
  run.end();
}

// Nothing will come any more: whoever waits must hear of it.
TEST(Arrival, OnADeviceThatFailedIsAnError) {
  for (const bool is_waited_for : {false, true}) {
    EngineRun run(1, {.pace = Pace::kOnlyWhenAsked}, kSmall);
    Word word(run, 8);
    word.put(run, Arrival::kNothingYet);  // so that the memory never tells
    auto transfer = word.fetch(run);
    run.simulation.fail("stream_is_capturing", 1, 719);
    run.simulation.fail("stream_query", 1, 719);
    while (!is_waited_for && !transfer->is_done()) std::this_thread::yield();
    const Status status = transfer->wait();
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("a failure of the simulation"));
    EXPECT_FALSE(transfer->wait_on(0, run.simulation.make_stream(0)));
    EXPECT_EQ(*word.host, 0U);
    run.simulation.forget_failures();
    word.put(run, 6);
    ASSERT_TRUE(word.fetch(run)->wait());
    EXPECT_TRUE(word.has_arrived());
    transfer.reset();
    run.end();
  }
}

TEST(Arrival, OfACopyThatWasNotIssuedIsAnError) {
  EngineRun run(1, {.pace = Pace::kOnlyWhenAsked}, kSmall);
  Word word(run, 8);
  const Piece piece{.host = word.host.get(), .device = *word.address, .size_bytes = 8};
  run.simulation.fail("memcpy_dtoh_async", 1, 719);
  const auto refused = run.engine->download_behind(0, {&piece, 1}, nullptr, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("copying from the GPU"));
  EXPECT_EQ(run.engine->stats().pending, 0U);
  word.put(run, 6);
  ASSERT_TRUE(word.fetch(run)->wait());
  EXPECT_TRUE(word.has_arrived());
  run.end();
}

TEST(Arrival, IsNotToldByAQuestionThatACaptureRefuses) {
  for (const char* question : {"stream_is_capturing", "stream_query", "event_query"}) {
    SCOPED_TRACE(question);
    EngineRun run(1, {.pace = Pace::kOnlyWhenAsked}, kSmall);
    Word word(run, 8);
    word.put(run, Arrival::kNothingYet);
    auto transfer = word.fetch(run);
    const auto hold = run.simulation.hold(0, nullptr);  // until there is an event to ask about
    if (std::strcmp(question, "event_query") == 0) {
      while (run.simulation.calls("event_record") == 0) ASSERT_FALSE(transfer->is_done());
    }
    const std::size_t asked = run.simulation.calls(question);
    const std::size_t queries = run.simulation.calls("stream_query");
    run.simulation.fail(question, 1, 906);
    while (run.simulation.calls(question) == asked) ASSERT_FALSE(transfer->is_done());
    if (std::strcmp(question, "stream_is_capturing") == 0) {
      EXPECT_EQ(run.simulation.calls("stream_query"), queries) << "that would end the capture";
    }
    ASSERT_FALSE(transfer->is_done());
    run.simulation.let_go(hold);
    EXPECT_TRUE(transfer->wait());
    EXPECT_TRUE(word.has_arrived());
    transfer.reset();
    run.end();
  }
}

TEST(Arrival, LeavesCapturesAlone) {
  for_each_seed([](EngineRun& run) {
    Word word(run, run.random.one_in(2) ? 4 : 8);
    word.put(run, run.random.one_in(4) ? Arrival::kNothingYet : run.random.next());
    const auto transfer = word.fetch(run);
    const Stream captured = run.simulation.make_stream(0);
    const bool is_by_another = run.random.one_in(2);
    std::thread([&] {
      if (is_by_another) run.simulation.begin_capture(captured);
    }).join();
    if (!is_by_another) run.simulation.begin_capture(captured);
    if (run.random.one_in(2)) transfer->is_done();
    if (run.random.one_in(2)) run.engine->reap();
    finish(run, *transfer);
    EXPECT_TRUE(word.has_arrived());
    run.simulation.end_capture();
  });
}

TEST(Arrival, HoldsUpAStreamAndNotTheHost) {
  EngineRun run(1, {.pace = Pace::kOnlyWhenAsked}, kSmall);
  Word word(run, 8);
  const auto hold = run.simulation.hold(0, nullptr);
  word.put(run, 5);
  auto transfer = word.fetch(run);
  const Stream other = run.simulation.make_stream(0);
  const std::size_t records = run.simulation.calls("event_record");
  for (std::size_t times = 1; times <= 2; ++times) {
    ASSERT_TRUE(transfer->wait_on(0, other));
    EXPECT_EQ(run.simulation.calls("stream_wait_event"), times);
    EXPECT_EQ(run.simulation.calls("event_record"), records + 1) << "one event serves all";
  }
  run.simulation.let_go(hold);
  EXPECT_TRUE(transfer->wait());
  EXPECT_TRUE(word.has_arrived());
  transfer.reset();
  run.end();
}

// An event is recorded when a stream asks for it.
TEST(Arrival, HoldsUpStreamsThatOverwriteTheWord) {
  for_each_seed([](EngineRun& run) {
    Word word(run, 8);
    word.put(run, run.random.next());
    const Stream other = run.simulation.make_stream(0);
    const auto transfer = word.fetch(run);
    if (run.random.one_in(3)) transfer->is_done();
    // Where the driver will not say whether it can record one, the host waits.
    if (run.random.one_in(3)) run.simulation.fail("stream_is_capturing", 1, 906);
    for (std::size_t times = run.random.between(1, 2); times > 0; --times) {
      const Status status = transfer->wait_on(0, other);
      ASSERT_TRUE(status) << status.error().message;
    }
    run.simulation.launch(
        0, other, {.name = "the kernel that overwrites the word", .writes = {simulated::range_of(*word.address, 8)}});
    finish(run, *transfer);
    EXPECT_TRUE(word.has_arrived());
    run.simulation.finish();  // the allocator gives the word's memory to the default stream
  });
}

}  // namespace
}  // namespace turnpike::move
