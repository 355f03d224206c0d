// Whether an exception may leave PyTorch's own frames, as they were on a GPU.
#include "guard/native_frames.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/operator_name.h"

namespace turnpike::guard {
namespace {

struct Stack {
  std::string what, call, when, op;
  std::vector<FrameFunction> frames;
};

std::string field(std::istringstream& line) {
  std::string text;
  std::getline(line, text, '|');
  const auto begin = text.find_first_not_of(' ');
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::vector<Stack> read_stacks() {
  std::vector<Stack> stacks;
  std::ifstream file(PYTORCH_STACKS);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    if (line.starts_with('>')) {
      words.ignore(2);
      Stack& stack = stacks.emplace_back();
      for (std::string* one : {&stack.what, &stack.call, &stack.when, &stack.op}) *one = field(words);
      continue;
    }
    std::string library;
    std::string symbol;
    words >> library >> symbol;
    FrameFunction frame = function_of("/torch/lib/" + library, symbol);
    if (library == "python") frame.role = FrameRole::kPython;
    stacks.back().frames.push_back(std::move(frame));
  }
  return stacks;
}

NativeFrames found(const Stack& stack, bool is_copy) {
  FrameWalk walk(is_copy);
  for (const FrameFunction& frame : stack.frames) {
    if (!walk.pass(frame)) break;
  }
  return walk.found();
}

TEST(NativeFrames, OfPyTorchAreLeftOnlyWhereTheListSaysSo) {
  const auto stacks = read_stacks();
  ASSERT_GT(stacks.size(), 10u);
  for (const Stack& stack : stacks) {
    const NativeFrames frames = found(stack, stack.call.starts_with("cudaMemcpy"));
    EXPECT_EQ(frames.may_leave, stack.when == "at once") << stack.what << ' ' << stack.call;
    EXPECT_EQ(frames.op, stack.op == "-" ? "" : operator_name(stack.op)) << stack.what;
  }
}

// Each frame alone decides: a stack that raises at once does not where one of its frames is an extension's.
TEST(NativeFrames, AnExtensionsFrameAnywhereKeepsTheException) {
  for (Stack& stack : read_stacks()) {
    const bool is_copy = stack.call.starts_with("cudaMemcpy");
    for (std::size_t at = 0; at < stack.frames.size(); ++at) {
      const FrameRole role = stack.frames[at].role;
      if (role == FrameRole::kPython || role == FrameRole::kEngine) break;  // behind it, it is caught
      Stack with = stack;
      with.frames.insert(with.frames.begin() + static_cast<std::ptrdiff_t>(at), FrameFunction{});
      EXPECT_FALSE(found(with, is_copy).may_leave) << stack.what << ' ' << stack.call << ", frame " << at;
    }
  }
}

TEST(NativeFrames, LibrariesAreKnownByTheirWholeName) {
  EXPECT_EQ(function_of("/x/libtorch_cpu.so", "").role, FrameRole::kTorch);
  EXPECT_EQ(function_of("/x/libtorch_cpu.so.2.6", "").role, FrameRole::kTorch);
  EXPECT_EQ(function_of("/x/libtorch_tensorrt.so", "").role, FrameRole::kOther);
  EXPECT_EQ(function_of("/x/libtorchvision.so", "").role, FrameRole::kOther);
  EXPECT_EQ(function_of("/x/libc10.so", "").role, FrameRole::kTorch);
  EXPECT_EQ(function_of("/x/libc10_cuda.so", "").role, FrameRole::kAllocator);
  EXPECT_EQ(function_of("/x/libtorch_cpu.so", "_ZN4c10d7Reducer13autograd_hookEm").role, FrameRole::kOther);
}

}  // namespace
}  // namespace turnpike::guard
