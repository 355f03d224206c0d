#include "report/html/kernel_family.h"

#include <algorithm>
#include <array>
#include <string>

namespace turnpike::report::html {
namespace {

struct Pattern {
  const char* part;  // lower case
  Class family;
};

// The first match wins: a fused reduction of an attention is attention.
constexpr std::array kPatterns = {
    Pattern{"nccl", Class::kCollective},
    Pattern{"flash", Class::kAttention},
    Pattern{"fmha", Class::kAttention},
    Pattern{"attention", Class::kAttention},
    Pattern{"gemm", Class::kMatmul},
    Pattern{"gemv", Class::kMatmul},
    Pattern{"cutlass", Class::kMatmul},
    Pattern{"xmma", Class::kMatmul},
    Pattern{"matmul", Class::kMatmul},
    Pattern{"conv", Class::kMatmul},
    Pattern{"cublas", Class::kMatmul},
    Pattern{"nvjet", Class::kMatmul},
    Pattern{"splitk", Class::kMatmul},
    Pattern{"reduce", Class::kReduction},
    Pattern{"softmax", Class::kReduction},
    Pattern{"norm", Class::kReduction},
    Pattern{"welford", Class::kReduction},
    Pattern{"argmax", Class::kReduction},
    Pattern{"scan", Class::kReduction},
    Pattern{"sort", Class::kReduction},
    Pattern{"memcpy", Class::kCopyKernel},
    Pattern{"copy", Class::kCopyKernel},
    Pattern{"catarray", Class::kCopyKernel},
    Pattern{"gather", Class::kCopyKernel},
    Pattern{"scatter", Class::kCopyKernel},
    Pattern{"index", Class::kCopyKernel},
    Pattern{"transpose", Class::kCopyKernel},
    Pattern{"elementwise", Class::kElementwise},
    Pattern{"vectorized", Class::kElementwise},
    Pattern{"multi_tensor", Class::kElementwise},
    Pattern{"unrolled", Class::kElementwise},
    Pattern{"fused", Class::kElementwise},
    Pattern{"distribution", Class::kElementwise},
    Pattern{"fill", Class::kElementwise},
};

// A signature repeats its template's arguments at length; what the kernel is stands at its start.
constexpr std::size_t kMaxBytes = 4096;

}  // namespace

Class family_of(std::string_view kernel_name) {
  std::string lower(kernel_name.substr(0, kMaxBytes));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto found = std::find_if(kPatterns.begin(), kPatterns.end(), [&](const Pattern& pattern) {
    return lower.find(pattern.part) != std::string::npos;
  });
  return found == kPatterns.end() ? Class::kKernel : found->family;
}

}  // namespace turnpike::report::html
