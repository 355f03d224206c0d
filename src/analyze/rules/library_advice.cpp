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
    "Log less: self.log(..., prog_bar=False), or Trainer(enable_progress_bar=False). Lightning reads what is "
    "logged to the progress bar or to a logger: also Trainer(log_every_n_steps=50).";
constexpr const char* kLightningUpload =
    "DataLoader(..., pin_memory=True): Lightning then copies its batches without waiting.";

constexpr std::array kEntries = {
    Entry{"transformers", "trainer.py", Deed::kReadsBack,
          "TrainingArguments(logging_nan_inf_filter=False). The Trainer then looks at the loss only when it logs "
          "(logging_steps=)."},
    Entry{"transformers", "masking_utils.py", Deed::kReadsBack,
          "Pass no attention_mask where no token is padding. It is looked at: does it mask anything?"},
    Entry{"transformers", "generation/", Deed::kReadsBack,
          "More sequences in one batch share the wait. At each token, generate() looks whether all sequences have "
          "ended, and nothing switches that off."},
    Entry{"transformers", "", Deed::kUploads,
          "TrainingArguments(accelerator_config={'non_blocking': True}). It needs dataloader_pin_memory=True, which "
          "is the default."},
    Entry{"accelerate", "", Deed::kUploads,
          "DataLoader(..., pin_memory=True) and DataLoaderConfiguration(non_blocking=True). The latter goes to "
          "Accelerator(dataloader_config=). In Hugging Face's Trainer: accelerator_config={'non_blocking': True}."},
    Entry{"lightning", "", Deed::kReadsBack, kLightningLogging},
    Entry{"pytorch_lightning", "", Deed::kReadsBack, kLightningLogging},
    Entry{"lightning", "", Deed::kUploads, kLightningUpload},
    Entry{"pytorch_lightning", "", Deed::kUploads, kLightningUpload},
    Entry{"timm", "data/loader.py", Deed::kUploads, "timm.data.create_loader(..., pin_memory=True)."},
    Entry{"torch", "amp/grad_scaler.py", Deed::kReadsBack,
          "bfloat16 needs no scaler: torch.autocast(\"cuda\", dtype=torch.bfloat16). GradScaler reads once for each "
          "optimizer whether a gradient overflowed."},
    Entry{"torch", "distributions/", Deed::kReadsBack,
          "Check no arguments: torch.distributions.Distribution.set_default_validate_args(False). Or "
          "validate_args=False of the one distribution."},
    Entry{"torch", "nn/utils/clip_grad.py", Deed::kReadsBack,
          "clip_grad_norm_(..., error_if_nonfinite=False), its default, reads nothing back."},
    Entry{"torchvision", "", Deed::kReadsBack,
          "A larger batch shares the wait. Torchvision's detection models keep the boxes that pass a test, and the "
          "CPU must know how many; nothing switches that off."},
    Entry{"torchdiffeq", "", Deed::kReadsBack,
          "A solver with fixed steps reads nothing back: odeint(..., method=\"rk4\"). One that adapts its steps "
          "decides on the CPU."},
    Entry{"torch_geometric", "utils/loop.py", Deed::kReadsBack,
          "GCNConv(..., add_self_loops=False), with the loops added once by the transform AddSelfLoops()."},
    Entry{"torch_geometric", "utils/_scatter.py", Deed::kReadsBack,
          "Say how many graphs there are: global_mean_pool(x, batch, size=data.num_graphs)."},
    Entry{"linear_operator", "", Deed::kReadsBack,
          "GPyTorch looks whether each Cholesky factor could be made; nothing switches that off."},
    Entry{"torchmetrics", "", Deed::kReadsBack,
          "Call update() in the step, and compute() once at the end of the epoch. With validate_args=False it checks "
          "nothing."},
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
