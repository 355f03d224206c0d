// The line that is shown for a stack.
#include "analyze/model/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;

trace::Frame python(std::string function, std::string file, std::uint32_t line) {
  return {.kind = trace::FrameKind::kPython, .function = std::move(function), .file = std::move(file), .line = line};
}
trace::Frame native(std::string symbol, std::string module) {
  return {.kind = trace::FrameKind::kNative, .function = std::move(symbol), .file = std::move(module)};
}

Place place(const std::vector<trace::Frame>& frames, bool is_backward_thread = false) {
  std::vector<const trace::Frame*> pointers;
  for (const trace::Frame& frame : frames) pointers.push_back(&frame);
  return place_of(pointers, is_backward_thread, "cudaMemcpyAsync");
}

const trace::Frame kCudart = native("cudaMemcpyAsync", "/venv/lib/libcudart.so.13");
const trace::Frame kCopy = native("_ZN2at4_ops5copy_4callERNS_6TensorE", "/venv/lib/libtorch_cpu.so");
const trace::Frame kAtenTo = native("_ZN2at4_ops15to_dtype_layout4callERKNS_6TensorE", "/venv/lib/libtorch_cpu.so");
const trace::Frame kModule = python("Module.to", "/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", 1300);
const trace::Frame kTrain = python("train", "/home/user/train.py", 23);
const trace::Frame kMain = python("main", "/home/user/main.py", 5);

TEST(Place, IsTheInnermostLineOfTheUser) {
  const Place found = place({kCudart, kCopy, kAtenTo, kModule, kTrain, kMain});
  EXPECT_EQ(found.site, "train.py:23");
  EXPECT_EQ(found.file, "/home/user/train.py");
  EXPECT_EQ(found.line, 23u);
  EXPECT_EQ(found.function, "train");
  EXPECT_EQ(found.op, "aten::to");
  EXPECT_EQ(found.inner_op, "aten::copy_");
  EXPECT_EQ(found.phase, Phase::kOther);
  EXPECT_THAT(found.stack, ElementsAre("Module.to (/venv/lib/python3.12/site-packages/torch/nn/modules/module.py:1300)",
                                       "train (/home/user/train.py:23)", "main (/home/user/main.py:5)"));
}

TEST(Place, IsTheInnermostLineOfPythonWhereNoneIsTheUsers) {
  EXPECT_EQ(place({kCudart, kModule}).site, "module.py:1300");
}

TEST(Place, WithoutALineNumberIsTheFunction) {
  const Place found = place(
      {{.kind = trace::FrameKind::kPython, .function = "train_step", .file = "/home/user/train.py", .first_line = 12},
       python("", "/home/user/main.py", 0)});
  EXPECT_EQ(found.site, "train.py (train_step)");
  EXPECT_EQ(found.line, std::nullopt);
  EXPECT_EQ(found.function, "train_step");
  EXPECT_THAT(found.stack,
              ElementsAre("train_step (/home/user/train.py, defined at line 12)", " (/home/user/main.py)"));
}

TEST(Place, WithoutALineNumberAndAFunctionIsTheFile) {
  EXPECT_EQ(place({python("", "/home/user/train.py", 0)}).site, "train.py");
}

// As torch.profiler tells them: operators and functions by name, paths shortened.
trace::Frame operation(std::string name) {
  return {.kind = trace::FrameKind::kOperator, .function = std::move(name), .file = {}};
}
const trace::Frame kBuiltIn = native("<built-in method to of Tensor object", "");

TEST(Place, LooksThroughOperatorsAndFunctionsOfC) {
  const Place found = place({operation("aten::copy_"), operation("aten::to"), kBuiltIn, python("step", "train.py", 0)});
  EXPECT_EQ(found.site, "train.py (step)");
  EXPECT_EQ(found.op, "aten::to");
  EXPECT_EQ(found.inner_op, "aten::copy_");
}

TEST(Place, IsTheOperatorWhereNoFunctionOfTheProgramIsKnown) {
  EXPECT_EQ(place({operation("aten::copy_"), operation("aten::to"), kBuiltIn}).site, "aten::to");
  EXPECT_EQ(place({kBuiltIn, native("nn.Module: Linear_0", "")}).site, "cudaMemcpyAsync");
}

TEST(Place, PassesOverLibrariesWithShortenedPaths) {
  EXPECT_EQ(
      place({python("step", "torch/optim/adam.py", 0), python("get", "queue.py", 0), python("f", "app/run.py", 0)})
          .site,
      "run.py (f)");
}

TEST(LibraryFile, IsToldByTheFirstPartOfAShortenedPath) {
  for (const char* path :
       {"torch/_tensor.py", "threading.py", "numpy/core/x.py", "cProfile.py", "zmq/a.py", "abc.py"}) {
    EXPECT_TRUE(is_library_file(path)) << path;
  }
  for (const char* path : {"train.py", "torchlike/a.py", "models/torch/a.py", "/home/user/torch/a.py", ""}) {
    EXPECT_FALSE(is_library_file(path)) << path;
  }
}

