// turnpike bench: what this machine can do.
#include <array>
#include <cstdio>

#include "cli/bench_link.h"
#include "cli/commands.h"

namespace turnpike::cli {
namespace {

constexpr const char* kExitCodes =
    "Exit code: 0 measured; 2 wrong usage; 4 there is nothing to measure here (no GPU, no driver), or it failed.";

void add_bench_link(CLI::App& bench, int& status) {
  const auto options = std::make_shared<BenchLinkOptions>();
  CLI::App* link = bench.add_subcommand(
      "link", "The link between host and device: what a report compares each transfer with. Takes a second per device");
  link->add_option("--device", options->device, "This device only, counted from 0 (default: all)")->type_name("N");
  link->add_flag("--json", options->is_json, "Print JSON instead of a table");
  link->footer(std::string("The result is kept for later reports on this machine.\n") + kExitCodes);
  link->callback([options, &status] { status = bench_link(*options); });
}

// Moves tensors, so it is Python's (python/turnpike/_bench, which holds the same names): the console script runs these
// itself, and this program only when it was started without Python.
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
    TensorExperiment{"prefetch", "A training loop with its uploads beside the computation; busy CPUs"},
    TensorExperiment{"loader",
                     "A training loop over a DataLoader with 0, 2 and 8 workers: batches of 1.5, 16 and 64 MiB, and a "
                     "nest"},
    TensorExperiment{"fetch", "A training loop that logs its loss in every step"},
    TensorExperiment{"pin", "Page-locking memory that exists, and the host memory that each way takes"},
    TensorExperiment{"pipeline",
                     "Copy in, multiply, copy out: sequential, streamed, and the GPU memory that each way takes"},
    TensorExperiment{"peer",
                     "Copies between two GPUs beside computation: streams of sender and receiver, non_blocking (2 "
                     "GPUs)"},
    TensorExperiment{"both", "Both directions at once; memory of each NUMA node"},
    TensorExperiment{"all", "All of these but link"},
};

void add_tensor_experiment(CLI::App& bench, const TensorExperiment& experiment, int& status) {
  CLI::App* one = bench.add_subcommand(experiment.name, experiment.about);
  one->allow_extras();
  one->prefix_command();
  const std::string name = experiment.name;
  one->footer("Needs Python with PyTorch: `python -m turnpike bench " + name + " --help` tells more.");
  one->callback([name, &status] {
    std::fprintf(stderr,
                 "turnpike bench %s: needs Python with PyTorch, and this is the native program alone. Run, with the "
                 "Python in which PyTorch and Turnpike are installed:  python -m turnpike bench %s\n",
                 name.c_str(), name.c_str());
    status = kFailed;
  });
}

}  // namespace

void add_bench(CLI::App& app, int& status) {
  CLI::App* bench =
      app.add_subcommand("bench", "Measure this machine's limits; without a name: list what can be measured");
  bench->footer(kExitCodes);
  bench->require_subcommand(0, 1);
  add_bench_link(*bench, status);
  for (const TensorExperiment& experiment : kTensorExperiments) add_tensor_experiment(*bench, experiment, status);
  bench->callback([bench] {
    if (!bench->get_subcommands().empty()) return;
    for (const CLI::App* one : bench->get_subcommands([](CLI::App*) { return true; })) {
      std::printf("turnpike bench %-8s %s\n", one->get_name().c_str(), one->get_description().c_str());
    }
  });
}

}  // namespace turnpike::cli
