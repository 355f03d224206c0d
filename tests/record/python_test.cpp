// Programs in Python: each copy leads to its executing line, in every CPython that is installed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

using trace::Loss;

std::vector<std::string> interpreters() {
  std::vector<std::string> found;
  std::istringstream paths(TEST_PYTHONS);
  for (std::string path; std::getline(paths, path, ':');) {
    if (!path.empty()) found.push_back(path);
  }
  return found;
}

// The number of the line that ends with the comment `# line NAME`.
std::uint32_t line_of(const std::string& name) {
  std::ifstream script(PYTHON_VICTIM);
  std::uint32_t number = 0;
  for (std::string line; std::getline(script, line);) {
    ++number;
    if (line.ends_with("# line " + name)) return number;
  }
  return 0;
}

class PythonVictim : public testing::TestWithParam<std::string> {
 protected:
  // The Python frames of the call that uploaded so many bytes, innermost first.
  static std::vector<trace::Frame> frames_of(const Trace& trace, std::uint64_t bytes) {
    std::vector<trace::Frame> found;
    for (const auto& call : trace.calls_named("cudaMemcpy")) {
      if (call.bytes != bytes || !trace.process.stacks.contains(call.stack)) continue;
      for (const std::uint32_t frame : trace.process.stacks.at(call.stack).frames) {
        if (trace.process.frames.at(frame).kind == trace::FrameKind::kPython) {
          found.push_back(trace.process.frames.at(frame));
        }
      }
      return found;
    }
    return found;
  }
};

TEST_P(PythonVictim, EachCopyHasItsLine) {
  if (is_sanitized()) GTEST_SKIP() << "an interpreter without a sanitizer cannot load libraries with one";
  const VictimRun run({PYTHON_VICTIM}, {.program = GetParam()});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, "python 3\n");
  const Trace trace = run.trace();
  EXPECT_EQ(trace.losses(), "");
  EXPECT_EQ(trace.copies.size(), 305u);
  for (const char* name : {"101", "102", "103", "104", "106"}) {
    const auto frames = frames_of(trace, std::strtoull(name, nullptr, 10));
    ASSERT_GE(frames.size(), 2u) << name;
    EXPECT_EQ(frames[0].function, "upload");
    EXPECT_EQ(frames[0].file, PYTHON_VICTIM);
    EXPECT_EQ(frames[1].line, line_of(name)) << name;
  }
  EXPECT_EQ(frames_of(trace, 105).at(1).file, "<made up>");
  EXPECT_NE(frames_of(trace, 103).at(1).function.find("forward"), std::string::npos);
}

// The victim's text around the line of that name, as the file has it.
std::map<std::uint32_t, std::string> lines_around(std::uint32_t middle) {
  std::ifstream script(PYTHON_VICTIM);
  std::map<std::uint32_t, std::string> lines;
  std::uint32_t number = 0;
  for (std::string line; std::getline(script, line);) {
    if (++number + 4 >= middle && number <= middle + 4) lines[number] = line;
  }
  return lines;
}

TEST_P(PythonVictim, HasTheSourceAroundItsLines) {
  if (is_sanitized()) GTEST_SKIP() << "an interpreter without a sanitizer cannot load libraries with one";
  const Trace trace = VictimRun({PYTHON_VICTIM}, {.program = GetParam()}).trace();
  for (const char* name : {"101", "104", "106"}) {
    const std::uint32_t line = line_of(name);
    EXPECT_EQ(trace.process.source_text.lines(PYTHON_VICTIM, line - 4, line + 4), lines_around(line)) << name;
  }
  EXPECT_EQ(trace.process.source_text.files().size(), 1u) << "nothing of Python's own";
  EXPECT_EQ(trace.metadata("source"), "files=1");
}

TEST_P(PythonVictim, HasNoSourceWhereNoneIsWanted) {
  if (is_sanitized()) GTEST_SKIP() << "an interpreter without a sanitizer cannot load libraries with one";
  for (const Variables& variables : {Variables{{"TURNPIKE_SOURCE", "0"}}, Variables{{"TURNPIKE_STACKS", "0"}}}) {
    const Trace trace = VictimRun({PYTHON_VICTIM}, {.program = GetParam(), .variables = variables}).trace();
    EXPECT_TRUE(trace.process.source_text.files().empty());
    EXPECT_EQ(trace.copies.size(), 305u);
  }
}

// What `turnpike record` writes for it.
TEST_P(PythonVictim, HasItsSourceAlsoWhenItIsKilled) {
  if (is_sanitized()) GTEST_SKIP() << "an interpreter without a sanitizer cannot load libraries with one";
  const Variables killed = {{"VICTIM_KILLED", "1"}};
  const Trace trace = VictimRun({PYTHON_VICTIM}, {.program = GetParam(), .variables = killed}).trace();
  EXPECT_EQ(trace.loss(Loss::kEndedEarly), 1u);
  const std::uint32_t line = line_of("106");
  EXPECT_EQ(trace.process.source_text.lines(PYTHON_VICTIM, line - 4, line + 4), lines_around(line));
  const Variables without = {{"VICTIM_KILLED", "1"}, {"TURNPIKE_SOURCE", "0"}};
  EXPECT_TRUE(VictimRun({PYTHON_VICTIM}, {.program = GetParam(), .variables = without})
                  .trace()
                  .process.source_text.files()
                  .empty());
}

