// What the collector writes of one recording, and what it counts, on a CUPTI that holds what the test gives it.
#include "record/collect/collector.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <thread>

#include "base/clock.h"
#include "cuda/activity.h"
#include "record/stacks/stack_table.h"
#include "trace/reader.h"

// LeakSanitizer asks for it. glibc frees what dlerror() would say in a thread when the thread ends; the collector's may
// still be ending when the leaks are counted.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:_dlerror_run\n";
}

namespace turnpike::record {
namespace {

using testing::ElementsAre;
using trace::Loss;

constexpr std::int64_t kPatienceNs = 60'000'000'000;

struct FakeCupti {
  std::vector<std::uint32_t> flushes;
  std::vector<int> flush_turns;  // the number of each flush's turn
  cuda::CuptiResult flushed = cuda::kCuptiSuccess;
  cuda::CuptiResult asked = cuda::kCuptiSuccess;
  cuda::CuptiResult clocked = cuda::kCuptiSuccess;
  std::uint32_t version = 28;
  std::int64_t (*clock)() = realtime_ns;
};
FakeCupti g_cupti;
std::atomic<std::size_t> g_dropped{0};           // told once
std::atomic<int> g_records_until_no_memory{-1};  // once; never below 0
std::atomic<int> g_ticks{0};
std::atomic<std::int64_t> g_last_tick_ns{0};
std::atomic<int> g_full_count{0};
std::atomic<int> g_silence_count{0};

cuda::Cupti fake_cupti() {
  cuda::Cupti cupti{};
  cupti.get_version = [](std::uint32_t* version) {
    *version = g_cupti.version;
    return cuda::kCuptiSuccess;
  };
  cupti.get_timestamp = [](std::uint64_t* timestamp) {
    *timestamp = static_cast<std::uint64_t>(g_cupti.clock());
    return g_cupti.clocked;
  };
  cupti.activity_flush_all = [](std::uint32_t flags) {
    g_cupti.flushes.push_back(flags);
    g_cupti.flush_turns.push_back(g_ticks);
    return g_cupti.flushed;
  };
  cupti.activity_get_num_dropped_records = [](void*, std::uint32_t, std::size_t* dropped) {
    *dropped = g_dropped.exchange(0);
    return g_cupti.asked;
  };
  // One kernel in each 200 bytes.
  cupti.activity_get_next_record = [](std::uint8_t* buffer, std::size_t valid_bytes,
                                      void** record) -> cuda::CuptiResult {
    std::uint8_t* const next = *record == nullptr ? buffer : static_cast<std::uint8_t*>(*record) + 200;
    if (next >= buffer + valid_bytes) return cuda::kCuptiMaxLimitReached;
    if (g_records_until_no_memory.load() >= 0 && g_records_until_no_memory-- == 0) throw std::bad_alloc();
    *record = next;
    return cuda::kCuptiSuccess;
  };
  return cupti;
}

struct Records : trace::RecordSink {
  void on(const trace::CallRecord& record) override { calls.push_back(record); }
  void on(const trace::KernelRecord& record) override { kernels.push_back(record); }
  void on(const trace::ThreadRecord& record) override { threads.push_back(record); }
  void on(const trace::MemoryRecord& record) override { memories.push_back(record); }
  std::vector<trace::CallRecord> calls;
  std::vector<trace::KernelRecord> kernels;
  std::vector<trace::ThreadRecord> threads;
  std::vector<trace::MemoryRecord> memories;
};

class CollectorTest : public testing::Test {
 protected:
  CollectorTest() {
    g_cupti = {};
    g_dropped = 0;
    g_records_until_no_memory = -1;
    g_ticks = 0;
    g_last_tick_ns = 0;
    g_full_count = g_silence_count = 0;
    std::string pattern = (std::filesystem::temp_directory_path() / "collector-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    options_.run_directory = folder_ / "run.tpk";
    EXPECT_TRUE(pool_->prepare());
  }
  ~CollectorTest() override { std::filesystem::remove_all(folder_); }

  bool start(Metadata metadata = {{"key", "value"}}) {
    if (is_used_) make();
    is_used_ = true;
    return collector_->start(&cupti_, std::move(metadata), error_);
  }
  CollectorSources sources(StackTable& stacks) {
    return {strings_, stacks, losses_, handover_, *pool_, status_, live_, estate_};
  }
  void make() {
    collector_ = std::make_unique<Collector>(sources(*stacks_), options_);
    is_used_ = false;
  }
  trace::Process read() { return read(collector_->path()); }
  // A buffer of so many kernels, as CUPTI hands it over.
  void complete_kernels(std::uint8_t* buffer, std::size_t count) {
    cuda::KernelActivity kernel{};
    kernel.kind = static_cast<std::uint32_t>(cuda::ActivityKind::kConcurrentKernel);
    kernel.start_ns = static_cast<std::uint64_t>(realtime_ns());
    kernel.end_ns = kernel.start_ns + 1;
    for (std::size_t i = 0; i < count; ++i) {
      kernel.correlation = static_cast<std::uint32_t>(i + 1);
      std::memcpy(buffer + 200 * i, &kernel, sizeof kernel);
    }
    EXPECT_TRUE(pool_->complete(buffer, 200 * count));
  }
  // As a thread of the program hands them over.
  template <typename... Records>
  void push(const Records&... records) {
    std::thread([&] { (handover_.push(*handover_.mine(), &records, sizeof(records)), ...); }).join();
  }
  trace::CallRecord call_of(trace::CallKind kind, std::uint32_t correlation) {
    auto call = make_record<trace::CallRecord>(trace::RecordKind::kCall);
    call.kind = kind;
    call.correlation = correlation;
    call.start_ns = realtime_ns();
    call.end_ns = call.start_ns + 1;
    return call;
  }
  trace::RangeRecord range_of(const char* name, std::int64_t ms) {
    auto range = make_record<trace::RangeRecord>(trace::RecordKind::kRange);
    range.name = strings_.intern(name);
    range.end_ns = realtime_ns();
    range.start_ns = range.end_ns - ms * 1'000'000;
    return range;
  }
  // Waits for what the collector's thread does.
  template <typename Condition>
  static bool becomes_true(Condition condition) {
    const std::int64_t before_ns = monotonic_ns();
    while (!condition()) {
      if (monotonic_ns() - before_ns > kPatienceNs) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  // Two more turns: what there was before them has been taken.
  bool turns_twice() {
    const int before = g_ticks;
    return becomes_true([&] { return g_ticks >= before + 2; });
  }
  std::filesystem::path kept(int number) const {
    return folder_ / ("run-" + std::to_string(number) + ".tpk") / std::filesystem::path(collector_->path()).filename();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run.tpk")) {
      found.push_back(entry.path().filename().string().substr(std::to_string(::getpid()).size()));
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  trace::Process read(const std::filesystem::path& path) {
    records_ = {};
    auto process = trace::read_file(path, records_);
    EXPECT_TRUE(process) << (process ? "" : process.error().message);
    return process ? *process : trace::Process();
  }
  static std::uint64_t lost(const trace::Process& process, Loss loss) {
    const auto found = process.losses.find(static_cast<std::uint32_t>(loss));
    return found == process.losses.end() ? 0 : found->second;
  }

  std::filesystem::path folder_;
  Options options_;
  cuda::Cupti cupti_ = fake_cupti();
  StringTable strings_;
  std::unique_ptr<StackTable> stacks_ = std::make_unique<StackTable>(strings_);
  Estate estate_;
  LossCounters losses_;
  ThreadHandover handover_{losses_};
  std::unique_ptr<ActivityPool> pool_ = std::make_unique<ActivityPool>();
  StatusPage status_;
  LivePageWriter live_{strings_, *stacks_};
  bool is_used_ = false;
  std::unique_ptr<Collector> collector_ = std::make_unique<Collector>(sources(*stacks_), options_);
  std::string error_;
  Records records_;
};

TEST_F(CollectorTest, WritesWhatThreadsAndTheDeviceHandOver) {
  collector_->set_tick([](std::int64_t since_start_ns) {
    EXPECT_GE(since_start_ns, 0);
    EXPECT_LT(since_start_ns, kPatienceNs);
    ++g_ticks;
  });
  const std::int64_t before_ns = realtime_ns();
  ASSERT_TRUE(start()) << error_;
  EXPECT_EQ(collector_->path(), (folder_ / "run.tpk" / (std::to_string(::getpid()) + ".tpt")).string());
  std::thread([&] {
    ThreadBuffer* const buffer = handover_.mine();
    auto call = make_record<trace::CallRecord>(trace::RecordKind::kCall);
    call.name = strings_.intern("cudaMemcpy");
    call.kind = trace::CallKind::kCopy;
    call.start_ns = 100;
    call.end_ns = 107;
    call.correlation = 3;
    handover_.push(*buffer, &call, sizeof call);
  }).join();
  std::size_t size_bytes = 0;
  complete_kernels(pool_->request(&size_bytes), 3);
  g_dropped = 5;
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const trace::Process process = read();
  EXPECT_EQ(process.pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(process.parent_pid, static_cast<std::uint32_t>(::getppid()));
  EXPECT_GE(process.start_realtime_ns, before_ns);
  EXPECT_EQ(process.metadata.at("key"), "value");
  ASSERT_EQ(records_.calls.size(), 1u);
  EXPECT_EQ(process.string(records_.calls[0].name), "cudaMemcpy");
  ASSERT_EQ(records_.kernels.size(), 3u);
  EXPECT_EQ(records_.kernels[2].correlation, 3u);
  ASSERT_EQ(records_.threads.size(), 1u);
  EXPECT_NE(process.string(records_.threads[0].name), "");
  EXPECT_GE(records_.memories.size(), 2u);
  for (const auto& memory : records_.memories) {
    EXPECT_GE(memory.time_ns, before_ns);
    EXPECT_LE(memory.time_ns, realtime_ns());
  }
  ASSERT_TRUE(process.end);
  EXPECT_GE(process.end->end_realtime_ns, process.start_realtime_ns);
  EXPECT_EQ(process.end->call_count, 1u);
  EXPECT_EQ(process.end->kernel_count, 3u);
  EXPECT_EQ(process.losses.size(), 1u);
  EXPECT_EQ(lost(process, Loss::kCuptiDropped), 5u);
  ASSERT_GE(process.clock_samples.size(), 2u);
  EXPECT_GE(process.clock_samples[0].cupti_ns, process.clock_samples[0].realtime_ns);
  EXPECT_LT(process.clock_samples[0].cupti_ns, process.clock_samples[1].realtime_ns);
  EXPECT_EQ(g_cupti.flushes.back(), cuda::kFlushForced);
  const TurnpikeStatus status = collector_->status();
  EXPECT_EQ(status.kernel_count, 3u);
  EXPECT_EQ(status.host_time_ns, 7u);
  EXPECT_EQ(status.loss_count, 5u);
  EXPECT_EQ(status.written_bytes, std::filesystem::file_size(collector_->path()));
}

TEST_F(CollectorTest, StartsEachRecordingFromNothing) {
  ASSERT_TRUE(start());
  const std::uint32_t name = strings_.intern("a name of the first");
  std::size_t size_bytes = 0;
  complete_kernels(pool_->request(&size_bytes), 2);
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const std::string first = collector_->path();
  EXPECT_EQ(collector_->status().kernel_count, 2u);
  losses_.reset();
  ASSERT_TRUE(start({}));
  EXPECT_EQ(collector_->path(), first.substr(0, first.size() - 4) + "-2.tpt");
  EXPECT_EQ(collector_->status().kernel_count, 0u);
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const trace::Process second = read();
  EXPECT_EQ(second.string(name), "a name of the first") << "each file has all definitions";
  EXPECT_FALSE(second.metadata.contains("key"));
  EXPECT_TRUE(records_.kernels.empty());
  EXPECT_EQ(second.end->kernel_count, 0u);
  EXPECT_TRUE(second.losses.empty());
}

TEST_F(CollectorTest, CountsTheRecordsOfBuffersThatHadNoPlace) {
  ASSERT_TRUE(start());
  auto* const overflow = static_cast<std::uint8_t*>(std::calloc(1, 65'536));
  complete_kernels(overflow, 4);
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const trace::Process process = read();
  EXPECT_TRUE(records_.kernels.empty());
  EXPECT_EQ(lost(process, Loss::kActivityBuffersFull), 4u);
}

TEST_F(CollectorTest, CountsWhatCuptiRefuses) {
  g_cupti.flushed = 5;
  g_cupti.asked = 6;
  g_cupti.clocked = 7;
  ASSERT_TRUE(start());
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const trace::Process process = read();
  EXPECT_EQ(lost(process, Loss::kCuptiCallFailed), g_cupti.flushes.size() + 1) << "and the drops, once";
  for (const trace::ClockSample& sample : process.clock_samples) EXPECT_EQ(sample.cupti_ns, trace::kUnknownTime);
}

// A turn that runs out of memory drops the records that it took. Later turns continue, and the loss is still counted.
TEST_F(CollectorTest, CountsWhatThereWasNoMemoryFor) {
  ASSERT_TRUE(start());
  std::size_t size_bytes = 0;
  g_records_until_no_memory = 2;
  complete_kernels(pool_->request(&size_bytes), 5);
  const std::int64_t before_ns = monotonic_ns();
  while (g_records_until_no_memory >= 0 && monotonic_ns() - before_ns < kPatienceNs) std::this_thread::yield();
  complete_kernels(pool_->request(&size_bytes), 1);
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const trace::Process process = read();
  EXPECT_EQ(records_.kernels.size(), 1u);
  EXPECT_EQ(lost(process, Loss::kWriteFailed), 2 * sizeof(trace::KernelRecord));
  ASSERT_TRUE(process.end);
  losses_.reset();
  ASSERT_TRUE(start());
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_TRUE(read().losses.empty()) << "of the recording before";
}

TEST_F(CollectorTest, TellsWhatTheStacksLost) {
  ASSERT_TRUE(start());
  // Code that no library holds, as a JIT compiler makes it: it calls its first argument with its second.
  constexpr unsigned char kCode[] = {0x55, 0x48, 0x89, 0xE5, 0x48, 0x89, 0xF0, 0x48, 0x89,
                                     0xFE, 0x48, 0x89, 0xC7, 0xFF, 0xD6, 0x5D, 0xC3};
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  std::memcpy(page, kCode, sizeof kCode);
  const auto call = reinterpret_cast<void (*)(void (*)(StackTable*), StackTable*)>(page);
  for (int i = 0; i < 2; ++i) call([](StackTable* stacks) { stacks->capture(); }, stacks_.get());
  munmap(page, 4096);
  for (std::uint32_t frame = 1; frame <= 131'072; ++frame) stacks_->enter_stack({&frame, 1}, false);
  for (int i = 0; i < 3; ++i) stacks_->capture();
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const trace::Process process = read();
  EXPECT_EQ(lost(process, Loss::kStacksFull), 3u);
  EXPECT_EQ(lost(process, Loss::kStackTruncated), 2u) << "nobody knows how such code is left";
  EXPECT_EQ(lost(process, Loss::kUnnamedLibrary), 1u) << "each frame once";
}

TEST_F(CollectorTest, TakesRegularTurnsAndFlushesFiveTimesASecond) {
  collector_->set_tick([](std::int64_t since_start_ns) {
    ++g_ticks;
    g_last_tick_ns = since_start_ns;
  });
  const std::int64_t before_ns = monotonic_ns();
  ASSERT_TRUE(start());
  while (g_last_tick_ns < 1'100'000'000 && monotonic_ns() - before_ns < kPatienceNs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const std::int64_t passed_ns = monotonic_ns() - before_ns;
  EXPECT_GE(g_ticks, 3);
  EXPECT_LE(g_ticks, passed_ns / 15'000'000 + 2);
  EXPECT_GE(g_cupti.flushes.size(), 2u);
  EXPECT_LE(g_cupti.flushes.size(), static_cast<std::size_t>(passed_ns / 200'000'000 + 2));
  for (std::size_t i = 0; i + 1 < g_cupti.flushes.size(); ++i) EXPECT_EQ(g_cupti.flushes[i], 0u) << i;
  const trace::Process process = read();
  EXPECT_GE(process.clock_samples.size(), 3u) << "at the start, after a second, at the end";
  EXPECT_LE(process.clock_samples.size(), static_cast<std::size_t>(passed_ns / 1'000'000'000 + 2));
  EXPECT_GE(records_.memories.size(), 3u);
}

// The process may be killed 20 ms after its first copy is done.
TEST_F(CollectorTest, FlushesInTheTurnThatTakesTheFirstCall) {
  int turn_of_call = 0;
  static std::function<void()> on_turn;
  on_turn = [&] {
    const bool has_just_flushed = !g_cupti.flush_turns.empty() && g_cupti.flush_turns.back() == g_ticks - 1;
    if (turn_of_call != 0 || !has_just_flushed) return;
    turn_of_call = g_ticks;
    push(call_of(trace::CallKind::kCopy, 1));
  };
  collector_->set_tick([](std::int64_t) {
    ++g_ticks;
    on_turn();
  });
  ASSERT_TRUE(start());
  ASSERT_TRUE(becomes_true([] { return g_ticks >= 20; }));
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  ASSERT_GT(turn_of_call, 0);
  EXPECT_THAT(g_cupti.flush_turns, testing::Contains(turn_of_call));
}

// A library whose symbols come as slowly as from a network's disk: a pipe stands in its place.
TEST_F(CollectorTest, CollectsWhileFramesAreNamed) {
  if (!kWalksNativeFrames) GTEST_SKIP() << "there are no native frames";
  const std::filesystem::path path = folder_ / "library.so";
  std::filesystem::copy_file(SMALL_FRAME_LIBRARY, path);
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  using Through = int (*)(int (*)(int), int);
  const auto through = reinterpret_cast<Through>(::dlsym(library, "call_through"));
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  collector_->set_tick([](std::int64_t) { ++g_ticks; });
  ASSERT_TRUE(start());
  static StackTable* stacks = nullptr;
  stacks = stacks_.get();
  through([](int) { return static_cast<int>(stacks->capture()); }, 0);
  ASSERT_TRUE(turns_twice());
  push(call_of(trace::CallKind::kLaunch, 1));
  std::size_t size_bytes = 0;
  complete_kernels(pool_->request(&size_bytes), 2);
  ASSERT_TRUE(becomes_true([&] { return collector_->status().kernel_count == 2; }));
  EXPECT_TRUE(stacks->has_unnamed());
  // The names are there when the other end is opened and closed.
  std::ofstream(path, std::ios::binary).close();
  ASSERT_TRUE(becomes_true([&] { return !stacks->has_unnamed(); }));
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const trace::Process process = read();
  EXPECT_EQ(lost(process, Loss::kUnnamedLibrary), 1u);
  EXPECT_EQ(process.stacks.size(), 1u);
  EXPECT_EQ(lost(process, Loss::kUndefinedReference), 0u);
  ::dlclose(library);
}

TEST_F(CollectorTest, NamesEachThreadOnce) {
  ASSERT_TRUE(start());
  std::uint32_t thread_id = 0;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "loader 3");
    ThreadBuffer* const buffer = handover_.mine();
    thread_id = buffer->thread;
    for (std::uint32_t i = 1; i <= 2; ++i) {
      const auto call = call_of(trace::CallKind::kLaunch, i);
      handover_.push(*buffer, &call, sizeof call);
    }
  }).join();
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const trace::Process process = read();
  ASSERT_EQ(records_.threads.size(), 1u);
  EXPECT_EQ(records_.threads[0].thread, thread_id);
  EXPECT_EQ(process.string(records_.threads[0].name), "loader 3");
  EXPECT_EQ(records_.calls.size(), 2u);
}

TEST_F(CollectorTest, CatchesUpWithoutEnding) {
  ASSERT_TRUE(start());
  push(call_of(trace::CallKind::kLaunch, 1));
  std::size_t size_bytes = 0;
  complete_kernels(pool_->request(&size_bytes), 2);
  ASSERT_TRUE(collector_->catch_up(kPatienceNs));
  EXPECT_FALSE(g_cupti.flushes.empty());
  read();
  EXPECT_EQ(records_.calls.size(), 1u);
  EXPECT_EQ(records_.kernels.size(), 2u);
  push(call_of(trace::CallKind::kLaunch, 2));
  ASSERT_TRUE(collector_->catch_up(kPatienceNs));
  const trace::Process process = read();
  EXPECT_EQ(records_.calls.size(), 2u);
  EXPECT_FALSE(process.end);
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_TRUE(collector_->catch_up(0)) << "there is nothing to wait for";
  EXPECT_EQ(read().end->call_count, 2u);
}

TEST_F(CollectorTest, CountsStacksWithoutNativeFrames) {
  StackTable stacks(strings_, /*walks_native=*/false);
  Collector collector(sources(stacks), options_);
  ASSERT_TRUE(collector.start(&cupti_, {}, error_));
  for (int i = 0; i < 3; ++i) stacks.capture();
  ASSERT_TRUE(collector.finish(kPatienceNs));
  const trace::Process process = read(collector.path());
  EXPECT_EQ(lost(process, Loss::kNoNativeFrames), 3u);
  EXPECT_EQ(lost(process, Loss::kStackNotWalked), 3u) << "nothing is left of them";
  EXPECT_EQ(lost(process, Loss::kStackTruncated), 0u);
}

TEST_F(CollectorTest, StopsAtItsSizeAndSaysSo) {
  options_.max_bytes = 8'000;
  collector_->set_on_full([] { ++g_full_count; });
  ASSERT_TRUE(start());
  std::size_t size_bytes = 0;
  complete_kernels(pool_->request(&size_bytes), 200);
  ASSERT_TRUE(becomes_true([] { return g_full_count > 0; }));
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_EQ(g_full_count, 1);
  const trace::Process process = read();
  EXPECT_EQ(records_.kernels.size(), 200u) << "what was taken by then is there";
  EXPECT_EQ(lost(process, Loss::kStoppedAtSize), 1u);
  ASSERT_TRUE(process.end);
  EXPECT_EQ(collector_->status().stopped_at_size_count, 1u);
  losses_.reset();
  options_.max_bytes = 1 << 20;
  ASSERT_TRUE(start());
  complete_kernels(pool_->request(&size_bytes), 200);
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_TRUE(read().losses.empty()) << "there is room again";
  EXPECT_EQ(g_full_count, 1);
}

TEST_F(CollectorTest, AsksWhyTheDeviceIsSilentOnceItsWorkMustBeDone) {
  collector_->set_on_silence([] { ++g_silence_count; });
  collector_->set_tick([](std::int64_t since_start_ns) { g_last_tick_ns = since_start_ns; });
  ASSERT_TRUE(start());
  const auto wait = [&](std::int64_t ns) {
    const std::int64_t until_ns = g_last_tick_ns + ns;
    return becomes_true([&] { return g_last_tick_ns >= until_ns; });
  };
  ThreadHandover& handover = handover_;
  ASSERT_TRUE(wait(1'200'000'000));
  EXPECT_EQ(g_silence_count, 0) << "nothing has waited for a copy";
  handover.note_done_copy(handover.deliveries());
  ASSERT_TRUE(wait(900'000'000));
  EXPECT_EQ(g_silence_count, 0) << "the device may still deliver";
  ASSERT_TRUE(wait(400'000'000));
  EXPECT_EQ(g_silence_count, 1);
  ASSERT_TRUE(wait(1'200'000'000));
  EXPECT_EQ(g_silence_count, 1) << "once for a copy";
  const std::uint32_t before = handover.deliveries();
  std::size_t size_bytes = 0;
  complete_kernels(pool_->request(&size_bytes), 1);
  ASSERT_TRUE(becomes_true([&] { return handover.deliveries() != before; }));
  handover.note_done_copy(before);
  ASSERT_TRUE(wait(1'200'000'000));
  EXPECT_EQ(g_silence_count, 1) << "it has delivered since the copy was called";
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_EQ(lost(read(), Loss::kOtherCuptiUser), 1u);
}

TEST_F(CollectorTest, FlushesNothingBesideAnotherProfiler) {
  collector_->set_tick([](std::int64_t) { ++g_ticks; });
  collector_->set_aside(true);
  ASSERT_TRUE(start());
  push(call_of(trace::CallKind::kCopy, 1));
  ASSERT_TRUE(collector_->catch_up(kPatienceNs));
  EXPECT_TRUE(g_cupti.flushes.empty());
  collector_->set_aside(false);
  ASSERT_TRUE(collector_->catch_up(kPatienceNs));
  EXPECT_FALSE(g_cupti.flushes.empty());
  ASSERT_TRUE(collector_->finish(kPatienceNs));
}

TEST_F(CollectorTest, LeavesOutKernelsThatNobodyHeard) {
  g_cupti.version = cuda::kVersionOfCuda130;
  ASSERT_TRUE(start());
  push(call_of(trace::CallKind::kLaunch, 2));
  ASSERT_TRUE(collector_->catch_up(kPatienceNs));
  std::size_t size_bytes = 0;
  complete_kernels(pool_->request(&size_bytes), 3);
  ASSERT_TRUE(collector_->catch_up(kPatienceNs));
  read();
  EXPECT_EQ(records_.kernels.size(), 3u) << "while all are heard";
  collector_->leave_out_unheard_kernels();
  complete_kernels(pool_->request(&size_bytes), 3);
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  read();
  ASSERT_EQ(records_.kernels.size(), 4u);
  EXPECT_EQ(records_.kernels[3].correlation, 2u);
}

// The thread was put aside when its call had ended, and comes when the recording has all its records.
TEST_F(CollectorTest, TakesNoCallThatComesLate) {
  ASSERT_TRUE(start());
  collector_->set_listening(true);
  std::atomic<int> step{0};
  std::thread late([&] {
    ThreadBuffer* const buffer = handover_.mine();
    const std::uint32_t recording = buffer->recording();
    step = 1;
    becomes_true([&] { return step == 2; });
    const auto call = call_of(trace::CallKind::kLaunch, 2);
    handover_.push(*buffer, recording, &call, sizeof call);
  });
  ASSERT_TRUE(becomes_true([&] { return step == 1; }));
  push(call_of(trace::CallKind::kLaunch, 1));
  std::size_t size_bytes = 0;
  complete_kernels(pool_->request(&size_bytes), 2);
  collector_->set_listening(false);
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  step = 2;
  late.join();
  const trace::Process first = read();
  ASSERT_EQ(records_.kernels.size(), 1u) << "the other one's call is not there";
  EXPECT_EQ(records_.kernels[0].correlation, 1u);
  EXPECT_EQ(first.end->call_count, 1u);
  ASSERT_TRUE(start());
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  read();
  EXPECT_TRUE(records_.calls.empty()) << "nor is it in the next recording";
  EXPECT_EQ(losses_.total(), 0u);
}

TEST_F(CollectorTest, WritesTheLastOfAProgramIntoSegments) {
  options_.last = std::chrono::milliseconds(800);
  options_.max_bytes = 0;
  collector_->set_tick([](std::int64_t since_start_ns) { g_last_tick_ns = since_start_ns; });
  ASSERT_TRUE(start());
  EXPECT_EQ(files().at(0), ".000001.tps");
  push(call_of(trace::CallKind::kLaunch, 7));
  ASSERT_TRUE(becomes_true([] { return g_last_tick_ns >= 250'000'000; }));
  push(call_of(trace::CallKind::kLaunch, 8));
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_GE(files().size(), 3u) << "a segment ends after an eighth";
  EXPECT_LE(files().size(), 11u);
  const trace::Process process = read();
  EXPECT_EQ(process.metadata.at("last_ms"), "800");
  ASSERT_TRUE(process.end);
  EXPECT_TRUE(process.losses.empty());
  ASSERT_FALSE(records_.calls.empty());
  EXPECT_EQ(records_.calls.back().correlation, 8u);
  EXPECT_EQ(records_.threads.size(), 2u) << "they hold for all segments";
  losses_.reset();
  options_.last = {};
  options_.max_bytes = 1 << 20;
  ASSERT_TRUE(start());
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_FALSE(read().metadata.contains("last_ms")) << "the next one keeps all of it";
  EXPECT_EQ(files().back(), ".tpt");
}

TEST_F(CollectorTest, TellsInEachSegmentWhatWasLostBefore) {
  options_.last = std::chrono::milliseconds(400);
  g_dropped = 5;
  ASSERT_TRUE(start());
  ASSERT_TRUE(collector_->catch_up(kPatienceNs));
  ASSERT_TRUE(becomes_true([&] { return files().at(0) > ".000002.tps"; })) << "what it was counted in is gone";
  g_dropped = 2;
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_EQ(lost(read(), Loss::kCuptiDropped), 2u) << "those of the window";
}

TEST_F(CollectorTest, CountsWhatItsSegmentsHold) {
  options_.last = std::chrono::minutes(10);
  ASSERT_TRUE(start());
  push(call_of(trace::CallKind::kLaunch, 1));
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_THAT(files(), ElementsAre(".000001.tps", ".tpt"));
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options_.run_directory)) bytes += entry.file_size();
  EXPECT_EQ(collector_->status().written_bytes, bytes);
  EXPECT_EQ(read().end->call_count, 1u);
}

TEST_F(CollectorTest, TakesAnotherNameWhereAnothersSegmentsAre) {
  options_.last = std::chrono::minutes(10);
  std::filesystem::create_directory(options_.run_directory);
  const std::string process = std::to_string(::getpid());
  std::ofstream(std::filesystem::path(options_.run_directory) / (process + ".000001.tps")) << "another's";
  ASSERT_TRUE(start());
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_THAT(files(), ElementsAre("-2.000001.tps", "-2.tpt", ".000001.tps"));
}

TEST_F(CollectorTest, KeepsWhatThereIsWhenItIsAsked) {
  options_.last = std::chrono::minutes(10);
  collector_->set_tick([](std::int64_t) { ++g_ticks; });
  ASSERT_TRUE(start());
  push(call_of(trace::CallKind::kLaunch, 1));
  collector_->keep("the loss is nan");
  ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(kept(1)); }));
  push(call_of(trace::CallKind::kLaunch, 2));
  collector_->keep_by_signal();
  ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(kept(2)); }));
  EXPECT_EQ(status_.keep_number(), 2u);
  std::filesystem::create_directory(kept(5).parent_path());
  status_.raise_keep_number(5);  // another process has a reason
  ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(kept(5)); }));
  ASSERT_TRUE(turns_twice());
  ASSERT_TRUE(collector_->finish(kPatienceNs));

  const trace::Process first = read(kept(1));
  EXPECT_EQ(first.metadata.at("kept_because"), "the loss is nan");
  EXPECT_EQ(first.metadata.at("key"), "value");
  EXPECT_EQ(records_.calls.size(), 1u);
  ASSERT_TRUE(first.end);
  const trace::Process second = read(kept(2));
  EXPECT_EQ(second.metadata.at("kept_because"), "a signal asked for it");
  EXPECT_EQ(records_.calls.size(), 2u);
  EXPECT_FALSE(read(kept(5)).metadata.contains("kept_because")) << "its reason is another process's";
  const trace::Process process = read();
  EXPECT_FALSE(process.metadata.contains("kept_because"));
  EXPECT_EQ(records_.calls.size(), 2u);
  EXPECT_TRUE(process.losses.empty());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 4) << "each once";
  EXPECT_EQ(files().size(), 5u);
}

TEST_F(CollectorTest, AKeptRunHasTheSourceOfTheFramesUpToThere) {
  options_.last = std::chrono::minutes(10);
  collector_->set_tick([](std::int64_t) { ++g_ticks; });
  ASSERT_TRUE(start());
  const auto enter = [&](std::uint32_t line) {
    PythonFrameText frame;
    frame.file = PYTHON_VICTIM;
    frame.line = line;
    frame.first_line = 1;
    stacks_->enter_frame(frame);
  };
  enter(1);
  collector_->keep("the loss is nan");
  ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(kept(1)); }));
  enter(40);
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const SourceText first = read(kept(1)).source_text;
  EXPECT_TRUE(first.line(PYTHON_VICTIM, 1));
  EXPECT_FALSE(first.line(PYTHON_VICTIM, 40));
  const trace::Process process = read();
  EXPECT_TRUE(process.source_text.line(PYTHON_VICTIM, 1));
  EXPECT_TRUE(process.source_text.line(PYTHON_VICTIM, 40));
  EXPECT_EQ(process.metadata.at("source"), "files=1");
}

TEST_F(CollectorTest, SaysThatItCouldNotKeep) {
  options_.last = std::chrono::minutes(10);
  for (const bool is_quiet : {false, true}) {
    options_.is_quiet = is_quiet;
    make();
    collector_->set_tick([](std::int64_t) { ++g_ticks; });
    testing::internal::CaptureStderr();
    ASSERT_TRUE(start());
    status_.raise_keep_number(status_.keep_number() + 3);  // and nobody has made its directory
    ASSERT_TRUE(turns_twice());
    ASSERT_TRUE(turns_twice());
    ASSERT_TRUE(collector_->finish(kPatienceNs));
    const std::string said = "turnpike: process " + std::to_string(::getpid()) +
                             " could not keep its last seconds: No such file or directory\n";
    EXPECT_EQ(testing::internal::GetCapturedStderr(), is_quiet ? "" : said) << "once";
    EXPECT_TRUE(read().end);
  }
}

TEST_F(CollectorTest, KeepsTheWindowOfASlowStepOnce) {
  options_.last = std::chrono::minutes(10);
  options_.trigger = *trigger_of("step > 50 ms");
  options_.most_triggered = 2;
  make();
  collector_->set_tick([](std::int64_t) { ++g_ticks; });
  ASSERT_TRUE(start());
  push(range_of("train_step 1", 20));
  push(range_of("forward 2", 900));
  ASSERT_TRUE(turns_twice());
  EXPECT_FALSE(std::filesystem::exists(kept(1))) << "that is no step";
  push(range_of("train_step 2", 60));
  ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(kept(1)); }));
  push(range_of("train_step 3", 100));
  ASSERT_TRUE(turns_twice());
  ASSERT_TRUE(turns_twice());
  EXPECT_FALSE(std::filesystem::exists(kept(2).parent_path())) << "the kept window holds it";
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_EQ(read(kept(1)).metadata.at("kept_because"),
            "a step (train_step) took 60.0 ms, the median of the 1 before it is 20.0 ms (step > 50 ms)");
}

