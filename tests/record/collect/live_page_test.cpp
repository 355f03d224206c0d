// The live page as its writer leaves it in the memory that others read.
#include "record/live_page.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "record/collect/live_page_writer.h"
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
  void publish(std::int64_t now_ns, bool is_last = false) {
    stacks_.name_new(symbols_);
    writer_->publish(status_, {}, now_ns, is_last);
  }
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
  ModuleSymbols symbols_;
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

TEST_F(LivePageTest, SaysWhatItIsAndOfWhichProcess) {
  const Metadata about{{"program", "train"}, {"host", "node7"},    {"rank", "11"},
                       {"local_rank", "3"},  {"world_size", "16"}, {"job_id", std::string(70, 'j')}};
  writer_->restart(about, "/tmp/run.tpk/1.tpt", {10, 20, 30, 40});
  const std::int64_t now_ns = monotonic_ns();
  publish(now_ns);
  publish(now_ns + kQuarter);
  const auto page = read();
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->magic, kLivePageMagic);
  EXPECT_EQ(page->version, 1u);
  EXPECT_EQ(page->struct_bytes, sizeof(LivePage));
  EXPECT_EQ(page->state, LiveState::kRecording);
  EXPECT_EQ(page->start_realtime_ns, 10);
  EXPECT_EQ(page->start_monotonic_ns, 20);
  EXPECT_EQ(page->updated_monotonic_ns, now_ns + kQuarter);
  EXPECT_GT(page->update_ns, 0u) << "of the first update";
  EXPECT_LT(page->update_ns, 60'000'000'000u);
  EXPECT_THAT(page->file, StrEq("/tmp/run.tpk/1.tpt"));
  EXPECT_THAT(page->program, StrEq("train"));
  EXPECT_THAT(page->host, StrEq("node7"));
  EXPECT_THAT(page->rank, StrEq("11"));
  EXPECT_THAT(page->local_rank, StrEq("3"));
  EXPECT_THAT(page->world_size, StrEq("16"));
  EXPECT_THAT(page->job_id, StrEq(std::string(63, 'j'))) << "as much as fits";
}

TEST_F(LivePageTest, HasTheCountersOfTheStatus) {
  for (std::uint32_t i = 0; i < kLiveTransferDirections; ++i) {
    status_.transfer_count[i] = i + 1;
    status_.transfer_bytes[i] = 100 * i + 7;
  }
  status_.sync_count = 21;
  status_.host_time_ns = 22;
  status_.kernel_count = 23;
  status_.loss_count = 24;
  status_.written_bytes = 25;
  publish(kQuarter);
  const auto page = read();
  ASSERT_NE(page, nullptr);
  for (std::uint32_t i = 0; i < kLiveTransferDirections; ++i) {
    EXPECT_EQ(page->transfer_count[i], i + 1);
    EXPECT_EQ(page->transfer_bytes[i], 100 * i + 7);
  }
  EXPECT_EQ(page->sync_count, 21u);
  EXPECT_EQ(page->host_time_ns, 22u);
  EXPECT_EQ(page->kernel_count, 23u);
  EXPECT_EQ(page->loss_count, 24u);
  EXPECT_EQ(page->written_bytes, 25u);
}

TEST_F(LivePageTest, HasDevicesAndTheirLinks) {
  writer_->add_device(2, "NVIDIA H100");
  writer_->add_device(0, "NVIDIA A10");
  writer_->add_device(LivePage::kMostDevices, "one too many");
  writer_->publish(status_, {{"link.0", "gen 4 x16"}, {"link.2", "gen 5 x16"}, {"link.3", "nobody's"}}, kQuarter,
                   false);
  const auto page = read();
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->device_count, 3u);
  EXPECT_THAT(page->devices[0].name, StrEq("NVIDIA A10"));
  EXPECT_THAT(page->devices[0].link, StrEq("gen 4 x16"));
  EXPECT_THAT(page->devices[1].name, StrEq(""));
  EXPECT_THAT(page->devices[2].name, StrEq("NVIDIA H100"));
  EXPECT_THAT(page->devices[2].link, StrEq("gen 5 x16"));
  EXPECT_THAT(page->devices[3].link, StrEq(""));
  writer_->add_device(LivePage::kMostDevices - 1, "the last that fits");
  publish(2 * kQuarter);
  EXPECT_EQ(read()->device_count, LivePage::kMostDevices);
}

