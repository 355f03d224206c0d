// Threads, children and the ways in which a process ends.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <set>

#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

using trace::Loss;

TEST(Threads, SixtyFourAtOnceLoseNothing) {
  const VictimRun run({"threads", "64", "1000"});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  const Trace trace = run.trace();
  EXPECT_EQ(trace.losses(), "");
  std::map<std::uint64_t, std::set<std::uint32_t>> threads_of_size;
  for (const auto& call : trace.calls_named("cudaMemcpyAsync")) threads_of_size[call.bytes].insert(call.thread);
  for (std::uint64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(trace.copies_of(100 + i).size(), 1000u) << i;
    EXPECT_EQ(threads_of_size[100 + i].size(), 1u) << i;
  }
}

TEST(Threads, ThreadsThatHaveEndedKeepTheirRecords) {
  const Trace trace = VictimRun({"short_threads", "500"}).trace();
  EXPECT_EQ(trace.losses(), "");
  for (std::uint64_t i = 0; i < 500; ++i) EXPECT_EQ(trace.copies_of(100 + i).size(), 1u) << i;
  EXPECT_EQ(trace.calls_named("cudaMemcpyAsync").size(), 500u);
}

TEST(Threads, OfAProcessWithoutAFreeKeyLoseNothing) {
  const VictimRun plain({"no_keys"}, {.is_recorded = false});
  const VictimRun run({"no_keys"});
  EXPECT_EQ(run.outcome().out, plain.outcome().out);
  EXPECT_EQ(run.outcome().out, "keys kept\n");
  const Trace trace = run.trace();
  EXPECT_EQ(trace.copies_of(30).size() + trace.copies_of(31).size(), 10u);
  EXPECT_EQ(trace.losses(), "");
}

// How the recorder hears of an end: by a handler of the C library, by a function that it gives to the callers of
// another, or not at all.
enum class Heard { kByHandler, kByCall, kNever };
struct Ending {
  const char* way;
  Heard heard;
  bool is_closed() const { return heard != Heard::kNever; }
  // As which a process counts whose file `turnpike record` has closed.
  Loss loss() const { return way == std::string_view("exec") ? Loss::kEndedByExec : Loss::kEndedEarly; }
};
class Endings : public testing::TestWithParam<Ending> {
 protected:
  void SetUp() override {
    if (is_sanitized() && GetParam().heard == Heard::kByCall) GTEST_SKIP() << "the sanitizer's runtime takes the call";
  }
};
TEST_P(Endings, AreTheProgramsOwn) {
  const VictimRun plain({"exit_by", GetParam().way}, {.is_recorded = false});
  const VictimRun run({"exit_by", GetParam().way}, {.is_settled = false});
  EXPECT_EQ(run.outcome().exit_code, plain.outcome().exit_code);
  EXPECT_EQ(run.outcome().signal, plain.outcome().signal);
  EXPECT_EQ(run.outcome().out, plain.outcome().out);
  if (!is_sanitized()) {
    EXPECT_EQ(run.outcome().err, plain.outcome().err);
  }
  const Trace trace = run.trace();
  EXPECT_EQ(trace.process.end.has_value(), GetParam().is_closed());
  EXPECT_EQ(trace.loss(Loss::kNotClosed), GetParam().is_closed() ? 0u : 1u);
  EXPECT_EQ(trace.loss(Loss::kDamagedBytes), 0u);
  if (GetParam().is_closed()) {
    EXPECT_EQ(trace.copies_of(50).size(), 50u);
    EXPECT_EQ(trace.losses(), "");
  }
}
// However the process ends, `turnpike record` finds what it had not written.
TEST_P(Endings, LoseNoCallWhereThereIsAnEstate) {
  const VictimRun plain({"exit_by", GetParam().way}, {.is_recorded = false});
  const VictimRun run({"exit_by", GetParam().way});
  EXPECT_EQ(run.outcome().exit_code, plain.outcome().exit_code);
  EXPECT_EQ(run.outcome().signal, plain.outcome().signal);
  EXPECT_EQ(run.outcome().out, plain.outcome().out);
  const Trace trace = run.trace();
  EXPECT_TRUE(trace.process.end.has_value());
  std::size_t uploads = 0;
  for (const auto& call : trace.calls_named("cudaMemcpyAsync")) uploads += call.bytes == 50 ? 1 : 0;
  EXPECT_EQ(uploads, 50u);
  EXPECT_EQ(trace.loss(GetParam().loss()), GetParam().is_closed() ? 0u : 1u);
  for (const Loss loss : {Loss::kNotClosed, Loss::kDamagedBytes, Loss::kCountMismatch, Loss::kUndefinedReference}) {
    EXPECT_EQ(trace.loss(loss), 0u) << trace.losses();
  }
}
INSTANTIATE_TEST_SUITE_P(Ways, Endings,
                         testing::Values(Ending{"return", Heard::kByHandler}, Ending{"exit", Heard::kByHandler},
                                         Ending{"quick_exit", Heard::kByHandler}, Ending{"_exit", Heard::kByCall},
                                         Ending{"_Exit", Heard::kByCall}, Ending{"handler", Heard::kByCall},
                                         Ending{"abort", Heard::kNever}, Ending{"segv", Heard::kNever},
                                         Ending{"sigint", Heard::kNever}, Ending{"sigterm", Heard::kNever},
                                         Ending{"sigkill", Heard::kNever}, Ending{"exec", Heard::kNever},
                                         Ending{"pthread_exit", Heard::kByHandler}),
                         [](const auto& ending) { return std::string("By_") + ending.param.way; });

