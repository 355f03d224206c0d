// Victims that are profiled by another profiler (profiler.h) while they are recorded.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
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
  decltype(turnpike_wait_for_gpu)* wait_for_gpu =
      find<decltype(turnpike_wait_for_gpu)>(library, "turnpike_wait_for_gpu");
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

cudaStream_t begun_capture(const Buffers& buffers) {
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreate(&stream));
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  upload(buffers, 1, 2001, stream);
  return stream;
}

cudaGraph_t ended_capture(cudaStream_t stream) {
  cudaGraph_t captured = nullptr;
  MUST(cudaStreamEndCapture(stream, &captured));
  return captured;
}

cudaGraphExec_t captured_graph(const Buffers& buffers) {
  cudaGraph_t captured = ended_capture(begun_capture(buffers));
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

// Something that another thread does while CUPTI is being detached.
class Meanwhile {
 public:
  explicit Meanwhile(std::function<void()> act) : act_(std::move(act)) {
    g_now = this;
    void* cupti = dlopen(std::getenv(TURNPIKE_ENV_CUPTI), RTLD_NOW | RTLD_LOCAL);
    find<void(void (*)())>(cupti, "fake_cupti_while_finalizing")([] { g_now->begin(); });
  }
  // Whether the other thread had to wait until CUPTI was detached.
  bool join() {
    if (thread_.joinable()) thread_.join();
    return has_waited_;
  }

 private:
  // Returns when the other thread is done, or waits: it has then been asleep for some time.
  void begin() {
    thread_ = std::thread([this] {
      id_ = gettid();
      act_();
      is_done_ = true;
    });
    int times_asleep = 0;
    while (!is_done_ && times_asleep < 20) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      times_asleep = is_asleep() ? times_asleep + 1 : 0;
    }
    has_waited_ = !is_done_;
  }
  bool is_asleep() const {
    std::ifstream file("/proc/self/task/" + std::to_string(id_) + "/stat");
    std::string status;
    std::getline(file, status);
    const auto end = status.rfind(')');
    return end != std::string::npos && status.substr(end).starts_with(") S");
  }

  static inline Meanwhile* g_now = nullptr;
  std::function<void()> act_;
  std::atomic<pid_t> id_{0};
  std::atomic<bool> is_done_{false};
  bool has_waited_ = false;
  std::thread thread_;
};

// A thread whose first call of CUDA finds no memory for what the recorder keeps of it.
void query_without_memory() {
  cudaEvent_t event = made_event();  // what the first call in a thread needs is there
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit limit = before;
  limit.rlim_cur = 0;
  setrlimit(RLIMIT_AS, &limit);
  const cudaError_t result = cudaEventQuery(event);
  setrlimit(RLIMIT_AS, &before);
  MUST(result);
}

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
  cudaStream_t capture = nullptr;
  Others others;
  const std::function<void(char)> act = [&](char letter) {
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
      case 'w':
        std::printf("idle: %d\n", recorder.wait_for_gpu());
        break;
      case '<':
        capture = begun_capture(buffers);
        break;
      case '=':
        upload(buffers, 1, 2001, capture);
        break;
      case '>':
        ended_capture(capture);
        break;
      case 'z':
        others.add(nullptr, query_without_memory);
        break;
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
  };
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (order[at] != 'X') {
      act(order[at]);
      continue;
    }
    Meanwhile meanwhile([&, letter = order[++at]] { act(letter); });
    const int is_detached = recorder.detach();
    const bool has_waited = meanwhile.join();
    std::printf("detached: %d %d%s\n", is_detached, recorder.is_attached(), has_waited ? ", which was waited for" : "");
  }
  return 0;
}

}  // namespace victim