TEST_F(LivePageTest, TellsHostMemoryOfCopiesFromAndToTheHostAlone) {
  using trace::CopyKind;
  using trace::MemoryKind;
  copy(1, 10, CopyKind::kHostToDevice, MemoryKind::kPinned);
  copy(2, 20, CopyKind::kHostToDevice, MemoryKind::kManaged);
  copy(3, 30, CopyKind::kDeviceToHost, MemoryKind::kPageable);
  copy(4, 40, CopyKind::kDeviceToHost, MemoryKind::kPageable);
  copy(5, 50, CopyKind::kDeviceToDevice, MemoryKind::kPageable);
  copy(6, 60, CopyKind::kHostToHost, MemoryKind::kPinned);
  publish(kQuarter);
  const auto page = read();
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->pinned_count[0], 1u);
  EXPECT_EQ(page->pinned_bytes[0], 10u);
  EXPECT_EQ(page->pageable_count[0], 0u);
  EXPECT_EQ(page->pageable_bytes[0], 0u);
  EXPECT_EQ(page->pinned_count[1], 0u);
  EXPECT_EQ(page->pinned_bytes[1], 0u);
  EXPECT_EQ(page->pageable_count[1], 2u);
  EXPECT_EQ(page->pageable_bytes[1], 70u);
  EXPECT_EQ(page->device_time_ns[kLiveH2d], 1400u);
  EXPECT_EQ(page->device_time_ns[kLiveD2h], 1400u);
  EXPECT_EQ(page->device_time_ns[kLiveD2d], 700u);
  EXPECT_EQ(page->device_time_ns[kLiveP2p], 0u);
  EXPECT_EQ(page->device_time_ns[kLiveH2h], 700u);
}

TEST_F(LivePageTest, TakesEachSideOfACopyForWhatItIs) {
  auto record = make_record<trace::MemcpyRecord>(trace::RecordKind::kMemcpy);
  record.src_device = record.dst_device = trace::kUnknownId;
  record.bytes = 8;
  record.copy_kind = trace::CopyKind::kHostToDevice;
  record.src_kind = trace::MemoryKind::kPinned;
  record.dst_kind = trace::MemoryKind::kDevice;
  count(&record, sizeof(record));
  record.copy_kind = trace::CopyKind::kDeviceToHost;
  record.src_kind = trace::MemoryKind::kDevice;
  record.dst_kind = trace::MemoryKind::kPageable;
  count(&record, sizeof(record));
  publish(kQuarter);
  EXPECT_EQ(read()->pinned_count[0], 1u);
  EXPECT_EQ(read()->pageable_count[1], 1u);
}

TEST_F(LivePageTest, AddsUpTimesThatAreTimes) {
  auto record = make_record<trace::MemcpyRecord>(trace::RecordKind::kMemcpy);
  record.copy_kind = trace::CopyKind::kHostToDevice;
  const auto with_times = [&](std::int64_t start_ns, std::int64_t end_ns) {
    record.start_ns = start_ns;
    record.end_ns = end_ns;
    count(&record, sizeof(record));
  };
  with_times(trace::kUnknownTime, 50);
  with_times(100, 100);
  with_times(100, 90);
  with_times(100, 101);
  with_times(-5, 5);
  publish(kQuarter);
  EXPECT_EQ(read()->device_time_ns[kLiveH2d], 11u);
}

TEST_F(LivePageTest, TakesManyRecordsAtOnceUpToADamagedOne) {
  std::vector<std::byte> bytes;
  const auto add = [&](std::uint32_t record_bytes) {
    auto record = make_record<trace::MemcpyRecord>(trace::RecordKind::kMemcpy);
    record.copy_kind = trace::CopyKind::kHostToDevice;
    record.src_kind = trace::MemoryKind::kPinned;
    record.header.bytes = static_cast<decltype(record.header.bytes)>(record_bytes);
    const auto* begin = reinterpret_cast<const std::byte*>(&record);
    bytes.insert(bytes.end(), begin, begin + sizeof(record));
  };
  add(sizeof(trace::MemcpyRecord));
  add(sizeof(trace::MemcpyRecord));
  writer_->count(bytes);
  publish(kQuarter);
  EXPECT_EQ(read()->pinned_count[0], 2u);
  add(sizeof(trace::RecordHeader) - 1);
  add(sizeof(trace::MemcpyRecord));
  writer_->count(bytes);
  publish(2 * kQuarter);
  EXPECT_EQ(read()->pinned_count[0], 4u) << "nobody knows where the next begins";
  bytes.clear();
  add(sizeof(trace::MemcpyRecord) + 1);
  writer_->count(bytes);
  publish(3 * kQuarter);
  EXPECT_EQ(read()->pinned_count[0], 4u) << "longer than what there is";
}

