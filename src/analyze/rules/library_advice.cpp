// One table. Each entry is tested against a recording or the source of the library.
#include "analyze/rules/library_advice.h"

#include <algorithm>
#include <array>

namespace turnpike::analyze {
namespace {

// What the library does there.
enum class Deed : std::uint8_t { kReadsBack, kUploads };

struct Entry {
  std::string_view library;
  std::string_view path;  // how the path inside of the package begins; empty: anywhere
  Deed deed;
  const char* advice;
};

constexpr const char* kLightningLogging =
    "Lightning reads what is logged to the progress bar or a logger: self.log(..., prog_bar=False), "
    "Trainer(log_every_n_steps=50) or Trainer(enable_progress_bar=False).";
constexpr const char* kLightningUpload =
    "DataLoader(..., pin_memory=True): Lightning then copies its batches without waiting.";

constexpr std::array kEntries = {
    Entry{"transformers", "trainer.py", Deed::kReadsBack,
          "TrainingArguments(logging_nan_inf_filter=False): the Trainer then looks at the loss only when it logs "
          "(logging_steps=)."},
    Entry{"transformers", "masking_utils.py", Deed::kReadsBack,
          "transformers looks whether attention_mask masks anything. Pass none where no token is padding."},
    Entry{"transformers", "generation/", Deed::kReadsBack,
          "generate() looks at each token whether all sequences have ended, and nothing switches that off. More "
          "sequences in one batch share the wait."},
    Entry{
        "transformers", "", Deed::kUploads,
        "TrainingArguments(dataloader_pin_memory=True), its default, with accelerator_config={'non_blocking': True}."},
    Entry{"accelerate", "", Deed::kUploads,
          "DataLoader(..., pin_memory=True), and Accelerator(dataloader_config=DataLoaderConfiguration("
          "non_blocking=True)); in Hugging Face's Trainer accelerator_config={'non_blocking': True}."},
    Entry{"lightning", "", Deed::kReadsBack, kLightningLogging},
    Entry{"pytorch_lightning", "", Deed::kReadsBack, kLightningLogging},
    Entry{"lightning", "", Deed::kUploads, kLightningUpload},
    Entry{"pytorch_lightning", "", Deed::kUploads, kLightningUpload},
    Entry{"timm", "data/loader.py", Deed::kUploads, "timm.data.create_loader(..., pin_memory=True)."},
    Entry{"torch", "amp/grad_scaler.py", Deed::kReadsBack,
          "GradScaler reads once for each optimizer whether a gradient overflowed. bfloat16 needs no scaler: "
          "torch.autocast(\"cuda\", dtype=torch.bfloat16)."},
    Entry{"torch", "distributions/", Deed::kReadsBack,
          "The distribution checks its arguments: torch.distributions.Distribution.set_default_validate_args(False), "
          "or validate_args=False."},
    Entry{"torch", "nn/utils/clip_grad.py", Deed::kReadsBack,
          "clip_grad_norm_(..., error_if_nonfinite=False), its default, reads nothing back."},
    Entry{"torchvision", "", Deed::kReadsBack,
          "torchvision's detection models keep the boxes that pass a test, and the CPU must know how many; nothing "
          "switches that off. A larger batch shares the wait."},
    Entry{"torchdiffeq", "", Deed::kReadsBack,
          "A solver that adapts its steps decides on the CPU. One with fixed steps reads nothing back: odeint(..., "
          "method=\"rk4\")."},
    Entry{"torch_geometric", "utils/loop.py", Deed::kReadsBack,
          "GCNConv(..., add_self_loops=False), with the loops added once by the transform AddSelfLoops()."},
    Entry{"torch_geometric", "utils/_scatter.py", Deed::kReadsBack,
          "Say how many graphs there are: global_mean_pool(x, batch, size=data.num_graphs)."},
    Entry{"linear_operator", "", Deed::kReadsBack,
          "GPyTorch looks whether each Cholesky factor could be made; nothing switches that off."},
    Entry{"torchmetrics", "", Deed::kReadsBack,
          "update() in the step, compute() once at the end of the epoch; validate_args=False skips its checks."},
};

std::optional<Deed> deed_of(std::string_view rule) {
  if (rule == "implicit_sync" || rule == "blocking_copy") return Deed::kReadsBack;
  if (rule == "pageable_async_copy") return Deed::kUploads;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> library_advice(std::string_view rule, std::string_view library_site) {
  constexpr std::string_view kBetween = ": ";
  const auto between = library_site.find(kBetween);
  const auto deed = deed_of(rule);
  if (between == std::string_view::npos || !deed) return std::nullopt;
  const std::string_view library = library_site.substr(0, between);
  const std::string_view path = library_site.substr(between + kBetween.size());
  const auto* const found = std::find_if(kEntries.begin(), kEntries.end(), [&](const Entry& entry) {
    return entry.library == library && path.starts_with(entry.path) && entry.deed == *deed;
  });
  return found == kEntries.end() ? std::nullopt : std::optional<std::string>(found->advice);
}

}  // namespace turnpike::analyze