TEST(Place, WithoutPythonIsTheFunctionOfTheProgram) {
  const Place found =
      place({kCudart, kCopy, native("_ZN7Trainer4stepEi", "/opt/app/trainer"), native("main", "/opt/app/trainer"),
             native("__libc_start_main", "/lib/x86_64-linux-gnu/libc.so.6")});
  EXPECT_EQ(found.site, "Trainer::step (trainer)");
  EXPECT_EQ(found.function, "Trainer::step");
  EXPECT_EQ(found.file, std::nullopt);
  EXPECT_EQ(found.line, std::nullopt);
  EXPECT_TRUE(found.stack.empty());
}

TEST(Place, PassesOverACudaRuntimeThatIsLinkedIntoTheProgram) {
  EXPECT_EQ(place({native("libcudart_static_0123abcd", "/opt/app"), native("cudaMemcpy", "/opt/app"),
                   native("_Z6uploadv", "/opt/app")})
                .site,
            "upload (app)");
}

TEST(Place, DoesNotTakeFunctionsOfTheProgramForCuda) {
  EXPECT_EQ(place({native("cutout", "/opt/app")}).site, "cutout (app)");
  EXPECT_EQ(place({native("cuda_upload", "/opt/app")}).site, "cuda_upload (app)");
}

TEST(Place, IsTheModuleWhereTheFunctionHasNoName) {
  EXPECT_EQ(place({kCudart, native("", "/opt/app/trainer")}).site, "trainer");
}

TEST(Place, IsTheLineThatCodeWasCompiledFrom) {
  trace::Frame source = python("forward", "/home/user/model.py", 42);
  source.is_compiled = true;
  const Place found = place({kCudart, kCopy, python("forward", "<eval_with_key>.3", 7), source,
                             python("Model.forward", "/home/user/model.py", 40)});
  EXPECT_EQ(found.site, "model.py:42 (compiled)");
  EXPECT_EQ(found.file, "/home/user/model.py");
  EXPECT_EQ(found.line, 42u);
  EXPECT_EQ(found.library_site, std::nullopt);
  EXPECT_EQ(found.stack[1], "forward (/home/user/model.py:42)");
}

TEST(Place, OfCompiledCodeWhoseLineIsUnknownIsTheFunctionThatWasCompiled) {
  const std::string kernels = "/tmp/torchinductor_me/qw/cqwza3ckhfkuerketntxqntcs5vn2hj4ijj27tlhlk6lk4fnkyll.py";
  EXPECT_EQ(place({python("call", kernels, 118), python("Model.forward", "/home/user/model.py", 40)}).site,
            "model.py:40");
}

TEST(Place, OfABackwardThreadIsTheNode) {
  const std::vector<trace::Frame> frames = {
      kCudart,
      kCopy,
      kAtenTo,
      native("_ZN5torch8autograd9generated15ToCopyBackward05applyEOSt6vectorIN2at6TensorESaIS4_EE",
             "/venv/lib/libtorch_cpu.so"),
      native("_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEE",
             "/venv/lib/libtorch_cpu.so"),
      native("execute_native_thread_routine", "/lib/libstdc++.so.6"),
      native("clone3", "/lib/libc.so.6")};
  const Place found = place(frames, true);
  EXPECT_EQ(found.site, "ToCopyBackward0 (libtorch_cpu.so)");
  EXPECT_EQ(found.phase, Phase::kBackward);
}

TEST(Place, IsTheOperatorWhereOnlyPyTorchIsOnTheStack) {
  EXPECT_EQ(place({kCudart, kCopy, kAtenTo}).site, "aten::to");
}

TEST(Place, IsTheCallWhereNothingIsKnown) {
  EXPECT_EQ(place({}).site, "cudaMemcpyAsync");
  EXPECT_EQ(place({kCudart}).site, "cudaMemcpyAsync");
  EXPECT_EQ(place({}).phase, std::nullopt);
}

TEST(LibraryFile, IsInstalledOrStandard) {
  EXPECT_TRUE(is_library_file("/venv/lib/python3.12/site-packages/torch/_tensor.py"));
  EXPECT_TRUE(is_library_file("/usr/lib/python3/dist-packages/numpy/core.py"));
  EXPECT_TRUE(is_library_file("/usr/lib/python3.12/threading.py"));
  EXPECT_TRUE(is_library_file("<frozen runpy>"));
  EXPECT_TRUE(is_library_file("/home/user/turnpike/python/turnpike/_move/to.py"));
  EXPECT_FALSE(is_library_file("/home/user/train.py"));
  EXPECT_FALSE(is_library_file("/home/user/lib/python3.tools/train.py"));
  EXPECT_FALSE(is_library_file("<stdin>"));
  EXPECT_FALSE(is_library_file(""));
}

}  // namespace
}  // namespace turnpike::analyze