TEST_F(LivePageTest, ShowsASiteOnceItsFramesHaveTheirNames) {
  call(1, stack_at("/home/u/a.py", 7), 100);
  copy(1, 1000);
  writer_->publish(status_, {}, kQuarter, false);
  EXPECT_EQ(read()->site_count, 0u);
  publish(2 * kQuarter);
  ASSERT_EQ(read()->site_count, 1u);
  EXPECT_EQ(read()->sites[0].bytes, 1000u);
}

TEST_F(LivePageTest, ShowsTheLineOfTheProgramRatherThanOfAPackage) {
  const auto shown = [&](std::initializer_list<const char*> files) {
    std::vector<std::uint32_t> frames;
    std::uint32_t line = 0;
    for (const char* file : files) {
      PythonFrameText text{};
      text.file = file;
      text.function = "f";
      text.line = ++line;
      frames.push_back(stacks_.enter_frame(text));
    }
    writer_->restart({}, "/tmp/run.tpk/1.tpt", {10, 20, 30, 40});
    call(1, stacks_.enter_stack(frames, false), 10, trace::CallKind::kSynchronize);
    publish(kQuarter);
    const auto page = read();
    return page == nullptr || page->site_count != 1 ? std::string("?")
                                                    : page->sites[0].file + (":" + std::to_string(page->sites[0].line));
  };
  EXPECT_EQ(shown({"/v/site-packages/a.py", "/home/u/b.py", "/home/u/c.py"}), "/home/u/b.py:2");
  EXPECT_EQ(shown({"/v/dist-packages/a.py", "/home/u/b.py"}), "/home/u/b.py:2");
  EXPECT_EQ(shown({"/usr/lib/python3.11/threading.py", "/home/u/b.py"}), "/home/u/b.py:2");
  EXPECT_EQ(shown({"<frozen runpy>", "/home/u/b.py"}), "/home/u/b.py:2");
  EXPECT_EQ(shown({"<ipython-input-3>", "/home/u/b.py"}), "<ipython-input-3>:1");
  EXPECT_EQ(shown({"<stdin>", "/home/u/b.py"}), "<stdin>:1");
  EXPECT_EQ(shown({"/v/site-packages/a.py", "/v/site-packages/b.py"}), "/v/site-packages/a.py:1") << "the innermost";
  EXPECT_EQ(shown({}), ":0");
}

TEST_F(LivePageTest, OneLineReachedByTwoStacksIsOneSiteOfEachDirection) {
  PythonFrameText text{};
  text.file = "/home/u/a.py";
  text.function = "load";
  text.line = 3;
  const std::uint32_t line = stacks_.enter_frame(text);
  text.line = 9;
  const std::uint32_t caller = stacks_.enter_frame(text);
  const std::uint32_t stacks[] = {stacks_.enter_stack({&line, 1}, false),
                                  stacks_.enter_stack(std::vector{line, caller}, false)};
  for (std::uint32_t i = 0; i < 2; ++i) {
    call(i + 1, stacks[i], 100);
    copy(i + 1, 1000);
    call(i + 3, stacks[i], 7);
    copy(i + 3, 10, trace::CopyKind::kDeviceToHost);
  }
  publish(kQuarter);
  const auto page = read();
  ASSERT_EQ(page->site_count, 2u);
  EXPECT_EQ(page->known_sites, 2u);
  EXPECT_THAT(page->sites[0].function, StrEq("load"));
  EXPECT_EQ(page->sites[0].direction, kLiveH2d);
  EXPECT_EQ(page->sites[0].count, 2u);
  EXPECT_EQ(page->sites[0].bytes, 2000u);
  EXPECT_EQ(page->sites[0].host_time_ns, 200u);
  EXPECT_EQ(page->sites[1].direction, kLiveD2h);
  EXPECT_EQ(page->sites[1].count, 2u);
  EXPECT_EQ(page->sites[1].bytes, 20u);
  EXPECT_EQ(page->sites[1].host_time_ns, 14u);
  publish(2 * kQuarter);
  EXPECT_EQ(read()->sites[0].count, 2u) << "counted once";
}