// exec that fails is no end; one that succeeds loses nothing that was done.
TEST(Ends, ByExecKeepTheWorkOfTheDevice) {
  if (is_sanitized()) GTEST_SKIP() << "the sanitizer's runtime takes the call";
  const std::pair<const char*, int> ways[] = {{"exec", 0}, {"execl", 11}, {"execlp", 12}, {"execle", 13}};
  for (const auto& [way, code] : ways) {
    const VictimRun run({"exit_by", way});
    EXPECT_EQ(run.outcome().exit_code, code) << way << ": its arguments arrived";
    const Trace trace = run.trace();
    EXPECT_EQ(trace.copies_of(50).size(), 50u) << way;
    EXPECT_EQ(trace.loss(Loss::kEndedByExec), 1u) << way << ": " << trace.losses();
    EXPECT_EQ(trace.loss(Loss::kEndedEarly), 0u) << way << ": " << trace.losses();
  }
}

// The program waits for the GPU and makes no calls. CUPTI has the work 250 ms after the calls, 70 ms before the end.
class EndsLater : public testing::TestWithParam<Ending> {};
TEST_P(EndsLater, KeepWhatTheDeviceHadDone) {
  if (is_sanitized() && GetParam().heard == Heard::kByCall) GTEST_SKIP() << "the sanitizer's runtime takes the call";
  const VictimRun run({"exit_later", GetParam().way, "320"}, {.variables = {{"FAKE_CUPTI_DELAY_MS", "250"}}});
  const Trace trace = run.trace();
  EXPECT_EQ(trace.copies_of(50).size(), 50u);
  EXPECT_EQ(trace.calls_named("cudaMemcpyAsync").size(), 50u);
  EXPECT_EQ(trace.loss(GetParam().loss()), GetParam().is_closed() ? 0u : 1u) << trace.losses();
}
INSTANTIATE_TEST_SUITE_P(Ways, EndsLater,
                         testing::Values(Ending{"exit", Heard::kByHandler}, Ending{"quick_exit", Heard::kByHandler},
                                         Ending{"_exit", Heard::kByCall}, Ending{"handler", Heard::kByCall},
                                         Ending{"exec", Heard::kNever}, Ending{"sigterm", Heard::kNever},
                                         Ending{"sigkill", Heard::kNever}, Ending{"segv", Heard::kNever}),
                         [](const auto& ending) { return std::string("By_") + ending.param.way; });

