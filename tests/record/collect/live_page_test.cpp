// The live page as its writer leaves it in the memory that others read.
#include "record/live_page.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "record/collect/live_page_writer.h"
#include "record/handover/clock.h"
#include "trace/make_record.h"

namespace turnpike::record {
namespace {

using testing::StrEq;

constexpr std::int64_t kQuarter = 250'000'000;

std::vector<std::filesystem::path> pages_here() {
  std::vector<std::filesystem::path> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string target = std::filesystem::read_symlink(entry.path(), failed);
    if (target.starts_with("/memfd:turnpike-live")) found.push_back(entry.path());
  }
  return found;
}

class LivePageTest : public testing::Test {
 protected:
  LivePageTest() { writer_->restart({{"program", "train"}, {"rank", "2"}}, "/tmp/run.tpk/1.tpt", {10, 20, 30, 40}); }

  std::uint32_t stack_at(const char* file, std::uint32_t line) {
    PythonFrameText text{};
    text.file = file;
    text.function = "step";
    text.line = line;
    const std::uint32_t frame = stacks_.enter_frame(text);
    return stacks_.enter_stack({&frame, 1}, false);
  }
  void count(const void* record, std::size_t size) { writer_->count({static_cast<const std::byte*>(record), size}); }
  void call(std::uint32_t correlation, std::uint32_t stack, std::int64_t took_ns,
            trace::CallKind kind = trace::CallKind::kCopy) {
    auto record = make_record<trace::CallRecord>(trace::RecordKind::kCall);
    record.correlation = correlation;
    record.stack = stack;
    record.kind = kind;
    record.start_ns = 1000;
    record.end_ns = 1000 + took_ns;
    count(&record, sizeof(record));
  }
  void copy(std::uint32_t correlation, std::uint64_t bytes, trace::CopyKind kind = trace::CopyKind::kHostToDevice,
            trace::MemoryKind host = trace::MemoryKind::kPageable) {
    auto record = make_record<trace::MemcpyRecord>(trace::RecordKind::kMemcpy);
    record.correlation = correlation;
    record.bytes = bytes;
    record.copy_kind = kind;
    record.src_kind = record.dst_kind = host;
    record.src_device = record.dst_device = trace::kUnknownId;
    record.start_ns = 5000;
    record.end_ns = 5700;
    count(&record, sizeof(record));
  }
  void publish(std::int64_t now_ns, bool is_last = false) { writer_->publish(status_, {}, now_ns, is_last); }
  std::unique_ptr<LivePage> read() const {
    const auto pages = pages_here();
    if (pages.size() != 1) return nullptr;
    auto page = std::make_unique<LivePage>();
    std::FILE* file = std::fopen(pages[0].c_str(), "rb");
    const bool is_whole = std::fread(page.get(), sizeof(LivePage), 1, file) == 1;
    std::fclose(file);
    return is_whole ? std::move(page) : nullptr;
  }

  StringTable strings_;
  StackTable stacks_{strings_};
  TurnpikeStatus status_{};
  std::unique_ptr<LivePageWriter> writer_ = std::make_unique<LivePageWriter>(strings_, stacks_);
};

TEST_F(LivePageTest, HasWhatWasCountedBySite) {
  const std::uint32_t slow = stack_at("/home/u/slow.py", 7), fast = stack_at("/home/u/fast.py", 9);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    call(i, slow, 100);
    copy(i, 1000);
  }
  copy(4, 500, trace::CopyKind::kDeviceToHost, trace::MemoryKind::kPinned);  // the device's record may come first
  call(4, fast, 10);
  call(5, fast, 40, trace::CallKind::kSynchronize);
  status_.transfer_count[kLiveH2d] = 3;
  status_.sync_count = 1;
  publish(kQuarter);
  const auto page = read();
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(page->sequence % 2, 0u);
  EXPECT_THAT(page->program, StrEq("train"));
  EXPECT_THAT(page->rank, StrEq("2"));
  EXPECT_EQ(page->transfer_count[kLiveH2d], 3u);
  EXPECT_EQ(page->pageable_count[0], 3u);
  EXPECT_EQ(page->pageable_bytes[0], 3000u);
  EXPECT_EQ(page->pinned_bytes[1], 500u);
  EXPECT_EQ(page->device_time_ns[kLiveH2d], 2100u);
  ASSERT_EQ(page->site_count, 3u);
  EXPECT_THAT(page->sites[0].file, StrEq("/home/u/slow.py"));
  EXPECT_EQ(page->sites[0].line, 7u);
  EXPECT_EQ(page->sites[0].direction, kLiveH2d);
  EXPECT_EQ(page->sites[0].count, 3u);
  EXPECT_EQ(page->sites[0].bytes, 3000u);
  EXPECT_EQ(page->sites[0].host_time_ns, 300u);
  EXPECT_EQ(page->sites[1].direction, kLiveSync);
  EXPECT_EQ(page->sites[1].host_time_ns, 40u);
  EXPECT_EQ(page->sites[2].direction, kLiveD2h);
  EXPECT_EQ(page->sites[2].bytes, 500u);
}

