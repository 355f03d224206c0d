// turnpike bench: what this machine can do.
#include <cstdio>

#include "cli/bench_link.h"
#include "cli/commands.h"

namespace turnpike::cli {
namespace {

constexpr const char* kExitCodes =
    "Exit code: 0 measured; 4 there is nothing to measure here (no GPU, no driver), or it failed.";

void add_bench_link(CLI::App& bench, int& status) {
  const auto options = std::make_shared<BenchLinkOptions>();
  CLI::App* link = bench.add_subcommand(
      "link", "The link between host and device: what a report compares each transfer with. Takes a second per device");
  link->add_option("--device", options->device, "This device only, counted from 0 (default: all)")->type_name("N");
  link->add_flag("--json", options->is_json, "Print JSON instead of a table");
  link->footer(std::string("The result is kept for later reports on this machine.\n") + kExitCodes);
  link->callback([options, &status] { status = bench_link(*options); });
}

}  // namespace

void add_bench(CLI::App& app, int& status) {
  CLI::App* bench =
      app.add_subcommand("bench", "Measure this machine's limits; without a name: list what can be measured");
  bench->footer(kExitCodes);
  bench->require_subcommand(0, 1);
  add_bench_link(*bench, status);
  bench->callback([bench] {
    if (!bench->get_subcommands().empty()) return;
    for (const CLI::App* one : bench->get_subcommands([](CLI::App*) { return true; })) {
      std::printf("turnpike bench %-8s %s\n", one->get_name().c_str(), one->get_description().c_str());
    }
  });
}

}  // namespace turnpike::cli
