#include "report/html/kernel_family.h"

#include <gtest/gtest.h>

namespace turnpike::report::html {
namespace {

TEST(KernelFamily, TellsWhatAKernelIsFor) {
  EXPECT_EQ(family_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"), Class::kCollective);
  EXPECT_EQ(family_of("void pytorch_flash::flash_fwd_kernel<...>"), Class::kAttention);
  EXPECT_EQ(family_of("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n"), Class::kMatmul);
  EXPECT_EQ(family_of("nvjet_hsh_128x128_64x6_1x2_h_bz_coopA_TNT"), Class::kMatmul);
  EXPECT_EQ(family_of("void at::native::reduce_kernel<512, 1>"), Class::kReduction);
  EXPECT_EQ(family_of("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>"), Class::kCopyKernel);
  EXPECT_EQ(family_of("void at::native::vectorized_elementwise_kernel<4>"), Class::kElementwise);
  EXPECT_EQ(family_of("my_kernel"), Class::kKernel);
  EXPECT_EQ(family_of(""), Class::kKernel);
}

}  // namespace
}  // namespace turnpike::report::html