TEST(Ends, OfAChildOfVforkAreItsOwn) {
  const VictimRun run({"vfork_child"});
  EXPECT_EQ(run.outcome().out, "child 9\n");
  const Trace trace = run.trace();
  EXPECT_EQ(trace.copies_of(4002).size(), 7u);
  EXPECT_EQ(trace.copies_of(4003).size(), 3u);
  EXPECT_EQ(trace.losses(), "");
}

// The copying thread may be anywhere: in CUPTI, in the recorder, with any of their locks.
TEST(Ends, FromAHandlerNeverHang) {
  if (is_sanitized()) GTEST_SKIP() << "the sanitizer's runtime takes the call";
  int closed = 0;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const VictimRun run({"exit_from_handler", std::to_string(30'000 + 2'000 * i)});
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    EXPECT_EQ(run.outcome().exit_code, 10);
    const Trace trace = run.trace();
    EXPECT_TRUE(trace.process.end.has_value());
    for (const Loss loss : {Loss::kNotClosed, Loss::kDamagedBytes, Loss::kCountMismatch, Loss::kUndefinedReference}) {
      EXPECT_EQ(trace.loss(loss), 0u) << trace.losses();
    }
    EXPECT_EQ(trace.loss(Loss::kEndedEarly), 0u) << trace.losses();
    closed += trace.loss(Loss::kEndedInExit) == 0 ? 1 : 0;
  }
  EXPECT_GT(closed, 0);
}

TEST(Ends, MainThreadMayLeaveBeforeTheOthers) {
  const Trace trace = VictimRun({"exit_by", "pthread_exit"}).trace();
  EXPECT_EQ(trace.copies_of(51).size(), 10u);
}

TEST(Fork, BeforeCudaGivesEachProcessItsFile) {
  const VictimRun run({"fork_before"});
  EXPECT_EQ(run.outcome().out, "child 0\n");
  const auto traces = run.traces();
  ASSERT_EQ(traces.size(), 2u);
  const Trace& child = traces[0].copies_of(4001).empty() ? traces[1] : traces[0];
  const Trace& parent = traces[0].copies_of(4001).empty() ? traces[0] : traces[1];
  EXPECT_EQ(child.copies_of(4001).size(), 5u);
  EXPECT_EQ(child.copies_of(4002).size(), 0u);
  EXPECT_EQ(parent.copies_of(4002).size(), 7u);
  EXPECT_EQ(child.process.parent_pid, parent.process.pid);
  EXPECT_EQ(child.losses() + parent.losses(), "");
  EXPECT_EQ(run.status().process_count, 2u);
}

// The child has the parent's memory of the recorder, and must have its own.
TEST(Fork, AfterTheRecorderWasLoadedGivesEachProcessItsOwn) {
  for (const char* way : {"_exit", "sigkill", "exit"}) {
    const auto traces = VictimRun({"fork_before", way}).traces();
    ASSERT_EQ(traces.size(), 2u) << way;
    std::multiset<std::size_t> calls;
    for (const Trace& trace : traces) {
      calls.insert(trace.calls_named("cudaMemcpyAsync").size());
      EXPECT_EQ(trace.loss(Loss::kNotClosed) + trace.loss(Loss::kUndefinedReference), 0u) << trace.losses();
      EXPECT_EQ(trace.loss(Loss::kCountMismatch) + trace.loss(Loss::kDamagedBytes), 0u) << trace.losses();
    }
    EXPECT_EQ(calls, (std::multiset<std::size_t>{5, 7})) << way;
  }
}

