// What is noted of the bytes that cross: which are the same, and what is left unknown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

using testing::IsEmpty;
using trace::ContentSide;

class Contents : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    run_ = new VictimRun({"contents"});
    trace_ = new Trace(run_->trace());
  }
  static void TearDownTestSuite() {
    delete trace_;
    delete run_;
  }
  // In the order of the calls.
  static std::vector<trace::ContentRecord> of_bytes(std::uint64_t bytes, const Trace& trace = *trace_) {
    std::vector<trace::ContentRecord> found;
    for (const auto& call : trace.calls) {
      for (const auto& content : trace.contents) {
        if (content.correlation == call.correlation && content.bytes == bytes) found.push_back(content);
      }
    }
    return found;
  }

  static VictimRun* run_;
  static Trace* trace_;
};
VictimRun* Contents::run_ = nullptr;
Trace* Contents::trace_ = nullptr;

TEST_F(Contents, SameBytesHaveTheSameHashAndOtherBytesAnother) {
  EXPECT_EQ(run_->outcome().exit_code, 0) << run_->outcome().err;
  const auto uploads = of_bytes(3001);
  ASSERT_EQ(uploads.size(), 3u);
  EXPECT_EQ(uploads[0].hash, uploads[1].hash);
  EXPECT_NE(uploads[1].hash, uploads[2].hash);
  for (const auto& upload : uploads) {
    EXPECT_EQ(upload.side, ContentSide::kSource);
    EXPECT_EQ(upload.hashed_bytes, 3001u);
    EXPECT_EQ(upload.address, trace_->call_of(upload.correlation)->src);
  }
}

TEST_F(Contents, DownloadsAreHashedWhenTheirBytesHaveArrived) {
  const auto crossings = of_bytes(3002);
  ASSERT_EQ(crossings.size(), 5u) << "up; down to pageable, to pinned with two sorts of waiting, and blocking";
  EXPECT_EQ(crossings[0].side, ContentSide::kSource);
  for (std::size_t i = 1; i < crossings.size(); ++i) {
    EXPECT_EQ(crossings[i].side, ContentSide::kDestination) << i;
    EXPECT_EQ(crossings[i].hash, crossings[0].hash) << i;
    EXPECT_EQ(crossings[i].address, trace_->call_of(crossings[i].correlation)->dst) << i;
  }
}

TEST_F(Contents, LargeBuffersAreSampled) {
  const auto uploads = of_bytes(50'000);
  ASSERT_EQ(uploads.size(), 2u);
  EXPECT_EQ(uploads[0].hash, uploads[1].hash);
  EXPECT_LT(uploads[0].hashed_bytes, 4097u);
  EXPECT_GT(uploads[0].hashed_bytes, 1024u);
}

TEST_F(Contents, MemoryThatIsUsedAgainTooEarlyIsUnknown) {
  EXPECT_THAT(of_bytes(3005), IsEmpty());
  EXPECT_EQ(of_bytes(3006).size(), 1u);
  EXPECT_THAT(of_bytes(3007), IsEmpty());
  EXPECT_THAT(of_bytes(3008), IsEmpty());
}

TEST_F(Contents, DownloadsThatTheirThreadDoesNotWaitForAreUnknown) {
  EXPECT_THAT(of_bytes(3004), IsEmpty());
}

TEST_F(Contents, SmallManagedUndirectedAndFailedCopiesAreUnknown) {
  for (const std::uint64_t bytes : {63, 3010, 3012, 3013}) EXPECT_THAT(of_bytes(bytes), IsEmpty()) << bytes;
  EXPECT_EQ(of_bytes(3011).size(), 1u) << "the others go on";
}

TEST_F(Contents, UnknownContentIsNoLoss) {
  EXPECT_EQ(trace_->losses(), "");
}

TEST_F(Contents, CapturedCopiesAreUnknown) {
  EXPECT_THAT(VictimRun({"graph", "2"}).trace().contents, IsEmpty());
}

TEST_F(Contents, VerifyingHashesEveryByte) {
  const Trace trace = VictimRun({"contents"}, {.variables = {{"TURNPIKE_VERIFY_CONTENT", "1"}}}).trace();
  const auto uploads = of_bytes(50'000, trace);
  ASSERT_EQ(uploads.size(), 2u);
  EXPECT_EQ(uploads[0].hash, uploads[1].hash);
  EXPECT_EQ(uploads[0].hashed_bytes, 50'000u);
  EXPECT_EQ(of_bytes(3001, trace)[0].hash, of_bytes(3001)[0].hash) << "what is small is hashed wholly in any case";
}

// At most three questions: is it managed, and which range does it lie in.
TEST_F(Contents, AskTheDriverOnceAboutMemoryUntilItChanges) {
  const VictimRun run({"asked_memory"});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out,
            "pageable 1\npageable again 0\npinned 3\npinned elsewhere 0\nregistered 3\nunregistered 1\n"
            "after a free of the device's 0\nmanaged 3\nafter a free of managed memory 1\n");
  const Trace trace = run.trace();
  EXPECT_EQ(of_bytes(3001, trace).size(), 101u);
  EXPECT_EQ(of_bytes(3002, trace).size(), 100u);
  EXPECT_EQ(of_bytes(3003, trace).size(), 50u) << "when they have arrived";
  EXPECT_EQ(of_bytes(3004, trace).size(), 150u);
  EXPECT_THAT(of_bytes(3005, trace), IsEmpty());
}

TEST_F(Contents, AreNotedWithoutKernelsToo) {
  const Trace trace = VictimRun({"contents"}, {.variables = {{"TURNPIKE_DETAIL", "transfers"}}}).trace();
  EXPECT_EQ(trace.contents.size(), trace_->contents.size());
}

}  // namespace
}  // namespace turnpike::record_tests
