// Estates, as the recorder fills them and as `turnpike record` finds them: here both are this process, and a process
// that died is one whose id is nobody's.
#include "record/estate/estate.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>

#include "record/estate/estates.h"
#include "record/stacks/logged_frame.h"
#include "trace/losses.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace turnpike::record {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;
using trace::CallKind;
using trace::ChunkType;
using trace::Loss;

constexpr std::int64_t kLate = 2'000'000'000'000'000'000;  // the year 2033: later than the last write of the file
constexpr std::uint32_t kThread = 77;

struct Records : trace::RecordSink {
  void on(const trace::CallRecord& call) override { order.push_back("call " + std::to_string(call.correlation)); }
  void on(const trace::MemcpyRecord& copy) override { order.push_back("copy " + std::to_string(copy.bytes)); }
  void on(const trace::MemsetRecord& set) override { order.push_back("memset " + std::to_string(set.bytes)); }
  void on(const trace::KernelRecord&) override { order.push_back("kernel"); }
  void on(const trace::ThreadRecord& thread) override {
    order.push_back("thread " + std::to_string(thread.thread) + " " + std::to_string(thread.name));
  }
  std::vector<std::string> order;
};

trace::CallRecord call_of(std::uint32_t number, CallKind kind, std::int64_t end_ns) {
  auto call = make_record<trace::CallRecord>(trace::RecordKind::kCall);
  call.correlation = number;
  call.kind = kind;
  call.start_ns = end_ns - 10;
  call.end_ns = end_ns;
  return call;
}

// The id of a process that has ended and was waited for.
std::uint32_t gone_pid() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return static_cast<std::uint32_t>(child);
}