class ForkWithCuda : public testing::TestWithParam<const char*> {};
TEST_P(ForkWithCuda, LeavesTheParentsFileAlone) {
  const VictimRun plain({"fork_after", GetParam()}, {.is_recorded = false});
  const VictimRun run({"fork_after", GetParam()});
  EXPECT_EQ(run.outcome().out, plain.outcome().out);
  EXPECT_EQ(run.outcome().exit_code, 0);
  const Trace trace = run.trace();  // one file: the child has none
  EXPECT_EQ(trace.copies_of(4002).size(), 7u);
  EXPECT_EQ(trace.copies_of(4003).size(), 3u);
  EXPECT_EQ(trace.copies.size(), 10u);
  EXPECT_TRUE(trace.process.end.has_value());
  EXPECT_EQ(trace.loss(Loss::kDamagedBytes), 0u);
  EXPECT_EQ(trace.loss(Loss::kCountMismatch), 0u);
}
INSTANTIATE_TEST_SUITE_P(Ways, ForkWithCuda, testing::Values("return", "exit", "_exit", "abort", "segv", "sigterm"));

TEST(Fork, AmidCopyingThreadsNeverHangsAChild) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer's own locks hang such children, recorded or not";
#endif
  const VictimRun run({"fork_storm", "100"});
  EXPECT_EQ(run.outcome().out, "children 100\n");
  const Trace trace = run.trace();
  EXPECT_EQ(trace.copies.size(), run.truth().at("produced"));
  EXPECT_TRUE(trace.process.end.has_value());
}

// The child's copy of a lock may be held by a thread that is not there, and CUPTI must not be called there at all.
TEST(Fork, AmidSwitchedRecordingNeverHangsAChild) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer's own locks hang such children, recorded or not";
#endif
  const VictimRun run({"fork_storm", "30"}, {.variables = {{"TURNPIKE_CAPTURE_RANGE", "nvtx:wanted"}}});
  EXPECT_EQ(run.outcome().out, "children 30\n");
  EXPECT_TRUE(run.trace().process.end.has_value());
}

TEST(Fork, ExecutedChildRecordsIntoItsOwnFile) {
  const VictimRun run({"run_self", "uploads", "50"});
  EXPECT_EQ(run.outcome().exit_code, 0);
  const auto traces = run.traces();
  ASSERT_EQ(traces.size(), 2u);
  EXPECT_EQ(traces[0].copies.size() + traces[1].copies.size(), 7u + 51u);
  EXPECT_TRUE(traces[0].process.end && traces[1].process.end);
}

// Uploads of 1, 2, 3, ... bytes until the end: a hole would show.
void expect_unbroken(const Trace& trace) {
  std::set<std::uint64_t> called;
  for (const auto& call : trace.calls_named("cudaMemcpyAsync")) called.insert(call.bytes);
  EXPECT_TRUE(called.empty() || (*called.begin() == 1 && *called.rbegin() == called.size()));
  std::set<std::uint64_t> copied;
  for (const auto& copy : trace.copies) copied.insert(copy.bytes);
  EXPECT_TRUE(copied.empty() || (*copied.begin() == 1 && *copied.rbegin() == copied.size()));
}

