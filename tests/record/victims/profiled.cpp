// Victims that are profiled by another profiler (profiler.h) while they are recorded.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

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
  decltype(turnpike_detach)* detach = find<decltype(turnpike_detach)>(library, "turnpike_detach");
  decltype(turnpike_is_attached)* is_attached = find<decltype(turnpike_is_attached)>(library, "turnpike_is_attached");

  void start(const char* run, std::uint32_t detail = TURNPIKE_DETAIL_FULL) const {
    TurnpikeOptions options{};
    options.struct_bytes = sizeof options;
    options.detail = detail;
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

cudaGraphExec_t captured_graph(const Buffers& buffers) {
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreate(&stream));
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  MUST(cudaMemcpyAsync(buffers.device, buffers.pinned, 2001, cudaMemcpyHostToDevice, stream));
  cudaGraph_t captured = nullptr;
  MUST(cudaStreamEndCapture(stream, &captured));
  cudaGraphExec_t exec = nullptr;
  MUST(cudaGraphInstantiate(&exec, captured, 0));
  return exec;
}

cudaEvent_t made_event() {
  cudaEvent_t event = nullptr;
  MUST(cudaEventCreate(&event));
  return event;
}

// Threads that do something once, and sleep until they are all joined.
class Others {
 public:
  template <typename Do>
  void add(const char* name, Do act) {
    std::atomic<bool> is_asleep{false};
    threads_.emplace_back([&, this] {
      if (name != nullptr) pthread_setname_np(pthread_self(), name);
      act();
      std::unique_lock lock(mutex_);
      is_asleep = true;
      ended_.wait(lock, [this] { return is_over_.load(); });
    });
    while (!is_asleep) std::this_thread::yield();
    // The lock is free when it sleeps.
    const std::lock_guard lock(mutex_);
  }
  void add_busy() {
    threads_.emplace_back([this] {
      while (!is_over_) {
      }
    });
  }
  void join() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    ended_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    is_over_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> threads_;
};

void fork_a_child(const Recorder& recorder) {
  const pid_t child = fork();
  if (child == 0) {
    recorder.stop();
    _exit(recorder.is_attached() != 0 ? 8 : 7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) std::printf("child: %d\n", status);
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
  cudaGraphExec_t graph = nullptr;
  Others others;
  for (const char letter : order) {
    switch (letter) {
      case '{':
        recorder.start(*run++, TURNPIKE_DETAIL_TRANSFERS);
        break;
      case '!':
        recorder.start("/proc/nowhere/run");
        break;
      case 'x': {
        const int is_detached = recorder.detach();
        std::printf("detached: %d %d\n", is_detached, recorder.is_attached());
        break;
      }
      case 'd':
        setenv(TURNPIKE_ENV_DETACH, "1", 1);
        break;
      case 'c':
        graph = captured_graph(buffers);
        break;
      case 'g':
        MUST(cudaGraphLaunch(graph, nullptr));
        MUST(cudaDeviceSynchronize());
        break;
      case '1':
        MUST(cudaSetDevice(1));
        work(buffers, ++bytes);
        MUST(cudaSetDevice(0));
        break;
      case 't':
        others.add(nullptr, [&buffers] { upload(buffers, 1, 3000); });
        break;
      case 'q':
        others.add(nullptr, [] { cudaEventQuery(made_event()); });
        break;
      case 'u':
        others.add("pt_autograd_0", [&buffers] { upload(buffers, 1, 3000); });
        break;
      case 'n':
        others.add("pt_nccl_watchdg", [] {});
        break;
      case 'm':
        others.add("pt_main_thread", [] {});
        break;
      case 's':
        others.add(nullptr, [] {});
        break;
      case 'r':
        others.add_busy();
        break;
      case 'j':
        others.join();
        break;
      case 'f':
        fork_a_child(recorder);
        break;
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