// Those by fork and forkserver end by os._exit, sooner than the recorder writes by itself.
TEST_P(PythonVictim, ChildrenOfMultiprocessingLoseNothing) {
  if (is_sanitized()) GTEST_SKIP() << "an interpreter without a sanitizer cannot load libraries with one";
  for (const char* method : {"fork", "forkserver", "spawn"}) {
    for (const bool is_settled : {true, false}) {
      const VictimRun run({PYTHON_CHILDREN, method}, {.is_settled = is_settled, .program = GetParam()});
      ASSERT_EQ(run.outcome().out, "child 0\n") << method << run.outcome().err;
      const Trace trace = run.trace();
      EXPECT_EQ(trace.losses(), "") << method;
      EXPECT_EQ(trace.copies_of(50).size(), 50u) << method;
      EXPECT_TRUE(trace.process.end) << method;
    }
  }
}

TEST_P(PythonVictim, IsLookedAtBetweenItsCalls) {
  if (is_sanitized()) GTEST_SKIP() << "an interpreter without a sanitizer cannot load libraries with one";
  const Trace trace = VictimRun({PYTHON_VICTIM}, {.program = GetParam(), .variables = {{"VICTIM_BUSY", "1"}}}).trace();
  std::size_t seen = 0;
  std::size_t seen_beside = 0;
  std::unordered_map<std::uint32_t, std::int64_t> before_ns;  // the time of a thread's sample before
  for (const auto& sample : trace.samples) {
    ASSERT_TRUE(trace.process.stacks.contains(sample.stack));
    const auto& frames = trace.process.stacks.at(sample.stack).frames;
    ASSERT_FALSE(frames.empty());
    for (const std::uint32_t frame : frames) EXPECT_EQ(trace.process.frames.at(frame).kind, trace::FrameKind::kPython);
    const auto [before, is_first] = before_ns.try_emplace(sample.thread, sample.time_ns);
    if (!is_first) {
      EXPECT_GT(sample.time_ns - before->second, 4'000'000) << "no oftener than every 5 ms";
    }
    before->second = sample.time_ns;
    // Python itself calls functions on the main thread when the program ends.
    if (trace.process.frames.at(frames[0]).function != "busy") continue;
    const bool is_main = sample.thread == trace.process.pid;
    const auto& outermost = trace.process.frames.at(frames.back()).function;
    EXPECT_EQ(outermost == "<module>", is_main) << outermost;
    ++(is_main ? seen : seen_beside);
  }
  EXPECT_GT(seen, 5u) << "of half a second, on a machine that may be busy";
  EXPECT_GT(seen_beside, 5u) << "a thread that called CUDA a moment ago";
  EXPECT_EQ(trace.losses(), "");
}

TEST_P(PythonVictim, HasItsLinesAlsoWhereNothingMayLookAtIt) {
  if (is_sanitized()) GTEST_SKIP() << "an interpreter without a sanitizer cannot load libraries with one";
  const VictimRun run({"sandboxed", GetParam(), PYTHON_VICTIM}, {.variables = {{"VICTIM_BUSY", "1"}}});
  if (run.outcome().exit_code == 77) GTEST_SKIP() << run.outcome().err;
  const Trace trace = run.trace();
  EXPECT_EQ(frames_of(trace, 104).at(1).line, line_of("104"));
  EXPECT_TRUE(trace.samples.empty());
  EXPECT_TRUE(trace.contents.empty());
  // The content of each of its 306 copies, and the samples.
  EXPECT_EQ(trace.losses(), "memory_unreadable=307 ");
}

TEST_P(PythonVictim, IsNotLookedAtWhenOnlyTransfersAreRecorded) {
  if (is_sanitized()) GTEST_SKIP() << "an interpreter without a sanitizer cannot load libraries with one";
  const Variables variables = {{"VICTIM_BUSY", "1"}, {"TURNPIKE_DETAIL", "transfers"}};
  EXPECT_TRUE(VictimRun({PYTHON_VICTIM}, {.program = GetParam(), .variables = variables}).trace().samples.empty());
}

TEST_P(PythonVictim, WorksTheSameUnrecorded) {
  if (is_sanitized()) GTEST_SKIP() << "an interpreter without a sanitizer cannot load libraries with one";
  const VictimRun run({PYTHON_VICTIM}, {.is_recorded = false, .program = GetParam()});
  EXPECT_EQ(run.outcome().exit_code, 0) << run.outcome().err;
  EXPECT_EQ(run.outcome().out, "python 3\n");
}

INSTANTIATE_TEST_SUITE_P(Interpreters, PythonVictim, testing::ValuesIn(interpreters()),
                         [](const auto& path) { return "Number" + std::to_string(path.index); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PythonVictim);

}  // namespace
}  // namespace turnpike::record_tests
