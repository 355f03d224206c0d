#include "base/demangle.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(Demangle, WritesSymbolsAsPeopleDo) {
  EXPECT_EQ(demangled("_Z3addIfEvPT_i"), "void add<float>(float*, int)");
}

TEST(Demangle, LeavesOtherNamesAlone) {
  EXPECT_EQ(demangled("ampere_sgemm_128x64_nn"), "ampere_sgemm_128x64_nn");
  EXPECT_EQ(demangled("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangled(""), "");
}

}  // namespace
}  // namespace turnpike