class EstateTest : public testing::Test {
 protected:
  EstateTest() : estates_(Estates::make()) {
    std::string pattern = (std::filesystem::temp_directory_path() / "estate-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = (folder_ / "7.tpt").string();
    EXPECT_TRUE(estates_);
    if (estates_) ::setenv(TURNPIKE_ENV_ESTATES, estates_->path().c_str(), 1);
  }
  ~EstateTest() override {
    ::unsetenv(TURNPIKE_ENV_ESTATES);
    std::filesystem::remove_all(folder_);
    for (void* memory : mapped_) ::munmap(memory, estate::kBytes);
  }

  // The estate of that number, as `turnpike record` has it in its memory.
  std::byte* base(std::size_t number) {
    const int file = ::open(estates_->path().c_str(), O_RDWR | O_CLOEXEC);
    void* memory = ::mmap(nullptr, estate::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                          static_cast<off_t>(estate::offset_of(number)));
    ::close(file);
    EXPECT_NE(memory, MAP_FAILED);
    mapped_.push_back(memory);
    return static_cast<std::byte*>(memory);
  }
  EstateHead& head(std::size_t number = 0) { return *reinterpret_cast<EstateHead*>(base(number)); }
  // Whether the numbers are taken, one after the other.
  std::vector<std::uint32_t> taken(std::size_t count) {
    const int file = ::open(estates_->path().c_str(), O_RDWR | O_CLOEXEC);
    std::vector<std::uint32_t> words(count);
    EXPECT_EQ(::pread(file, words.data(), count * sizeof(words[0]), 0), static_cast<ssize_t>(count * sizeof(words[0])));
    ::close(file);
    return words;
  }
  void take_all() {
    const int file = ::open(estates_->path().c_str(), O_RDWR | O_CLOEXEC);
    const std::vector<std::uint32_t> ones(estate::kCount, 1);
    EXPECT_EQ(::pwrite(file, ones.data(), ones.size() * sizeof(ones[0]), 0),
              static_cast<ssize_t>(ones.size() * sizeof(ones[0])));
    ::close(file);
  }

  // A file with one string, one frame, one stack and the call 1, and a commit that says so.
  EstateCommit begin_file(Estate& estate, StringTable& strings, ByteLog& frames, ByteLog& stacks) {
    EXPECT_TRUE(writer_.open(path_.c_str(), {}));
    std::vector<std::byte> texts;
    EXPECT_EQ(strings.intern("train.py"), 1u);
    strings.drain(texts);
    writer_.append(ChunkType::kStrings, texts.data(), texts.size());
    const LoggedFrame frame{{1, trace::FrameKind::kPython, 1, 1, 5, 4, 0}, 0, 0, 0};
    frames.append(&frame, sizeof frame);
    writer_.append(ChunkType::kFrames, &frame.entry, sizeof frame.entry);
    add_stack(stacks, 1, 1);
    writer_.append(ChunkType::kStacks, stacks.bytes().data(), stacks.bytes().size());
    const trace::CallRecord call = call_of(1, CallKind::kCopy, 1000);
    writer_.append(ChunkType::kRecords, &call, sizeof call);
    EstateCommit commit{.file = 0,
                        .reserved = 0,
                        .file_bytes = writer_.end_bytes(),
                        .string_bytes = strings.drained_bytes(),
                        .frame_count = 1,
                        .stack_bytes = stacks.size(),
                        .counts = {},
                        .counts_before_file = {}};
    commit.counts.calls = 1;
    commit.counts.copies = 3;
    commit.counts.copy_bytes = 300;
    commit.counts.waiting_ns = 10;
    commit.counts.transfer_counts[0] = 3;
    commit.counts.transfer_bytes[0] = 300;
    estate.commit(0, commit);
    estate.open(path_.c_str());
    return commit;
  }
  static void add_stack(ByteLog& stacks, std::uint32_t id, std::uint32_t frame) {
    const struct {
      trace::StackEntry entry;
      std::uint32_t frames[2];
    } stack{{id, 1, 0}, {frame, 0}};
    stacks.append(&stack, sizeof stack);
  }

  std::optional<Estates> estates_;
  std::filesystem::path folder_;
  std::string path_;
  trace::Writer writer_;
  Records records_;
  std::vector<void*> mapped_;
};

TEST_F(EstateTest, HoldsAllThatAProcessHadNotWritten) {
  Estate estate;
  StringTable strings(estate.strings());
  ByteLog frames(estate.stacks().frames, 0);
  ByteLog stacks(estate.stacks().stacks, 0);
  RecordBatch batch(estate.batch(0), estate.batch(1));
  const EstateCommit commit = begin_file(estate, strings, frames, stacks);
  writer_.append(ChunkType::kStrings, "half of", 7);  // what stands behind the commit

  // Definitions that no file has: the library's name is looked up in vain.
  EXPECT_EQ(strings.intern("step"), 2u);
  EXPECT_EQ(strings.intern("/nowhere/lib.so"), 3u);
  for (const LoggedFrame& frame : {LoggedFrame{{2, trace::FrameKind::kPython, 2, 1, 9, 8, 0}, 0, 0, 0},
                                   LoggedFrame{{3, trace::FrameKind::kNative, 0, 3, 0, 0, 0x40}, 5, 1, 0}}) {
    frames.append(&frame, sizeof frame);
  }
  add_stack(stacks, 2, 3);

  // Records in the batch, and in the ring of a thread, whose oldest is in both.
  auto copy = make_record<trace::MemcpyRecord>(trace::RecordKind::kMemcpy);
  copy.copy_kind = trace::CopyKind::kDeviceToHost;
  copy.bytes = 4096;
  batch.add(copy);
  auto memset = make_record<trace::MemsetRecord>(trace::RecordKind::kMemset);
  memset.bytes = 64;
  batch.add(memset);
  batch.add(make_record<trace::KernelRecord>(trace::RecordKind::kKernel));
  const trace::CallRecord both = call_of(2, CallKind::kSynchronize, kLate);
  batch.add(both);
  ThreadBuffers rings(estate.rings(), &estate.ring_count());
  std::thread([&] {
    bool is_new = false;
    ThreadBuffer* ring = rings.mine(is_new);
    ASSERT_TRUE(is_new);
    ring->try_push(ring->recording(), &both, sizeof both);
    for (const char* text : {"8 bytes.", "fifteen bytes.."}) {
      ThreadName name{{kThreadNameKind, sizeof(ThreadName)}, kThread, {}, 0};
      std::strcpy(name.text, text);
      ring->try_push(ring->recording(), &name, sizeof name);
    }
    const trace::CallRecord last = call_of(3, CallKind::kOther, kLate - 5);
    ring->try_push(ring->recording(), &last, sizeof last);
  }).join();
  estate.losses().add(Loss::kUnknownActivity, 6);
  EXPECT_EQ(estate.ring_count().load(), 1u);

  EXPECT_TRUE(estates_->settle().has_recording) << "its process is this one";
  head().pid = gone_pid();
  const auto before = std::filesystem::file_size(path_);
  const Estates::Settled settled = estates_->settle();
  EXPECT_FALSE(settled.has_recording);

  const auto process = trace::read_file(path_, records_);
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_THAT(process->strings, UnorderedElementsAre(Pair(1, "train.py"), Pair(2, "step"), Pair(3, "/nowhere/lib.so"),
                                                     Pair(4, "8 bytes."), Pair(5, "fifteen bytes..")));
  ASSERT_EQ(process->frames.size(), 3u);
  EXPECT_EQ(process->frames.at(2).function, "step");
  EXPECT_EQ(process->frames.at(2).line, 9u);
  EXPECT_EQ(process->frames.at(3).file, "/nowhere/lib.so");
  EXPECT_EQ(process->frames.at(3).function, "");
  EXPECT_EQ(process->frames.at(3).module_offset, 0x40u);
  ASSERT_EQ(process->stacks.size(), 2u);
  EXPECT_THAT(process->stacks.at(2).frames, ElementsAre(3));
  EXPECT_THAT(records_.order, ElementsAre("call 1", "copy 4096", "memset 64", "kernel", "call 2", "thread 77 4",
                                          "thread 77 5", "call 3"));
  EXPECT_THAT(process->losses, UnorderedElementsAre(Pair(static_cast<std::uint32_t>(Loss::kEndedEarly), 1),
                                                    Pair(static_cast<std::uint32_t>(Loss::kUnnamedLibrary), 1),
                                                    Pair(static_cast<std::uint32_t>(Loss::kUnknownActivity), 6),
                                                    // The three copies that the commit counts and the file has not.
                                                    Pair(static_cast<std::uint32_t>(Loss::kCountMismatch), 3)));
  ASSERT_TRUE(process->end);
  EXPECT_EQ(process->end->end_realtime_ns, kLate);
  EXPECT_EQ(process->end->call_count, 3u);
  EXPECT_EQ(process->end->memcpy_count, 4u);
  EXPECT_EQ(process->end->memcpy_bytes, 4396u);
  EXPECT_EQ(process->end->memset_count, 1u);
  EXPECT_EQ(process->end->kernel_count, 1u);

  const TurnpikeStatus& added = settled.added;
  EXPECT_THAT(added.transfer_count, ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(added.transfer_bytes, ElementsAre(0, 4096, 0, 0, 0, 64));
  EXPECT_EQ(added.sync_count, 1u);
  EXPECT_EQ(added.host_time_ns, 10u);
  EXPECT_EQ(added.kernel_count, 1u);
  EXPECT_EQ(added.loss_count, 1u);
  EXPECT_EQ(added.written_bytes, std::filesystem::file_size(path_) - commit.file_bytes);
  EXPECT_EQ(added.process_count, 0u);
  EXPECT_GT(std::filesystem::file_size(path_), before);

  EXPECT_THAT(taken(2), ElementsAre(0, 0));
  EXPECT_EQ(head().layout, 0u) << "its memory is free";
  EXPECT_EQ(estates_->settle().added.loss_count, 0u);
}

class HowItEnded : public EstateTest, public testing::WithParamInterface<std::pair<EstateEnding, Loss>> {};

TEST_P(HowItEnded, IsTold) {
  const auto& [ending, loss] = GetParam();
  Estate estate;
  StringTable strings(estate.strings());
  ByteLog frames(estate.stacks().frames, 0);
  ByteLog stacks(estate.stacks().stacks, 0);
  begin_file(estate, strings, frames, stacks);
  estate.set_ending(ending);
  head().pid = gone_pid();
  estates_->settle();
  const auto process = trace::read_file(path_, records_);
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(process->losses.count(static_cast<std::uint32_t>(loss)), 1u);
}

INSTANTIATE_TEST_SUITE_P(Ways, HowItEnded,
                         testing::Values(std::pair(EstateEnding::kNone, Loss::kEndedEarly),
                                         std::pair(EstateEnding::kExec, Loss::kEndedByExec),
                                         std::pair(EstateEnding::kExit, Loss::kEndedInExit)));

TEST_F(EstateTest, EndsAFileWithoutCallsAtItsLastWrite) {
  Estate estate;
  StringTable strings(estate.strings());
  ByteLog frames(estate.stacks().frames, 0);
  ByteLog stacks(estate.stacks().stacks, 0);
  begin_file(estate, strings, frames, stacks);
  const timespec times[2] = {{1'700'000'000, 0}, {1'700'000'000, 123}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  head().pid = gone_pid();
  EXPECT_EQ(estates_->settle().added.loss_count, 1u);
  const auto process = trace::read_file(path_, records_);
  ASSERT_TRUE(process && process->end);
  EXPECT_EQ(process->end->end_realtime_ns, 1'700'000'000'000'000'123);
  EXPECT_EQ(process->end->call_count, 1u);
}

// The commit that holds says which area of the batch the file has not got.
TEST_F(EstateTest, ReadsTheAreaOfTheCommitThatHolds) {
  Estate estate;
  StringTable strings(estate.strings());
  ByteLog frames(estate.stacks().frames, 0);
  ByteLog stacks(estate.stacks().stacks, 0);
  RecordBatch batch(estate.batch(0), estate.batch(1));
  EstateCommit commit = begin_file(estate, strings, frames, stacks);
  batch.add(call_of(2, CallKind::kOther, kLate));
  writer_.append(ChunkType::kRecords, batch.bytes().data(), batch.bytes().size());
  batch.clear();
  batch.add(call_of(3, CallKind::kOther, kLate));
  commit.file_bytes = writer_.end_bytes();
  commit.counts.calls = 2;
  estate.commit(batch.area(), commit);
  head().pid = gone_pid();
  estates_->settle();
  const auto process = trace::read_file(path_, records_);
  ASSERT_TRUE(process && process->end);
  EXPECT_THAT(records_.order, ElementsAre("call 1", "call 2", "call 3"));
  EXPECT_EQ(process->end->call_count, 3u);
}

TEST_F(EstateTest, IsFreedOnceItsProcessIsGoneForSure) {
  const std::uint32_t gone = gone_pid();
  Estate estate;
  EXPECT_THAT(taken(3), ElementsAre(1, 0, 0));
  EXPECT_FALSE(estates_->settle().has_recording) << "it has no file yet";
  EXPECT_THAT(taken(3), ElementsAre(1, 0, 0)) << "its process lives";
  EstateHead& seen = head();
  EXPECT_EQ(seen.layout, kEstateLayout);
  EXPECT_EQ(seen.pid, static_cast<std::uint32_t>(::getpid()));
  struct stat about{};
  ASSERT_EQ(::stat("/proc/self/ns/pid", &about), 0);
  EXPECT_EQ(seen.pid_namespace, about.st_ino);
  seen.pid = 0;
  estates_->settle();
  seen.pid = gone;
  seen.pid_namespace += 1;  // there the number may be another's
  estates_->settle();
  seen.pid_namespace -= 1;
  seen.layout += 1;  // of another version
  estates_->settle();
  EXPECT_THAT(taken(3), ElementsAre(1, 0, 0));
  seen.layout -= 1;
  const Estates::Settled settled = estates_->settle();
  EXPECT_EQ(settled.added.loss_count, 0u) << "it had no file";
  EXPECT_FALSE(settled.has_recording);
  EXPECT_THAT(taken(3), ElementsAre(0, 0, 0));
}

TEST_F(EstateTest, OfAClosedFileIsFreedAndItsFileLeftAlone) {
  Estate estate;
  StringTable strings(estate.strings());
  ByteLog frames(estate.stacks().frames, 0);
  ByteLog stacks(estate.stacks().stacks, 0);
  begin_file(estate, strings, frames, stacks);
  const auto size = std::filesystem::file_size(path_);
  estate.close();
  EXPECT_FALSE(estates_->settle().has_recording);
  head().pid = gone_pid();
  EXPECT_EQ(estates_->settle().added.loss_count, 0u);
  EXPECT_EQ(std::filesystem::file_size(path_), size);
  EXPECT_THAT(taken(1), ElementsAre(0));
}

TEST_F(EstateTest, ThatIsHeldLivesAsLongAsItsThread) {
  Estate estate;
  StringTable strings(estate.strings());
  ByteLog frames(estate.stacks().frames, 0);
  ByteLog stacks(estate.stacks().stacks, 0);
  std::thread([&] { estate.hold(); }).join();
  EXPECT_EQ(head().state.load(), EstateState::kClosed) << "without a file there is nothing to hold";
  begin_file(estate, strings, frames, stacks);
  std::promise<void> held, may_end;
  std::thread holder([&] {
    estate.hold();
    held.set_value();
    may_end.get_future().wait();
  });
  held.get_future().wait();
  head().pid = gone_pid();  // which says nothing now
  EXPECT_TRUE(estates_->settle().has_recording);
  EXPECT_THAT(taken(1), ElementsAre(1));
  may_end.set_value();
  holder.join();
  const Estates::Settled settled = estates_->settle();
  EXPECT_EQ(settled.added.loss_count, 1u);
  EXPECT_FALSE(settled.has_recording);
  EXPECT_THAT(taken(1), ElementsAre(0));
}

// `turnpike record` has read that it is held, and then its owner closes it.
TEST_F(EstateTest, ThatIsBeingClosedIsLeftAlone) {
  Estate estate;
  StringTable strings(estate.strings());
  ByteLog frames(estate.stacks().frames, 0);
  ByteLog stacks(estate.stacks().stacks, 0);
  begin_file(estate, strings, frames, stacks);
  writer_.close();
  const auto size = std::filesystem::file_size(path_);
  head().state = EstateState::kHeld;  // and nobody has the mutex
  const auto settled = estates_->settle();
  EXPECT_EQ(settled.added.loss_count, 0u);
  EXPECT_EQ(std::filesystem::file_size(path_), size) << "its file is complete";
  EXPECT_EQ(taken(1)[0], 1u) << "the process still uses it";
  EXPECT_EQ(head().layout, kEstateLayout);
#ifndef __SANITIZE_THREAD__  // which mixes it up with a mutex of an estate that was mapped at the same place
  ASSERT_EQ(pthread_mutex_trylock(&head().owner), 0);
  pthread_mutex_unlock(&head().owner);
#endif
}

TEST_F(EstateTest, ThatWasHeldAndClosedCanBeHeldAgain) {
  Estate estate;
  StringTable strings(estate.strings());
  ByteLog frames(estate.stacks().frames, 0);
  ByteLog stacks(estate.stacks().stacks, 0);
  begin_file(estate, strings, frames, stacks);
  estate.hold();
  EXPECT_EQ(head().state.load(), EstateState::kHeld);
  estate.close();
  EXPECT_EQ(head().state.load(), EstateState::kClosed);
  estate.open(path_.c_str());
  std::thread([&] {
    estate.hold();
    estate.close();
  }).join();
  EXPECT_EQ(head().state.load(), EstateState::kClosed);
}

TEST_F(EstateTest, DoesNotTouchAnotherFileOfThatName) {
  Estate estate;
  StringTable strings(estate.strings());
  ByteLog frames(estate.stacks().frames, 0);
  ByteLog stacks(estate.stacks().stacks, 0);
  begin_file(estate, strings, frames, stacks);
  writer_.close();
  std::filesystem::rename(path_, path_ + ".old");
  std::filesystem::copy_file(path_ + ".old", path_);
  const auto size = std::filesystem::file_size(path_);
  head().pid = gone_pid();
  EXPECT_EQ(estates_->settle().added.loss_count, 0u);
  EXPECT_EQ(std::filesystem::file_size(path_), size);
  EXPECT_EQ(std::filesystem::file_size(path_ + ".old"), size);
  EXPECT_THAT(taken(1), ElementsAre(0));
}

TEST_F(EstateTest, IsOfOneProcessEach) {
  const Estate first, second;
  EXPECT_THAT(taken(3), ElementsAre(1, 1, 0));
  EXPECT_EQ(first.rings().size(), estate::kMaxRings * sizeof(ThreadBuffer));
  first.strings()[estate::in_pages(1)] = std::byte{7};
  EXPECT_EQ(estate::strings(base(0))[estate::in_pages(1)], std::byte{7});
  EXPECT_EQ(second.strings()[estate::in_pages(1)], std::byte{0});
}

TEST_F(EstateTest, IsPrivateMemoryWhereNoneIsOffered) {
  const auto expect_private = [](const char* why) {
    Estate estate;
    EXPECT_TRUE(estate.rings().empty()) << why;
    ASSERT_EQ(estate.strings().size(), StringTable::kMemoryBytes) << why;
    EXPECT_EQ(estate.batch(1).size(), RecordBatch::kAreaBytes) << why;
    estate.strings().back() = estate.batch(1).back() = std::byte{1};
    estate.open("/proc/self/exe");
    estate.before_fork();
    estate.leave_to_parent(true);
    EXPECT_EQ(estate.strings().back(), std::byte{1}) << why << ": it was its own already";
  };
  take_all();
  expect_private("all are taken");
  const std::string small = (folder_ / "small").string();
  std::filesystem::copy_file("/proc/self/exe", small);
  ::setenv(TURNPIKE_ENV_ESTATES, small.c_str(), 1);
  expect_private("the file has another size");
  ::setenv(TURNPIKE_ENV_ESTATES, "/nowhere/estates", 1);
  expect_private("there is no file");
  ::setenv(TURNPIKE_ENV_ESTATES, "", 1);
  expect_private("no file is named");
  ::unsetenv(TURNPIKE_ENV_ESTATES);
  expect_private("nothing is named");
}

TEST_F(EstateTest, OfAForkedChildHasTheDefinitionsOfTheFork) {
  Estate estate;
  StringTable strings(estate.strings());
  ByteLog frames(estate.stacks().frames, 0);
  ByteLog stacks(estate.stacks().stacks, 0);
  strings.intern("before");
  frames.append("frame", 5);
  stacks.append("stack!", 6);
  const std::size_t size = ByteLog(estate.strings(), 0).size();
  estate.before_fork();
  strings.intern("the parent's");
  frames.append("more", 4);
  stacks.append("more", 4);
  estate.leave_to_parent(true);
  EXPECT_THAT(taken(3), ElementsAre(1, 1, 0));
  EXPECT_EQ(estate.rings().size(), estate::kMaxRings * sizeof(ThreadBuffer));
  const auto log = [](std::span<std::byte> memory) {
    const auto bytes = ByteLog(memory, 0).bytes();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  EXPECT_EQ(log(estate.strings()).size(), size);
  EXPECT_THAT(log(estate.strings()), testing::HasSubstr("before"));
  EXPECT_EQ(log(estate.stacks().frames), "frame");
  EXPECT_EQ(log(estate.stacks().stacks), "stack!");
  EXPECT_EQ(log(estate::frames(base(0))), "framemore") << "the parent's stays as it was";
  EXPECT_EQ(log(estate::frames(base(1))), "frame");
  EXPECT_EQ(head(1).layout, kEstateLayout);
  EXPECT_EQ(head(1).pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(head(1).state.load(), EstateState::kClosed);

  estate.before_fork();
  estate.leave_to_parent(false);
  EXPECT_TRUE(estate.rings().empty());
  EXPECT_EQ(log(estate.stacks().frames), "") << "it will record nothing";
  EXPECT_EQ(log(estate::frames(base(1))), "frame");
  EXPECT_THAT(taken(3), ElementsAre(1, 1, 0));
}

TEST_F(EstateTest, PathIsThatOfTheDescriptorAsLongAsTheyLive) {
  EXPECT_EQ(estates_->path().find("/proc/" + std::to_string(::getpid()) + "/fd/"), 0u);
  EXPECT_EQ(std::filesystem::file_size(estates_->path()), estate::kFileBytes);
  const std::string path = estates_->path();
  auto moved = std::make_unique<Estates>(std::move(*estates_));
  estates_.reset();
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(moved->path(), path);
  moved.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace turnpike::record
