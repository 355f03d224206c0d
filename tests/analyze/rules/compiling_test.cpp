// Where torch.compile is advised, for what, and why it is not elsewhere.
#include "analyze/rules/compiling.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/graph/played.h"
#include "analyze/rules/launch_bound.h"
#include "analyze/rules/loop_program.h"

namespace turnpike::analyze {
namespace {

using Code = Loop::Code;

// The finding about compiling; nullopt: nothing of the kind is advised.
std::optional<Finding> compiling_of(const Loop& loop) {
  for (const Finding& finding : loop_program(loop).findings("launch_bound")) {
    if (finding.advice.find("compile") != std::string::npos) return finding;
  }
  return std::nullopt;
}

// "": something is advised, or nothing is the matter.
std::string reason_of(const Loop& loop) {
  const bool is_advised = compiling_of(loop).has_value();
  const Played played(loop_program(loop));
  const auto reason = why_not_compiled(played.model());
  EXPECT_NE(reason.has_value(), is_advised);
  return reason.value_or("");
}

std::string advice_of(const Loop& loop) {
  const auto finding = compiling_of(loop);
  return finding ? finding->advice : "none";
}

TEST(Compiling, KeepsTheNamesOfAModulesState) {
  for (const char* version : {"", "2.2.0", "2.11.0+cu130", "3.0.1", "a build of mine"}) {
    EXPECT_NE(advice_of({.torch_version = version}).find(" model.compile(mode=\"reduce-overhead\")"), std::string::npos)
        << version;
  }
  for (const char* version : {"2.1.2+cu121", "2.0.0", "1.13.1"}) {
    EXPECT_NE(advice_of({.torch_version = version}).find("model = torch.compile(model, mode=\"reduce-overhead\")"),
              std::string::npos)
        << version;
  }
}

TEST(Compiling, IsNotForTheRecurrentLayersOfCudnn) {
  for (const char* kernel : {"_Z24RNN_blockPersist_fp_LSTMI6__halfE", "elemWiseRNNcell", "LSTM_elementWise_fp",
                             "void GRU_elementWise_fp<float>"}) {
    const std::string reason = reason_of({.other_kernels = std::vector<std::string>(12, kernel)});
    EXPECT_EQ(reason,
              "20 % of the model's work is recurrent layers of cuDNN (nn.LSTM, nn.GRU, nn.RNN), and torch.compile "
              "leaves these as they are: each ends a graph")
        << kernel;
  }
  EXPECT_NE(reason_of({.inner_frames = {python_frame("LSTM.forward", kTorch + "nn/modules/rnn.py", 1000)}}), "");
  EXPECT_NE(
      reason_of({.inner_frames = {{.kind = trace::FrameKind::kOperator, .function = "aten::_cudnn_rnn", .file = ""}}}),
      "");
  EXPECT_EQ(reason_of({.inner_frames = {python_frame("LSTMCell.forward", kTorch + "nn/modules/rnn.py", 1500)}}), "")
      << "the compiler knows a cell";
}

// As torch.profiler has it, with an operator for each launch.
TEST(Compiling, KnowsRecurrentLayersByTheOperatorsOfLaunches) {
  const auto reason_with = [](const std::string& name) {
    StepProgram program;
    ProcessBuilder& builder = program.builder();
    const std::uint32_t stack = builder.stack({builder.operator_frame(name)});
    std::int64_t now_ns = 0;
    std::uint32_t correlation = 0;
    for (int step = 0; step < 8; ++step) {
      const std::int64_t start_ns = now_ns;
      for (int i = 0; i < 40; ++i) {
        builder.call({.kind = trace::CallKind::kLaunch,
                      .start_ns = now_ns,
                      .end_ns = now_ns + 5 * kUs,
                      .correlation = ++correlation,
                      .stack = i < 8 ? stack : trace::kNoId,
                      .name = "cudaLaunchKernel",
                      .device = 0});
        now_ns += 10 * kUs;
        builder.kernel({.start_ns = now_ns, .end_ns = now_ns + 2 * kUs, .correlation = correlation});
      }
      builder.range("step", start_ns, now_ns);
    }
    return why_not_compiled(Played(std::move(program)).model()).value_or("");
  };
  for (const char* name : {"aten::_cudnn_rnn", "aten::lstm", "aten::gru", "aten::_cudnn_rnn_backward"}) {
    EXPECT_TRUE(reason_with(name).starts_with("20 % of the model's work is recurrent")) << reason_with(name);
  }
  EXPECT_EQ(reason_with("aten::linear"), "");
}

TEST(Compiling, ReachesLessAroundOneRecurrentLayer) {
  const auto finding = compiling_of({.other_kernels = {"LSTM_elementWise_fp"}});
  ASSERT_TRUE(finding);
  EXPECT_NEAR(static_cast<double>(*finding->saving_step_low_ns), 0.4 * static_cast<double>(*finding->saving_step_ns),
              1);
  EXPECT_NE(finding->saving_reason.find("recurrent layers of cuDNN, where a graph ends"), std::string::npos)
      << finding->saving_reason;
}

TEST(Compiling, IsNotForCodeThatIsCompiled) {
  const std::string compiled =
      "the model is compiled already, though without CUDA graphs, which mode=\"reduce-overhead\" would add";
  EXPECT_EQ(reason_of({.other_kernels = std::vector<std::string>(15, "triton_poi_fused_relu_0")}), compiled);
  const std::vector<trace::Frame> frames = {
      python_frame("call", "/tmp/torchinductor_me/qw/cqwza3ckqlxyzcqwza3ckqlxyzcqwza3ckqlxyzcqwza3ckqlxyz.py", 30),
      python_frame("CompiledFunction.forward", kTorch + "_functorch/_aot_autograd/runtime_wrappers.py", 2000),
      python_frame("CompiledFxGraph.__call__", kTorch + "_inductor/output_code.py", 600),
      python_frame("OptimizedModule.__call__", kTorch + "_dynamo/eval_frame.py", 470)};
  for (const trace::Frame& frame : frames) EXPECT_EQ(reason_of({.inner_frames = {frame}}), compiled) << frame.file;
}

TEST(Compiling, TakesNoFewKernelsOfTritonForACompiledModel) {
  EXPECT_EQ(reason_of({.other_kernels = {"triton_tem_fused_flex_attention_0", "triton_poi_fused_1"}}), "");
  // What PyTorch keeps out of the compiler passes through its files as well.
  EXPECT_EQ(reason_of({.inner_frames = {python_frame("DisableContext.__call__.<locals>._fn",
                                                     kTorch + "_dynamo/eval_frame.py", 1240)}}),
            "");
}

// Each step: a graph of 40 kernels, and twelve launches.
std::optional<std::string> reason_with_graphs(const std::string& kernel) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  std::int64_t now_ns = 0;
  std::uint32_t correlation = 0;
  const auto call = [&](trace::CallKind kind) {
    builder.call({.kind = kind,
                  .start_ns = now_ns,
                  .end_ns = now_ns + 8 * kUs,
                  .correlation = ++correlation,
                  .name = kind == trace::CallKind::kLaunch ? "cudaLaunchKernel" : "cudaGraphLaunch",
                  .device = 0});
    now_ns += 8 * kUs;
  };
  for (int step = 0; step < 8; ++step) {
    const std::int64_t start_ns = now_ns;
    call(trace::CallKind::kGraphLaunch);
    for (int i = 0; i < 40; ++i, now_ns += kUs)
      builder.kernel({.start_ns = now_ns, .end_ns = now_ns + kUs / 2, .correlation = correlation, .name = kernel});
    for (int i = 0; i < 12; ++i, now_ns += 10 * kUs) {
      call(trace::CallKind::kLaunch);
      builder.kernel({.start_ns = now_ns, .end_ns = now_ns + kUs, .correlation = correlation});
    }
    builder.range("step", start_ns, now_ns);
  }
  return why_not_compiled(Played(std::move(program)).model());
}

TEST(Compiling, SaysThatCudaGraphsLaunchAlready) {
  EXPECT_EQ(reason_with_graphs("triton_poi_fused_relu_0"),
            "the model is compiled already, and CUDA graphs launch most of its kernels");
  EXPECT_EQ(reason_with_graphs("_Z6kernelv"), "CUDA graphs launch most of the model's kernels already");
}

TEST(Compiling, SaysWhatEndsAGraph) {
  EXPECT_EQ(reason_of({.reads_in_model = 3}),
            "values are read back 3 times a step, which would cut the model into graphs too small to gain");
  EXPECT_EQ(reason_of({.steps = 12, .are_kernels_many_in_odd_steps = true}),
            "steps differ in their launches, as they do where shapes change, and a graph replays one shape");
  EXPECT_EQ(reason_of({.steps = 12, .optimizer_every = 2}),
            "several passes share one step of the optimizer, and each replay overwrites what the one before returned");
}

TEST(Compiling, HasNoReasonWhereLaunchesAreNotTheMatter) {
  StepProgram program;
  program.steps(8, [](int) {});
  EXPECT_EQ(why_not_compiled(Played(std::move(program)).model()), std::nullopt);
  StepProgram busy;
  busy.steps(8, [&](int) {
    for (int i = 0; i < 24; ++i) busy.kernel(200 * kUs);
  });
  EXPECT_EQ(why_not_compiled(Played(std::move(busy)).model()), std::nullopt);
}

TEST(Compiling, NamesTheFunctionThatLaunchesWhereThereIsNoModule) {
  const auto finding = compiling_of({.code = Code::kFunction, .optimizer_every = 0});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->site, "net.py:12");
  EXPECT_EQ(finding->file, "/home/me/net.py");
  EXPECT_EQ(finding->line, 12u);
  EXPECT_EQ(finding->function, "Net.__init__.<locals>.predict");
  EXPECT_EQ(
      finding->advice,
      "Launch less often: @torch.compile(mode=\"reduce-overhead\") above def predict (net.py:12). It replays what "
      "the function launches as CUDA graphs. Or give each launch more to do: a larger batch.");
  EXPECT_GT(finding->saving_pct.value_or(0), 60);
  EXPECT_NE(finding->evidence.find("; launched as one, what predict launches would take 80 % less of a step"),
            std::string::npos)
      << finding->evidence;
}

