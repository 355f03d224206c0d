// A program that loads an OpenMP runtime before the engine's library. The runtime binds the main thread to one core;
// the engine's threads must have all cores of the process. Exit code 0 if they have.
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "move/cores.h"

extern "C" int omp_get_num_places();  // of libgomp, whose header only GCC finds

namespace {

int cores_of_this_thread() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : -1;
}

int check(int expected) {
  const int of_main = cores_of_this_thread();
  int of_engine = 0;
  std::thread([&of_engine] {
    turnpike::move::use_cores_of_process();
    of_engine = cores_of_this_thread();
  }).join();
  std::printf("places %d, cores of the main thread %d, of a thread of the engine %d, expected %d\n",
              omp_get_num_places(), of_main, of_engine, expected);
  // One core for the main thread, or this program has not shown what it is for.
  return of_main == 1 && of_engine == expected ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return check(std::atoi(argv[1]));
  // The runtime reads its environment when it is loaded, so the check is a second start of this program.
  const std::string cores = std::to_string(cores_of_this_thread());
  setenv("OMP_PROC_BIND", "true", 1);
  setenv("OMP_PLACES", "cores", 1);
  execl("/proc/self/exe", argv[0], cores.c_str(), static_cast<char*>(nullptr));
  std::perror("exec");
  return 2;
}