TEST_F(LivePageTest, IsWrittenAFewTimesASecondAndAtTheEnd) {
  publish(kQuarter);
  const std::uint64_t sequence = read()->sequence;
  publish(kQuarter + 1);
  EXPECT_EQ(read()->sequence, sequence);
  publish(2 * kQuarter);
  EXPECT_EQ(read()->sequence, sequence + 2);
  publish(2 * kQuarter + 1, true);
  EXPECT_EQ(read()->sequence, sequence + 4);
  EXPECT_EQ(read()->state, LiveState::kStopped);
}

TEST_F(LivePageTest, ASecondRecordingStartsAtZeroInTheSamePage) {
  call(1, stack_at("/home/u/a.py", 1), 100);
  copy(1, 1000);
  publish(kQuarter, true);
  const std::uint64_t sequence = read()->sequence;
  writer_->restart({}, "/tmp/other.tpk/1.tpt", {50, 60, 70, 80});
  publish(2 * kQuarter);
  const auto page = read();
  ASSERT_NE(page, nullptr);
  EXPECT_GT(page->sequence, sequence);
  EXPECT_EQ(page->state, LiveState::kRecording);
  EXPECT_EQ(page->start_monotonic_ns, 60);
  EXPECT_EQ(page->pageable_count[0], 0u);
  EXPECT_EQ(page->site_count, 0u);
  EXPECT_THAT(page->program, StrEq(""));
}

TEST_F(LivePageTest, ComesAgainWhenTheProgramClosedIt) {
  publish(kQuarter);
  const auto pages = pages_here();
  ASSERT_EQ(pages.size(), 1u);
  const int number = std::stoi(pages[0].filename());
  EXPECT_GE(number, 900) << "out of the way of the program's own";
  ASSERT_EQ(close(number), 0);
  publish(2 * kQuarter);
  EXPECT_NE(read(), nullptr);
}

TEST_F(LivePageTest, LeavesAFileAloneThatHasItsNumberNow) {
  publish(kQuarter);
  const int number = std::stoi(pages_here().at(0).filename());
  ASSERT_EQ(dup2(STDERR_FILENO, number), number);
  publish(2 * kQuarter);
  EXPECT_NE(read(), nullptr);
  struct stat about{};
  EXPECT_EQ(fstat(number, &about), 0) << "still the program's";
  close(number);
}

TEST_F(LivePageTest, AForkedChildDoesNotWriteItsParentsPage) {
  call(1, stack_at("/home/u/a.py", 1), 100);
  copy(1, 1000);
  publish(kQuarter);
  const std::uint64_t sequence = read()->sequence;
  const pid_t child = fork();
  if (child == 0) {
    writer_->restart({}, "/tmp/child.tpt", {50, 60, 70, 80});
    publish(3 * kQuarter);
    const auto page = read();
    _exit(page != nullptr && page->pid == static_cast<std::uint32_t>(getpid()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it has a page of its own, and no longer its parent's";
  const auto page = read();
  EXPECT_EQ(page->pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(page->sequence, sequence);
  EXPECT_EQ(page->pageable_bytes[0], 1000u);
}

TEST_F(LivePageTest, MoreSitesThanFitLeaveTheCostliest) {
  for (std::uint32_t i = 1; i <= 100; ++i) {
    call(i, stack_at("/home/u/a.py", i), i);
    copy(i, 1);
  }
  publish(kQuarter);
  const auto page = read();
  EXPECT_EQ(page->site_count, LivePage::kMostSites);
  EXPECT_EQ(page->known_sites, 100u);
  EXPECT_EQ(page->sites[0].line, 100u);
  EXPECT_EQ(page->sites[LivePage::kMostSites - 1].line, 100u - LivePage::kMostSites + 1);
}

TEST_F(LivePageTest, AGraphsCopiesKeepTheirDirections) {
  copy(7, 100);
  copy(7, 30, trace::CopyKind::kDeviceToHost);
  copy(7 + (1u << 14), 1);  // takes their place
  publish(kQuarter);
  const auto page = read();
  ASSERT_EQ(page->site_count, 2u);
  for (std::uint32_t i = 0; i < 2; ++i)
    EXPECT_EQ(page->sites[i].bytes, page->sites[i].direction == kLiveH2d ? 100u : 30u);
}

TEST_F(LivePageTest, TextsThatAreTooLongAreCutBetweenLetters) {
  call(1, stack_at(("/home/u/" + std::string(150, 'a') + "ää.py").c_str(), 1), 5);
  copy(1, 1);
  publish(kQuarter);
  EXPECT_THAT(read()->sites[0].file, StrEq("/home/u/" + std::string(150, 'a')));
}

}  // namespace
}  // namespace turnpike::record
