// turnpike bench: what this machine can do.
#include <array>
#include <cstdio>

#include "cli/bench_link.h"
#include "cli/commands.h"

namespace turnpike::cli {
namespace {

constexpr const char* kBenchExitCodes =
    "Exit code: 0 measured, 2 wrong usage, 4 no GPU or driver here, or the measurement failed.";

void add_bench_link(Command bench, int& status) {
  const auto options = std::make_shared<BenchLinkOptions>();
  Command link = bench.add_subcommand(
      "link", "The link between host and GPU, which reports compare transfers with; takes a second per GPU");
  link.add_option("--device", options->device, "Only this GPU, counted from 0 (default: all)").type_name("N");
  link.add_flag("--json", options->is_json, "Print JSON instead of a table");
  link.footer(std::string("Later reports on this machine use the result.\n") + kBenchExitCodes);
  link.callback([options, &status] { status = bench_link(*options); });
}

// Moves tensors, so python/turnpike/_bench implements it under the same names. The command in bin/ starts Python for
// these experiments. Without Python it starts this program.
struct TensorExperiment {
  const char* name;
  const char* about;
};

constexpr std::array kTensorExperiments = {
    TensorExperiment{"to",
                     "Host to device: pageable, strided and converted tensors of 64 KiB to 4 GiB; upload in the loop "
                     "and once"},
    TensorExperiment{"small", "Hundreds of small tensors to the device, one by one and packed"},
    TensorExperiment{"d2h", "Device to host, into fresh and into touched memory, 1 MiB to 4 GiB"},
    TensorExperiment{"prefetch", "A training loop whose uploads overlap its computation, also with busy CPUs"},
    TensorExperiment{"loader",
                     "A training loop over a DataLoader with 0, 2 and 8 workers: batches of 1.5, 16 and 64 MiB, and a "
                     "nest"},
    TensorExperiment{"fetch", "A training loop that logs its loss in every step"},
    TensorExperiment{"pin", "Pinning existing memory, and how much host memory each way takes"},
    TensorExperiment{"pipeline", "Copy in, multiply, copy out; and how much GPU memory each way takes"},
    TensorExperiment{"peer", "Copies between two GPUs during computation, on the stream of the sender or the receiver"},
    TensorExperiment{"both", "Both directions at once; memory of each NUMA node"},
    TensorExperiment{"all", "All of these except link"},
};

void add_tensor_experiment(Command bench, const TensorExperiment& experiment, int& status) {
  Command one = bench.add_subcommand(experiment.name, experiment.about);
  one.prefix_command();
  const std::string name = experiment.name;
  one.footer("Requires a Python with PyTorch: `python -m turnpike bench " + name + " --help` shows its options.");
  one.callback([name, &status] {
    std::fprintf(
        stderr,
        "turnpike bench %s: this program has no Python. Run it with the Python in which PyTorch and Turnpike are "
        "installed:  python -m turnpike bench %s\n",
        name.c_str(), name.c_str());
    status = kFailed;
  });
}

}  // namespace

void add_bench(Command turnpike, int& status) {
  Command bench =
      turnpike.add_subcommand("bench", "Measure this machine's limits; without a name, list the experiments");
  bench.footer(kBenchExitCodes);
  bench.subcommand_is_optional();
  add_bench_link(bench, status);
  for (const TensorExperiment& experiment : kTensorExperiments) add_tensor_experiment(bench, experiment, status);
  bench.callback([bench] {
    if (bench.calls_subcommand()) return;
    for (const Command& one : bench.subcommands()) {
      std::printf("turnpike bench %-8s  %s\n", one.name().c_str(), one.about().c_str());
    }
  });
}

}  // namespace turnpike::cli
