// Operators from the symbols of native frames.
#include "analyze/model/operators.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/operator_name.h"

namespace turnpike::analyze {
namespace {

trace::Frame native(std::string symbol) {
  return {.kind = trace::FrameKind::kNative, .function = std::move(symbol), .file = "/lib/libtorch_cpu.so"};
}

TEST(OperatorStructure, IsFoundInCallAndRedispatch) {
  EXPECT_EQ(operator_structure("_ZN2at4_ops15to_dtype_layout4callERKNS_6TensorE"), "to_dtype_layout");
  EXPECT_EQ(operator_structure("_ZN2at4_ops5copy_10redispatchEN3c1014DispatchKeySetERNS_6TensorE"), "copy_");
}

TEST(OperatorStructure, IsNotSeenInOtherSymbols) {
  EXPECT_FALSE(operator_structure("_ZN2at6native5copy_ERNS_6TensorE"));
  EXPECT_FALSE(operator_structure("_ZN2at4_ops4item6schemaEv"));
  EXPECT_FALSE(operator_structure("_ZN2at4_ops"));
  EXPECT_FALSE(operator_structure("_ZN2at4_ops99item4callE"));
  EXPECT_FALSE(operator_structure("_ZN2at4_ops99999999999999999999999item4callE"));
  EXPECT_FALSE(operator_structure("_ZN2at4_opsitem4callE"));
  EXPECT_FALSE(operator_structure(""));
}

TEST(OperatorName, LeavesOutTheOverload) {
  EXPECT_EQ(operator_name("to_dtype_layout"), "aten::to");
  EXPECT_EQ(operator_name("index_Tensor"), "aten::index");
  EXPECT_EQ(operator_name("add_Tensor"), "aten::add");
  EXPECT_EQ(operator_name("add__Tensor"), "aten::add_");
  EXPECT_EQ(operator_name("__and___Tensor"), "aten::__and__");
  EXPECT_EQ(operator_name("unique_dim"), "aten::unique_dim");  // an operator of its own, not unique.dim
}

TEST(OperatorName, KeepsNamesWithoutOverload) {
  EXPECT_EQ(operator_name("copy_"), "aten::copy_");
  EXPECT_EQ(operator_name("item"), "aten::item");
  EXPECT_EQ(operator_name("_local_scalar_dense"), "aten::_local_scalar_dense");
}

TEST(OperatorName, KeepsUnknownStructuresVerbatim) {
  EXPECT_EQ(operator_name("some_future_op_Tensor"), "aten::some_future_op_Tensor");
  EXPECT_EQ(operator_name(""), "aten::");
}

TEST(OperatorTable, IsSortedAndEveryNameIsFollowedByItsOverload) {
  struct Entry {
    std::string_view structure;
    std::size_t name_bytes;
  };
  const std::vector<Entry> entries = {
#include "base/operator_table.inc"
  };
  ASSERT_GT(entries.size(), 1500u);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& [structure, name_bytes] = entries[i];
    ASSERT_LT(name_bytes + 1, structure.size());
    EXPECT_EQ(structure[name_bytes], '_') << structure;
    EXPECT_TRUE(i == 0 || entries[i - 1].structure < structure) << structure;
    EXPECT_EQ(operator_name(structure), "aten::" + std::string(structure.substr(0, name_bytes)));
  }
}

TEST(OperatorsOf, TakesTheOutermostAndTheInnermost) {
  const trace::Frame frames[] = {native("cudaMemcpyAsync"), native("_ZN2at4_ops5copy_4callERNS_6TensorE"),
                                 native("_ZN2at4_ops8_to_copy4callERKNS_6TensorE"),
                                 native("_ZN2at4_ops15to_dtype_layout4callERKNS_6TensorE")};
  const std::vector<const trace::Frame*> stack = {&frames[0], &frames[1], &frames[2], &frames[3]};
  const Operators operators = operators_of(stack);
  EXPECT_EQ(operators.outermost, "aten::to");
  EXPECT_EQ(operators.innermost, "aten::copy_");
}

TEST(OperatorsOf, SaysNothingWithoutAnOperator) {
  const trace::Frame frame = native("main");
  const std::vector<const trace::Frame*> stack = {&frame};
  EXPECT_FALSE(operators_of(stack).outermost);
  EXPECT_FALSE(operators_of({}).innermost);
}

TEST(OperatorsOf, IgnoresFramesOfPythonThatAreNamedLikeOne) {
  trace::Frame frame = native("_ZN2at4_ops4item4callERKNS_6TensorE");
  frame.kind = trace::FrameKind::kPython;
  const std::vector<const trace::Frame*> stack = {&frame};
  EXPECT_FALSE(operators_of(stack).outermost);
}

trace::Frame operation(std::string name) {
  return {.kind = trace::FrameKind::kOperator, .function = std::move(name), .file = {}};
}

Operators operators(const std::vector<trace::Frame>& frames) {
  std::vector<const trace::Frame*> pointers;
  for (const trace::Frame& frame : frames) pointers.push_back(&frame);
  return operators_of(pointers);
}

TEST(Operators, AreTakenFromFramesThatNameThem) {
  const auto found = operators({operation("aten::copy_"), operation("aten::_to_copy"), operation("aten::to")});
  EXPECT_EQ(found.innermost, "aten::copy_");
  EXPECT_EQ(found.outermost, "aten::to");
}

TEST(Operators, AreNotTheNodesOfABackwardPass) {
  const auto found = operators({operation("aten::mm"), operation("AddmmBackward0"),
                                operation("autograd::engine::evaluate_function: AddmmBackward0")});
  EXPECT_EQ(found.innermost, "aten::mm");
  EXPECT_EQ(found.outermost, "aten::mm");
  EXPECT_FALSE(operators({operation("torch::autograd::AccumulateGrad")}).outermost);
}

TEST(Operators, EndAtThePythonThatCalledThem) {
  const trace::Frame python{.kind = trace::FrameKind::kPython, .function = "forward", .file = "model.py"};
  const auto found = operators({operation("aten::copy_"), python, operation("mylib::custom")});
  EXPECT_EQ(found.outermost, "aten::copy_");
  EXPECT_EQ(operators({python, operation("mylib::custom")}).outermost, "mylib::custom");
}

}  // namespace
}  // namespace turnpike::analyze
