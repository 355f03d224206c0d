// Native names as a person reads them.
#include "analyze/model/symbols.h"

#include <gtest/gtest.h>

namespace turnpike::analyze {
namespace {

TEST(ShortFunctionName, LeavesOutParametersAndTemplateArguments) {
  EXPECT_EQ(short_function_name("_ZN7Trainer4stepEi"), "Trainer::step");
  EXPECT_EQ(short_function_name("_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEE"),
            "torch::autograd::Engine::evaluate_function");
}

TEST(ShortFunctionName, LeavesOutTheReturnTypeOfATemplate) {
  EXPECT_EQ(short_function_name("_Z6uploadIfEvPT_i"), "upload");  // void upload<float>(float*, int)
}

TEST(ShortFunctionName, LeavesOutConstAndAnonymousNamespaces) {
  EXPECT_EQ(short_function_name("_ZNK7Trainer4sizeEv"), "Trainer::size");
  EXPECT_EQ(short_function_name("_ZN12_GLOBAL__N_16uploadEv"), "upload");
}

TEST(ShortFunctionName, KeepsNamesThatAreNotMangled) {
  EXPECT_EQ(short_function_name("main"), "main");
  EXPECT_EQ(short_function_name(""), "");
  EXPECT_EQ(short_function_name("_Znot_a_symbol"), "_Znot_a_symbol");
}

TEST(ShortFunctionName, ShowsOperatorsWhole) {
  EXPECT_EQ(short_function_name("_ZN1AclEi"), "A::operator()(int)");
}

TEST(FileNameOf, IsWhatStandsBehindTheLastSlash) {
  EXPECT_EQ(file_name_of("/a/b/train.py"), "train.py");
  EXPECT_EQ(file_name_of("train.py"), "train.py");
  EXPECT_EQ(file_name_of("/a/"), "");
}

}  // namespace
}  // namespace turnpike::analyze