TEST_F(CollectorTest, KeepsNoSlowStepWhereNoneMayBeKept) {
  options_.last = std::chrono::minutes(10);
  options_.trigger = *trigger_of("step > 50 ms");
  options_.most_triggered = 0;
  make();
  collector_->set_tick([](std::int64_t) { ++g_ticks; });
  ASSERT_TRUE(start());
  push(range_of("train_step 1", 90));
  ASSERT_TRUE(turns_twice());
  ASSERT_TRUE(turns_twice());
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  EXPECT_FALSE(std::filesystem::exists(kept(1)));
}

TEST_F(CollectorTest, ReadsClocksWithEachFlushWhereThereAreTwo) {
  g_cupti.clock = monotonic_ns;
  collector_->set_tick([](std::int64_t since_start_ns) { g_last_tick_ns = since_start_ns; });
  const std::int64_t before_ns = monotonic_ns();
  ASSERT_TRUE(start());
  while (g_last_tick_ns < 700'000'000 && monotonic_ns() - before_ns < kPatienceNs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(collector_->finish(kPatienceNs));
  const trace::Process process = read();
  ASSERT_GE(process.clock_samples.size(), 4u);
  EXPECT_EQ(process.clock_samples.size(), g_cupti.flushes.size() + 1);
  for (const trace::ClockSample& sample : process.clock_samples) {
    EXPECT_NEAR(static_cast<double>(sample.cupti_ns - sample.monotonic_ns), 0, 5e6);
  }
}

TEST_F(CollectorTest, LeavesANoteWithoutCupti) {
  ASSERT_TRUE(collector_->start(nullptr, {{"unusable", "because"}}, error_));
  const trace::Process process = read();
  EXPECT_EQ(process.metadata.at("unusable"), "because");
  ASSERT_TRUE(process.end);
  EXPECT_TRUE(process.losses.empty());
}

TEST_F(CollectorTest, SaysWhyItCannotStartAndLeavesNothing) {
  options_.run_directory = folder_ / "none" / "run.tpk";
  EXPECT_FALSE(start());
  EXPECT_EQ(error_, "the run directory " + options_.run_directory + " cannot be made: No such file or directory");
  std::ofstream(folder_ / "file") << "text";
  options_.run_directory = folder_ / "file";
  EXPECT_FALSE(start());
  EXPECT_THAT(error_, testing::HasSubstr("cannot be written: Not a directory"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace turnpike::record
