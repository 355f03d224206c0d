// The program that the recorder's tests run: the first argument says which of the victims it is.
#include <cstdio>
#include <cstring>

#include "scenarios.h"

namespace {

struct Scenario {
  const char* name;
  int (*run)(victim::Arguments);
};

constexpr Scenario kScenarios[] = {
    {"every_kind", victim::every_kind},
    {"uploads", victim::uploads},
    {"paced", victim::paced},
    {"waited_for", victim::waited_for},
    {"endless", victim::endless},
    {"many", victim::many},
    {"threads", victim::threads},
    {"no_keys", victim::no_keys},
    {"short_threads", victim::short_threads},
    {"graph", victim::graph},
    {"contents", victim::contents},
    {"asked_memory", victim::asked_memory},
    {"grow", victim::grow},
    {"allocations", victim::allocations},
    {"ranges", victim::ranges},
    {"numbered_ranges", victim::numbered_ranges},
    {"late_ranges", victim::late_ranges},
    {"steps", victim::steps},
    {"keeps", victim::keeps},
    {"two_keep", victim::two_keep},
    {"profiler_range", victim::profiler_range},
    {"kernel_range", victim::kernel_range},
    {"nvtx_range", victim::nvtx_range},
    {"exit_by", victim::exit_by},
    {"exit_from_handler", victim::exit_from_handler},
    {"vfork_child", victim::vfork_child},
    {"fork_before", victim::fork_before},
    {"fork_after", victim::fork_after},
    {"fork_storm", victim::fork_storm},
    {"run_self", victim::run_self},
    {"other_subscriber", victim::other_subscriber},
    {"steal_buffers", victim::steal_buffers},
    {"profiler_inside", victim::profiler_inside},
    {"profiled", victim::profiled},
    {"profiled_without_subscriber", victim::profiled_without_subscriber},
    {"profiled_and_torn_down", victim::profiled_and_torn_down},
    {"sessions_and_profiles", victim::sessions_and_profiles},
    {"sessions", victim::sessions},
    {"sessions_amid", victim::sessions_amid},
    {"exit_later", victim::exit_later},
    {"stress", victim::stress},
    {"hung_stop", victim::hung_stop},
    {"ranges_after_stop", victim::ranges_after_stop},
    {"managed_before", victim::managed_before},
    {"ranges_before", victim::ranges_before},
    {"bad_session", victim::bad_session},
    {"session_at_exit", victim::session_at_exit},
    {"constructor_waits", victim::constructor_waits},
    {"loads_and_unloads", victim::loads_and_unloads},
    {"sandboxed", victim::sandboxed},
};

}  // namespace

// ThreadSanitizer asks for it. It does not see that a thread's end comes before glibc frees that thread's variables,
// when a new thread takes over its stack; nor the locks of the loader, which guard its list of modules.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:_dl_deallocate_tls\nrace:dl_iterate_phdr_cb\nrace:_dl_new_object\n";
}

int main(int argc, char** argv) {
  for (const Scenario& scenario : kScenarios) {
    if (argc > 1 && std::strcmp(argv[1], scenario.name) == 0) {
      return scenario.run(victim::Arguments(argv + 2, static_cast<std::size_t>(argc - 2)));
    }
  }
  std::fprintf(stderr, "no such victim\n");
  return 64;
}