TEST_F(LivePageTest, CountsCallsThatCopyOrWaitAlone) {
  const std::uint32_t stack = stack_at("/home/u/a.py", 1);
  call(1, stack, 100, trace::CallKind::kLaunch);
  call(2, stack, -5, trace::CallKind::kSynchronize);
  call(3, stack, 50);  // its copy has not come yet
  publish(kQuarter);
  const auto page = read();
  ASSERT_EQ(page->site_count, 1u);
  EXPECT_EQ(page->sites[0].direction, kLiveSync);
  EXPECT_EQ(page->sites[0].count, 1u);
  EXPECT_EQ(page->sites[0].bytes, 0u);
  EXPECT_EQ(page->sites[0].host_time_ns, 0u) << "of a call that ended before it began";
  copy(3, 9);
  copy(3, 9);  // one call, two parts
  publish(2 * kQuarter);
  const auto later = read();
  ASSERT_EQ(later->site_count, 2u);
  EXPECT_EQ(later->sites[0].count, 2u);
  EXPECT_EQ(later->sites[0].bytes, 18u);
  EXPECT_EQ(later->sites[0].host_time_ns, 50u) << "the time of the call once";
}

TEST_F(LivePageTest, SitesOfOneCostStandInTheOrderInWhichTheyCame) {
  for (std::uint32_t line = 1; line <= 3; ++line) {
    call(line, stack_at("/home/u/a.py", line), 10, trace::CallKind::kSynchronize);
    publish(line * kQuarter);
  }
  const auto page = read();
  ASSERT_EQ(page->site_count, 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(page->sites[i].line, i + 1);
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

TEST_F(LivePageTest, ASecondRecordingKnowsNoCallOfTheFirst) {
  call(1, stack_at("/home/u/a.py", 1), 100);
  writer_->restart({}, "/tmp/other.tpk/1.tpt", {50, 60, 70, 80});
  copy(1, 1000);
  publish(kQuarter);
  EXPECT_EQ(read()->site_count, 0u) << "its own call has not come yet";
}

TEST_F(LivePageTest, ComesAgainWhenTheProgramClosedIt) {
  publish(kQuarter);
  const auto pages = pages_here();
  ASSERT_EQ(pages.size(), 1u);
  const int number = std::stoi(pages[0].filename());
  EXPECT_GE(number, 500) << "out of the way of the program's own";
  ASSERT_EQ(close(number), 0);
  publish(2 * kQuarter);
  EXPECT_NE(read(), nullptr);
}

TEST_F(LivePageTest, TakesTheNumberThatIsFreeAndWaitsWhereThereIsNone) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // Not by a member of this class: a sanitizer that looks at its type then needs a descriptor for itself.
  const auto publish_under = [&before, &writer = *writer_, &status = status_](rlim_t limit, std::int64_t now_ns) {
    const rlimit changed{limit, before.rlim_max};
    const int lowered = setrlimit(RLIMIT_NOFILE, &changed);
    writer.publish(status, {}, now_ns, false);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_EQ(lowered, 0);
  };
  publish_under(3, kQuarter);
  EXPECT_TRUE(pages_here().empty());
  publish_under(200, 2 * kQuarter);
  ASSERT_NE(read(), nullptr);
  EXPECT_LT(std::stoi(pages_here().at(0).filename()), 200) << "none above 900 is free";
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
  call(2, stack_at(std::string(159, 'b').c_str(), 1), 6, trace::CallKind::kSynchronize);
  publish(2 * kQuarter);
  EXPECT_THAT(read()->sites[0].file, StrEq(std::string(159, 'b'))) << "just fits";
  call(3, stack_at(std::string(161, 'c').c_str(), 1), 7, trace::CallKind::kSynchronize);
  publish(3 * kQuarter);
  EXPECT_THAT(read()->sites[0].file, StrEq(std::string(159, 'c')));
}

}  // namespace
}  // namespace turnpike::record
