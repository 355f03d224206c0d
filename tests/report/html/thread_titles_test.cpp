// What threads are called.
#include "report/html/thread_titles.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/process_builder.h"

namespace turnpike::report::html {
namespace {

constexpr std::uint32_t kPid = 40;

class Program {
 public:
  Program() { builder_.process().pid = kPid; }

  analyze::ProcessBuilder& builder() { return builder_; }
  void name(std::uint32_t thread, const std::string& name) {
    trace::ThreadRecord record{};
    record.thread = thread;
    record.name = builder_.string(name);
    builder_.loader().on(record);
  }
  // Innermost first.
  void call(std::uint32_t thread, std::vector<std::uint32_t> frames) {
    builder_.call({.start_ns = 0, .end_ns = 1, .stack = builder_.stack(std::move(frames)), .thread = thread});
  }
  std::string title(std::uint32_t thread) {
    if (!loaded_) loaded_.emplace(builder_.take());
    return ThreadTitles(loaded_->process, loaded_->timeline).of(thread);
  }

 private:
  analyze::ProcessBuilder builder_;
  std::optional<analyze::LoadedProcess> loaded_;
};

TEST(ThreadTitles, AThreadThatNobodyNamedIsNotCalledAsItsProgram) {
  Program program;
  for (const std::uint32_t thread : {kPid, 41u, 42u}) program.name(thread, "python3");
  EXPECT_EQ(program.title(kPid), "main thread");
  EXPECT_EQ(program.title(41), "thread 41");
  EXPECT_EQ(program.title(42), "thread 42");
}

TEST(ThreadTitles, NamesThatSeveralThreadsHaveAreToldApart) {
  Program program;
  program.name(kPid, "python3");
  program.name(41, "pt_autograd_0");
  program.name(42, "loader");
  program.name(43, "pool");
  program.name(44, "pool");
  EXPECT_EQ(program.title(41), "autograd thread 41");
  EXPECT_EQ(program.title(42), "loader");
  EXPECT_EQ(program.title(43), "pool 43");
  EXPECT_EQ(program.title(44), "pool 44");
}

TEST(ThreadTitles, ThreadsWithoutANameAreCalledByWhatTheyDo) {
  Program program;
  analyze::ProcessBuilder& builder = program.builder();
  const auto of_threading = [&](const char* function) {
    return builder.python(function, "/usr/lib/python3.12/threading.py", 1000);
  };
  const std::vector<std::uint32_t> start = {of_threading("Thread.run"), of_threading("Thread._bootstrap_inner"),
                                            of_threading("Thread._bootstrap")};
  const auto call = [&](std::uint32_t thread, std::vector<std::uint32_t> frames) {
    frames.insert(frames.end(), start.begin(), start.end());
    program.call(thread, frames);
  };
  for (const std::uint32_t thread : {kPid, 41u, 42u, 43u, 44u}) program.name(thread, "python3");
  call(41, {builder.native("cudaMemcpyAsync", "/lib/libcudart.so"),
            builder.python("_pin_memory_loop", "/site-packages/torch/utils/data/_utils/pin_memory.py", 41)});
  call(42, {builder.python("decode", "/home/me/images.py", 5), builder.python("load_ahead", "/home/me/train.py", 9)});
  program.call(43, {builder.native("", "/site-packages/turnpike/_core.abi3.so")});
  call(44, {});
  call(44, {builder.python("late", "/home/me/train.py", 9)});
  program.call(45, {builder.python("run", "/home/me/run.py", 3),
                    builder.python("_worker", "/usr/lib/python3.12/concurrent/futures/thread.py", 92)});
  EXPECT_EQ(program.title(41), "DataLoader's pin-memory thread 41");
  EXPECT_EQ(program.title(42), "thread 42: load_ahead");
  EXPECT_EQ(program.title(43), "turnpike's thread 43");
  EXPECT_EQ(program.title(44), "thread 44: late");
  EXPECT_EQ(program.title(45), "thread 45: run");
}

}  // namespace
}  // namespace turnpike::report::html