// A step of training calls it, and the optimizer, whose launches no compiler takes into the graph.
TEST(Compiling, NamesNoFunctionThatTrains) {
  const trace::Frame train_step = python_frame("train_step", "/home/me/train.py", 50);
  const Loop predicting{.code = Code::kFunction, .optimizer_every = 0, .outer_frames = {train_step}};
  EXPECT_EQ(compiling_of(predicting).value_or(Finding{}).site, "train.py:50");
  const Loop training{.code = Code::kFunction, .outer_frames = {train_step}};
  EXPECT_EQ(compiling_of(training).value_or(Finding{}).site, "net.py:12");
}

// main is on the stack all the time: it may hold the loop.
TEST(Compiling, NamesNoPlaceWhereTheLoopItselfLaunches) {
  const auto finding = compiling_of({.code = Code::kLineOfLoop, .optimizer_every = 0});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->site, "");
  EXPECT_EQ(finding->advice,
            "Launch less often: @torch.compile(mode=\"reduce-overhead\") above the function of a step. Most "
            "launches come from main (train.py:4). It replays what the function launches as CUDA graphs. Or "
            "give each launch more to do: a larger batch.");
}

// One sample of a module, wherever in the run, says that there are some.
TEST(Compiling, KnowsAModuleByASampleBeforeTheSteps) {
  StepProgram program = loop_program({.code = Code::kFunction, .optimizer_every = 0});
  ProcessBuilder& builder = program.builder();
  builder.sample(-1, builder.stack({builder.python("Module._call_impl", kTorch + "nn/modules/module.py", 1783)}));
  EXPECT_TRUE(program.findings("launch_bound").empty());
}

TEST(Compiling, CountsTheReadsOfAFunction) {
  EXPECT_EQ(reason_of({.code = Code::kFunction, .reads_in_model = 3, .optimizer_every = 0}),
            "values are read back 3 times a step, which would cut the function into graphs too small to gain");
  const auto once = compiling_of({.code = Code::kFunction, .reads_in_model = 1, .optimizer_every = 0});
  ASSERT_TRUE(once);
  EXPECT_NE(once->saving_reason.find("it reads a value back once a step, where a graph ends"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::analyze
