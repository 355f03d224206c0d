// Phases from the frames of a stack.
#include "analyze/model/phase.h"

#include <gtest/gtest.h>

#include <vector>

namespace turnpike::analyze {
namespace {

const std::string kTorch = "/venv/lib/python3.12/site-packages/torch/";

trace::Frame python(std::string function, std::string file) {
  return {.kind = trace::FrameKind::kPython, .function = std::move(function), .file = std::move(file), .line = 1};
}

const trace::Frame kMain = python("main", "/home/user/train.py");
const trace::Frame kHook = python("hook", "/home/user/train.py");
const trace::Frame kForward = python("Module._call_impl", kTorch + "nn/modules/module.py");
const trace::Frame kRunBackward = python("_engine_run_backward", kTorch + "autograd/graph.py");
const trace::Frame kTensorBackward = python("Tensor.backward", kTorch + "_tensor.py");
const trace::Frame kAdam = python("Adam.step", kTorch + "optim/adam.py");
const trace::Frame kLoader = python("pin_memory", kTorch + "utils/data/_utils/pin_memory.py");
const trace::Frame kEvaluate = {
    .kind = trace::FrameKind::kNative,
    .function = "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEE",
    .file = "/lib/libtorch_cpu.so"};

std::optional<Phase> phase(std::vector<const trace::Frame*> frames, bool is_backward_thread = false) {
  return phase_of(frames, is_backward_thread);
}

TEST(Phase, IsUnknownWithoutAnyFrame) {
  EXPECT_EQ(phase({}), std::nullopt);
}

TEST(Phase, IsOtherWhereNoFrameTells) {
  EXPECT_EQ(phase({&kMain}), Phase::kOther);
}

TEST(Phase, OfAnAutogradThreadIsBackwardEvenWithoutFrames) {
  EXPECT_EQ(phase({}, true), Phase::kBackward);
}

TEST(Phase, IsToldByTheFramesOfPyTorch) {
  EXPECT_EQ(phase({&kForward, &kMain}), Phase::kForward);
  EXPECT_EQ(phase({&kRunBackward, &kTensorBackward, &kMain}), Phase::kBackward);
  EXPECT_EQ(phase({&kTensorBackward, &kMain}), Phase::kBackward);
  EXPECT_EQ(phase({&kEvaluate}), Phase::kBackward);
  EXPECT_EQ(phase({&kAdam, &kMain}), Phase::kOptimizer);
  EXPECT_EQ(phase({&kLoader, &kMain}), Phase::kLoader);
}

TEST(Phase, KnowsScalingAndClippingAsOptimizer) {
  const trace::Frame scaler = python("GradScaler.unscale_", kTorch + "amp/grad_scaler.py");
  const trace::Frame clip = python("clip_grad_norm_", kTorch + "nn/utils/clip_grad.py");
  EXPECT_EQ(phase({&scaler, &kMain}), Phase::kOptimizer);
  EXPECT_EQ(phase({&clip, &kMain}), Phase::kOptimizer);
}

TEST(Phase, KnowsForwardWithoutQualifiedNames) {
  const trace::Frame old_forward = python("_call_impl", kTorch + "nn/modules/module.py");
  EXPECT_EQ(phase({&old_forward, &kMain}), Phase::kForward);
}

TEST(Phase, OtherFunctionsOfModulesAreNotForward) {
  const trace::Frame move = python("Module.to", kTorch + "nn/modules/module.py");
  EXPECT_EQ(phase({&move, &kMain}), Phase::kOther);
}

TEST(Phase, IsThatOfTheInnermostFrame) {
  EXPECT_EQ(phase({&kRunBackward, &kAdam, &kMain}), Phase::kBackward);  // a closure
  EXPECT_EQ(phase({&kForward, &kAdam, &kMain}), Phase::kForward);
  EXPECT_EQ(phase({&kAdam, &kHook, &kRunBackward, &kMain}), Phase::kOptimizer);  // an optimizer in a gradient hook
  EXPECT_EQ(phase({&kAdam, &kHook}, true), Phase::kOptimizer);
}

TEST(Phase, OfAForwardInsideABackwardPassIsBackward) {
  EXPECT_EQ(phase({&kForward, &kHook, &kRunBackward, &kMain}), Phase::kBackward);  // a checkpoint
  EXPECT_EQ(phase({&kForward, &kHook}, true), Phase::kBackward);
}

TEST(Phase, IsNotToldByFilesThatOnlyEndAlike) {
  const trace::Frame own = python("Adam.step", "/home/user/mytorch/optim/adam.py");
  EXPECT_EQ(phase({&own}), Phase::kOther);
}

trace::Frame operation(std::string name) {
  return {.kind = trace::FrameKind::kOperator, .function = std::move(name), .file = {}};
}

TEST(Phase, IsToldByWhatTorchProfilerListsAmongOperators) {
  const trace::Frame copy = operation("aten::copy_");
  const trace::Frame evaluate = operation("autograd::engine::evaluate_function: AddmmBackward0");
  const trace::Frame step = operation("Optimizer.step#AdamW.step");
  const trace::Frame next = operation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
  EXPECT_EQ(phase({&copy, &evaluate}), Phase::kBackward);
  EXPECT_EQ(phase({&copy, &step}), Phase::kOptimizer);
  EXPECT_EQ(phase({&copy, &next}), Phase::kLoader);
}

TEST(Phase, IsForwardInsideAModule) {
  const trace::Frame copy = operation("aten::copy_");
  const trace::Frame module{.kind = trace::FrameKind::kNative, .function = "nn.Module: Linear_0", .file = {}};
  EXPECT_EQ(phase({&copy, &module, &kMain}), Phase::kForward);
}

TEST(Phase, IsUnknownWhereOnlyOperatorsAre) {
  const trace::Frame copy = operation("aten::copy_");
  EXPECT_EQ(phase({&copy}), std::nullopt);
  EXPECT_EQ(phase({&copy}, true), Phase::kBackward);
  EXPECT_EQ(phase({&copy, &kMain}), Phase::kOther);
}

}  // namespace
}  // namespace turnpike::analyze