// Kills a victim after that time, and checks what it left. Returns whether copies had been written.
bool leaves_copies_if_killed_after(useconds_t pause_us, bool is_settled) {
  const ScratchFolder folder;
  const std::string progress_path = folder.path() / "progress";
  std::ofstream(progress_path, std::ios::binary) << std::string(sizeof(std::size_t), '\0');
  Setting setting;
  setting.is_settled = is_settled;
  setting.meanwhile = [pause_us](pid_t child) {
    usleep(pause_us);
    kill(child, SIGKILL);
  };
  const VictimRun run({"endless", progress_path}, setting);
  EXPECT_EQ(run.outcome().signal, SIGKILL);
  const TurnpikeStatus status = run.status();
  const auto files = run.files();
  if (files.empty() || std::filesystem::file_size(files[0]) == 0) {
    EXPECT_EQ(status.written_bytes, 0u);
    return false;
  }
  const Trace trace = read_trace(files[0]);
  expect_unbroken(trace);
  std::size_t uploaded = 0;
  std::ifstream(progress_path, std::ios::binary).read(reinterpret_cast<char*>(&uploaded), sizeof uploaded);
  if (trace.loss(Loss::kEndedEarly) > 0) {
    EXPECT_TRUE(is_settled);
    // One more may have returned, but not been noted by the victim.
    EXPECT_GE(trace.calls_named("cudaMemcpyAsync").size(), uploaded);
    EXPECT_LE(trace.calls_named("cudaMemcpyAsync").size(), uploaded + 1);
    for (const Loss loss : {Loss::kNotClosed, Loss::kDamagedBytes, Loss::kCountMismatch, Loss::kUndefinedReference}) {
      EXPECT_EQ(trace.loss(loss), 0u) << trace.losses();
    }
    return !trace.copies.empty();
  }
  // An estate is open as soon as something can be recorded.
  EXPECT_EQ(is_settled ? uploaded : 0, 0u);
  EXPECT_EQ(trace.loss(Loss::kNotClosed), 1u);
  // The kernel may stop a large write half-way: then the last chunk is torn, and no other.
  EXPECT_LT(trace.loss(Loss::kDamagedBytes), 8u << 20);
  // What the status page tells has been written.
  EXPECT_GE(trace.copies.size(), status.transfer_count[0]);
  return !trace.copies.empty();
}

// What a kill interrupts is our machine code as it ships: that of a sanitizer is another, and the kill ends the process
// before a sanitizer could say anything. Some times show that there it is no different.
TEST(Kill, TwoHundredTimesLeavesAReadableFileWithAllThatWasDone) {
  const int times = is_sanitized() ? 40 : 200;
  std::mt19937 random(1);
  // From before cuInit until well after the second flush: later on a busy machine, or under a sanitizer.
  useconds_t longest_us = 330'000;
  while (longest_us < 5'000'000 && !leaves_copies_if_killed_after(longest_us * 2 / 3, false)) longest_us *= 2;
  int with_copies = 0;
  for (int i = 0; i < times && !HasFailure(); ++i) {
    const auto pause_us = static_cast<useconds_t>(random() % longest_us) / (i % 4 == 0 ? 20 : 1);
    with_copies += leaves_copies_if_killed_after(pause_us, i / 4 % 2 == 0) ? 1 : 0;
  }
  EXPECT_GT(with_copies, is_sanitized() ? 2 : 50);
}

// How long the device's work is behind the calls in what a killed process leaves.
std::int64_t device_lag_ns(useconds_t pause_us) {
  Setting setting;
  setting.meanwhile = [pause_us](pid_t child) {
    usleep(pause_us);
    kill(child, SIGKILL);
  };
  const Trace trace = VictimRun({"paced", "1000", "1"}, setting).trace();
  std::int64_t last_call_ns = 0;
  for (const auto& call : trace.calls) last_call_ns = std::max(last_call_ns, call.end_ns);
  std::int64_t last_copy_ns = trace.process.start_realtime_ns;
  for (const auto& copy : trace.copies) last_copy_ns = std::max(last_copy_ns, copy.end_ns);
  return last_call_ns - last_copy_ns;
}

TEST(Kill, LosesOfTheDeviceOnlyTheLastMoments) {
  std::vector<std::int64_t> lags_ns;
  for (useconds_t i = 0; i < 21; ++i) lags_ns.push_back(device_lag_ns(300'000 + i * 10'000));
  // The middle one: a busy machine delays some. Flushed five times a second it would be 100 ms.
  std::nth_element(lags_ns.begin(), lags_ns.begin() + 10, lags_ns.end());
  EXPECT_LT(lags_ns[10], is_sanitized() ? 90'000'000 : 50'000'000);
}

}  // namespace
}  // namespace turnpike::record_tests
