// Victims that are profiled by another profiler (profiler.h) while they are recorded.
#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "gpu.h"
#include "profiler.h"
#include "record/session.h"
#include "scenarios.h"

namespace victim {
namespace {

template <typename Function>
Function* find(void* library, const char* name) {
  void* found = library == nullptr ? nullptr : dlsym(library, name);
  if (found != nullptr) return reinterpret_cast<Function*>(found);
  std::fprintf(stderr, "%s is missing: %s\n", name, dlerror());
  std::_Exit(71);
}

struct Profiler {
  explicit Profiler(const char* path) : library(dlopen(path, RTLD_LAZY | RTLD_LOCAL)) {}
  void* library;
  decltype(profiler_begin)* begin = find<decltype(profiler_begin)>(library, "profiler_begin");
  decltype(profiler_begin)* begin_without_subscriber =
      find<decltype(profiler_begin)>(library, "profiler_begin_without_subscriber");
  decltype(profiler_end)* end = find<decltype(profiler_end)>(library, "profiler_end");
  decltype(profiler_tear_down)* end_without_flush =
      find<decltype(profiler_tear_down)>(library, "profiler_end_without_flush");
  decltype(profiler_tear_down)* tear_down = find<decltype(profiler_tear_down)>(library, "profiler_tear_down");
  decltype(profiler_callbacks)* callbacks = find<decltype(profiler_callbacks)>(library, "profiler_callbacks");

  void say_end() const {
    const ProfilerCounts counts = end();
    std::printf("profile: %lu copies, %lu kernels, %lu foreign buffers\n", counts.copies, counts.kernels,
                counts.foreign_buffers);
  }
};

struct Recorder {
  explicit Recorder(const char* path) : library(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {}
  void* library;
  decltype(turnpike_start)* start_ = find<decltype(turnpike_start)>(library, "turnpike_start");
  decltype(turnpike_stop)* stop_ = find<decltype(turnpike_stop)>(library, "turnpike_stop");

  void start(const char* run) const {
    TurnpikeOptions options{};
    options.struct_bytes = sizeof options;
    options.detail = TURNPIKE_DETAIL_FULL;
    options.stacks = 1;
    options.run_directory = run;
    char error[512];
    if (start_(&options, error, sizeof error) != 0) std::printf("start: %s\n", error);
  }
  void stop() const {
    char error[512];
    if (stop_(error, sizeof error) != 0) std::printf("stop: %s\n", error);
  }
};

void work(const Buffers& buffers, std::size_t bytes) {
  upload(buffers, 20, bytes);
  MUST(cudaDeviceSynchronize());
}

void profile(const Profiler& profiler, const Buffers& buffers, std::size_t bytes) {
  const int refusal = profiler.begin();
  if (refusal != 0) std::printf("refused: %d\n", refusal);
  work(buffers, bytes);
  profiler.say_end();
}

}  // namespace

int profiled(Arguments arguments) {
  const bool is_late = std::strcmp(arguments[1], "late") == 0;
  if (!is_late) dlopen(arguments[0], RTLD_LAZY | RTLD_LOCAL);
  const Buffers buffers;
  work(buffers, 21);
  const Profiler profiler(arguments[0]);
  // Until the recorder has seen the library.
  if (is_late) std::this_thread::sleep_for(std::chrono::milliseconds(3000));
  profile(profiler, buffers, 22);
  work(buffers, 23);
  profile(profiler, buffers, 24);
  work(buffers, 25);
  std::printf("checksum %lu\n", checksum(buffers));
  return 0;
}

int profiled_without_subscriber(Arguments arguments) {
  const Profiler profiler(arguments[0]);
  const Buffers buffers;
  work(buffers, 21);
  profiler.begin_without_subscriber();
  work(buffers, 22);
  profiler.say_end();
  work(buffers, 23);
  // In the second one nothing happens, and it ends without a flush.
  profiler.begin_without_subscriber();
  profiler.end_without_flush();
  for (int i = 0; i < 200; ++i) {
    upload(buffers, 1, 25);
    MUST(cudaDeviceSynchronize());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return 0;
}

int profiled_and_torn_down(Arguments arguments) {
  const Profiler profiler(arguments[0]);
  const Buffers buffers;
  work(buffers, 21);
  profile(profiler, buffers, 22);
  profiler.tear_down();
  work(buffers, 23);
  std::printf("heard of the calls: %d\n", profiler.callbacks() > 0);
  const std::uint64_t callbacks = profiler.callbacks();
  work(buffers, 24);
  std::printf("after the teardown: %lu\n", profiler.callbacks() - callbacks);
  return 0;
}

int sessions_and_profiles(Arguments arguments) {
  const Recorder recorder(arguments[0]);
  const Profiler profiler(arguments[1]);
  const Buffers buffers;
  const std::string_view order = arguments[2];
  const char* const* run = &arguments[3];
  std::size_t bytes = 100;
  for (const char letter : order) {
    switch (letter) {
      case '[':
        recorder.start(*run++);
        break;
      case ']':
        recorder.stop();
        break;
      case '(':
        if (const int refusal = profiler.begin(); refusal != 0) std::printf("refused: %d\n", refusal);
        break;
      case ')':
        profiler.say_end();
        break;
      default:
        work(buffers, ++bytes);
    }
  }
  return 0;
}

}  // namespace victim
