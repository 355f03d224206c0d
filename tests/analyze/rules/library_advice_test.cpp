// The advice for users of libraries, at the lines that bench/field recorded.
#include "analyze/rules/library_advice.h"

#include <gtest/gtest.h>

#include <ostream>

namespace turnpike::analyze {
namespace {

struct Line {
  const char* rule;
  const char* library_site;
  const char* says;  // nullptr: nothing of its own
};

void PrintTo(const Line& line, std::ostream* out) {
  *out << line.rule << " at " << line.library_site;
}

class LibraryAdvice : public testing::TestWithParam<Line> {};

TEST_P(LibraryAdvice, NamesWhatTheUserCanChange) {
  const auto advice = library_advice(GetParam().rule, GetParam().library_site);
  ASSERT_EQ(advice.has_value(), GetParam().says != nullptr);
  if (advice) {
    EXPECT_NE(advice->find(GetParam().says), std::string::npos) << *advice;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lines, LibraryAdvice,
    testing::Values(Line{"implicit_sync", "transformers: trainer.py:1847", "logging_nan_inf_filter=False"},
                    Line{"implicit_sync", "transformers: masking_utils.py:331", "attention_mask"},
                    Line{"implicit_sync", "transformers: generation/utils.py:383", "More sequences in one batch"},
                    Line{"pageable_async_copy", "transformers: trainer.py:1847", "dataloader_pin_memory=True"},
                    Line{"pageable_async_copy", "accelerate: utils/operations.py:160",
                         "DataLoaderConfiguration(non_blocking=True)"},
                    Line{"implicit_sync", "lightning: fabric/utilities/apply_func.py:134", "prog_bar=False"},
                    Line{"blocking_copy", "pytorch_lightning: x.py:1", "log_every_n_steps"},
                    Line{"pageable_async_copy", "lightning: fabric/utilities/apply_func.py:104", "pin_memory=True"},
                    Line{"pageable_async_copy", "pytorch_lightning: x.py:1", "pin_memory=True"},
                    Line{"pageable_async_copy", "timm: data/loader.py:139", "create_loader(..., pin_memory=True)"},
                    Line{"implicit_sync", "torch: amp/grad_scaler.py:371", "bfloat16 needs no scaler"},
                    Line{"implicit_sync", "torch: distributions/distribution.py:76",
                         "set_default_validate_args(False)"},
                    Line{"implicit_sync", "torch: nn/utils/clip_grad.py:80", "error_if_nonfinite=False"},
                    Line{"implicit_sync", "torchvision: ops/boxes.py:48", "A larger batch shares the wait"},
                    Line{"implicit_sync", "torchdiffeq: _impl/rk_common.py:70", "method=\"rk4\""},
                    Line{"implicit_sync", "torch_geometric: utils/loop.py:650", "add_self_loops=False"},
                    Line{"implicit_sync", "torch_geometric: utils/_scatter.py:48", "size=data.num_graphs"},
                    Line{"implicit_sync", "linear_operator: utils/cholesky.py:22", "nothing switches that off"},
                    Line{"implicit_sync", "torchmetrics: metric.py:1", "compute() once at the end"},
                    Line{"implicit_sync", "torch: serialization.py:1311", nullptr},
                    Line{"implicit_sync", "timm: data/loader.py:139", nullptr},  // of the other deed
                    Line{"repeated_upload", "timm: data/loader.py:139", nullptr},
                    Line{"implicit_sync", "torchvisionary: ops/boxes.py:48", nullptr},
                    Line{"implicit_sync", "train.py:48", nullptr}));

}  // namespace
}  // namespace turnpike::analyze
