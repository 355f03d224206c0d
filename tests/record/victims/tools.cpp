// Victims that use CUPTI or the recorder themselves.
#include <cupti.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gpu.h"
#include "record/session.h"
#include "scenarios.h"

namespace victim {
namespace {

template <typename Function>
Function* find(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "%s is missing\n", name);
    std::_Exit(71);
  }
  return reinterpret_cast<Function*>(found);
}

void* open(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::_Exit(71);
  }
  return library;
}

void ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *size = 1 << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *max_records = 0;
}

void complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
  std::free(buffer);
}

// The exit status of a victim whose recording failed.
int failed(const char* error) {
  std::fprintf(stderr, "%s\n", error);
  return 1;
}

struct Recorder {
  decltype(turnpike_start)* start;
  decltype(turnpike_stop)* stop;
  decltype(turnpike_is_recording)* is_recording;
  decltype(turnpike_file)* file;
  decltype(turnpike_status)* status;
  decltype(turnpike_keep)* keep;

  explicit Recorder(const char* path) {
    void* library = open(path);
    start = find<decltype(turnpike_start)>(library, "turnpike_start");
    stop = find<decltype(turnpike_stop)>(library, "turnpike_stop");
    is_recording = find<decltype(turnpike_is_recording)>(library, "turnpike_is_recording");
    file = find<decltype(turnpike_file)>(library, "turnpike_file");
    status = find<decltype(turnpike_status)>(library, "turnpike_status");
    keep = find<decltype(turnpike_keep)>(library, "turnpike_keep");
  }

  std::string file_name() const {
    char path[4096];
    file(path, sizeof path);
    return path;
  }
  int begin(const char* run, char* error, std::uint64_t error_bytes, bool is_content_verified = false) const {
    TurnpikeOptions options{};
    options.struct_bytes = sizeof options;
    options.detail = TURNPIKE_DETAIL_FULL;
    options.stacks = 1;
    options.verify_content = is_content_verified ? 1 : 0;
    options.run_directory = run;
    return start(&options, error, error_bytes);
  }
};

// Of session_at_exit(): a handler of exit() has no arguments.
const char* g_library = nullptr;

}  // namespace

int other_subscriber(Arguments) {
  void* cupti = open(std::getenv("TURNPIKE_CUPTI"));
  CUpti_SubscriberHandle handle = nullptr;
  if (find<decltype(cuptiSubscribe)>(cupti, "cuptiSubscribe")(&handle, ignore, nullptr) != CUPTI_SUCCESS) return 72;
  const Buffers buffers;
  upload(buffers, 20, 20);
  std::printf("checksum %lu\n", checksum(buffers));
  return 0;
}

int steal_buffers(Arguments) {
  const Buffers buffers;
  upload(buffers, 20, 21);
  MUST(cudaDeviceSynchronize());
  void* cupti = open(std::getenv("TURNPIKE_CUPTI"));
  find<decltype(cuptiActivityFlushAll)>(cupti, "cuptiActivityFlushAll")(0);
  find<decltype(cuptiActivityRegisterCallbacks)>(cupti, "cuptiActivityRegisterCallbacks")(request, complete);
  upload(buffers, 20, 22);
  std::printf("checksum %lu\n", checksum(buffers));
  return 0;
}

int profiler_inside(Arguments) {
  const Buffers buffers;
  upload(buffers, 20, 21);
  MUST(cudaDeviceSynchronize());
  void* cupti = open(std::getenv("TURNPIKE_CUPTI"));
  find<decltype(cuptiActivityFlushAll)>(cupti, "cuptiActivityFlushAll")(0);
  find<decltype(cuptiActivityRegisterCallbacks)>(cupti, "cuptiActivityRegisterCallbacks")(request, complete);
  const auto disable = find<decltype(cuptiActivityDisable)>(cupti, "cuptiActivityDisable");
  for (const auto kind :
       {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}) {
    disable(kind);
  }
  // Longer than the recorder waits, and on a busy machine, too.
  for (int i = 0; i < 200; ++i) {
    upload(buffers, 1, 22);
    MUST(cudaDeviceSynchronize());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::printf("checksum %lu\n", checksum(buffers));
  return 0;
}

int keeps(Arguments arguments) {
  const Buffers buffers;
  upload(buffers, 2, 5000);
  MUST(cudaDeviceSynchronize());
  const auto keep = find<decltype(turnpike_keep)>(dlopen(arguments[0], RTLD_NOW), "turnpike_keep");
  char error[256];
  if (keep(arguments[1], error, sizeof error) == 0) return 0;
  std::printf("keep: %s\n", error);
  return 3;
}

int two_keep(Arguments) {
  const pid_t child = fork();
  const Buffers buffers;
  for (int i = 0; i < 200; ++i) {
    upload(buffers, 1, 7000);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    if (child == 0 && i == 100) raise(SIGUSR2);
  }
  if (child == 0) return 0;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int sessions(Arguments arguments) {
  const Recorder recorder(arguments[0]);
  char error[256];
  const Buffers buffers;
  upload(buffers, 2, 5000);
  void* managed = nullptr;
  cudaMemLocation location{};
  location.type = cudaMemLocationTypeDevice;
  for (int round = 0; round < 2; ++round) {
    if (recorder.begin(arguments[1 + round], error, sizeof error, round == 1) != 0) {
      std::printf("start: %s\n", error);
      return 1;
    }
    if (recorder.is_recording() != 1) return 2;
    upload(buffers, round == 0 ? 5 : 4, round == 0 ? 5001 : 5003);
    if (round == 0) MUST(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
    MUST(cudaMemPrefetchAsync(managed, 1000 + round, location, 0, nullptr));
    MUST(cudaDeviceSynchronize());
    if (recorder.stop(error, sizeof error) != 0) {
      std::printf("stop: %s\n", error);
      return 1;
    }
    if (recorder.is_recording() != 0) return 2;
    std::printf("file %s\n", recorder.file_name().c_str());
    upload(buffers, 3, 5002);
    MUST(cudaMemPrefetchAsync(managed, 1002, location, 0, nullptr));
    MUST(cudaDeviceSynchronize());
  }
  return 0;
}

int managed_before(Arguments arguments) {
  const Recorder recorder(arguments[0]);
  char error[256];
  const Buffers buffers;
  void* managed = nullptr;
  MUST(cudaMallocManaged(&managed, kBufferBytes, cudaMemAttachGlobal));
  std::memset(managed, 7, kBufferBytes);
  if (recorder.begin(arguments[1], error, sizeof error) != 0) return failed(error);
  MUST(cudaMemcpy(buffers.device, managed, 3010, cudaMemcpyHostToDevice));
  MUST(cudaMemcpy(buffers.device, buffers.pageable.data(), 3011, cudaMemcpyHostToDevice));
  return recorder.stop(error, sizeof error) == 0 ? 0 : failed(error);
}

// Of each range one end at least lies where nothing is recorded, but for "whole".
int ranges_after_stop(Arguments arguments) {
  const Recorder recorder(arguments[0]);
  char error[256];
  const Buffers buffers;
  nvtxRangePushA("cut by the stop");
  const nvtxRangeId_t started = nvtxRangeStartA("started before the stop");
  upload(buffers, 1, 5000);
  if (recorder.stop(error, sizeof error) != 0) return failed(error);
  nvtxRangePushA("after the stop");
  nvtxRangePushA("inside of it");
  nvtxRangePop();
  if (recorder.begin(arguments[1], error, sizeof error) != 0) return failed(error);
  nvtxRangePushA("whole");
  upload(buffers, 1, 5001);
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangeEnd(started);
  return recorder.stop(error, sizeof error) == 0 ? 0 : failed(error);
}

namespace {

struct Cost {
  std::int64_t resident_bytes;  // more than before
  std::int64_t ns;              // of the processor, for a thread
};
std::int64_t processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}
std::int64_t resident_bytes() {
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (std::fscanf(file, "%*d %ld", &pages) != 1) std::_Exit(71);
  std::fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}
Cost cost_of_threads(std::uint64_t count) {
  const std::int64_t before = resident_bytes();
  const std::int64_t start_ns = processor_ns();
  for (std::uint64_t i = 0; i < count; ++i) {
    std::thread([] {
      nvtxRangePushA("request");
      nvtxRangeEnd(nvtxRangeStartA("part"));
      nvtxMarkA("done");
      nvtxRangePop();
    }).join();
  }
  return {resident_bytes() - before, (processor_ns() - start_ns) / static_cast<std::int64_t>(count)};
}

}  // namespace

int ranges_before(Arguments arguments) {
  const Recorder recorder(arguments[0]);
  char error[256];
  const Buffers buffers;
  const std::uint64_t threads = number(arguments[2]);
  // More than the smallest limit of a file, where the process is recorded already; then a turn of the recorder.
  for (int i = 0; i < 40'000; ++i) nvtxMarkA("before");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  cost_of_threads(threads / 10);
  const Cost first = cost_of_threads(threads);
  const Cost last = cost_of_threads(threads);
  for (std::uint64_t i = 0; i < number(arguments[3]); ++i) {
    nvtxRangePushA(("step " + std::to_string(i)).c_str());
    nvtxRangePop();
  }
  std::printf("%ld %ld %ld\n", static_cast<long>(first.resident_bytes + last.resident_bytes),
              static_cast<long>(first.ns), static_cast<long>(last.ns));
  if (recorder.begin(arguments[1], error, sizeof error) != 0) return failed(error);
  for (int i = 0; i < 50; ++i) {
    nvtxRangePushA(("measured " + std::to_string(i)).c_str());
    nvtxRangePop();
  }
  return recorder.stop(error, sizeof error) == 0 ? 0 : failed(error);
}

int sessions_amid(Arguments arguments) {
  const Recorder recorder(arguments[0]);
  char error[256];
  const Buffers buffers;
  std::atomic<bool> is_over{false};
  std::atomic<int> copies{0};
  std::vector<std::thread> busy;
  for (int thread = 0; thread < 2; ++thread) {
    busy.emplace_back([&buffers, &is_over, &copies] {
      while (!is_over) {
        upload(buffers, 1, 6000);
        ++copies;
        std::this_thread::sleep_for(std::chrono::microseconds(5));
      }
    });
  }
  int failed = 0;
  for (const char* const run : arguments.subspan(1)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    failed += recorder.begin(run, error, sizeof error) != 0;
    // On a busy machine the threads may stand still for as long as a sleep takes.
    for (const int before = copies; copies < before + 30;) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    failed += recorder.stop(error, sizeof error) != 0;
  }
  is_over = true;
  for (std::thread& thread : busy) thread.join();
  return failed;
}

// Of a forked child, which must never wait for a thread that is not there.
[[noreturn]] void ask_everything(const Recorder& recorder, const char* run) {
  alarm(20);
  char error[4096];
  nvtxRangePushA("of a child");
  nvtxRangePop();
  TurnpikeStatus status;
  recorder.status(&status);
  recorder.keep("of a child", error, sizeof error);
  recorder.file_name();
  recorder.begin(run, error, sizeof error);
  recorder.stop(error, sizeof error);
  std::exit(9);
}

int stress(Arguments arguments) {
  const Recorder recorder(arguments[0]);
  const std::string folder = arguments[1];
  const Buffers buffers;
  nvtxMarkA("first");
  std::atomic<bool> is_over{false};
  std::atomic<int> recordings{0}, failures{0};
  std::vector<std::thread> busy;
  for (int thread = 0; thread < 2; ++thread) {
    busy.emplace_back([&] {
      while (!is_over) upload(buffers, 1, 6000);
    });
  }
  busy.emplace_back([&] {
    for (std::uint64_t i = 0; !is_over; ++i) nvtxMarkA(std::to_string(i % 1000).c_str());
  });
  busy.emplace_back([&] {
    while (!is_over) recorder.file_name();
  });
  busy.emplace_back([&] {
    char error[4096];
    for (int number = 0; !is_over; ++number) {
      const std::string run = folder + "/" + std::to_string(number) + ".tpk";
      failures += recorder.begin(run.c_str(), error, sizeof error) != 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(number % 20));
      failures += recorder.stop(error, sizeof error) != 0;
      ++recordings;
    }
  });
  int hung = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(number(arguments[2]));
  const bool has_forks = std::string_view(arguments[3]) == "forks";
  while (std::chrono::steady_clock::now() < end) {
    if (!has_forks) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    const pid_t child = fork();
    if (child == 0) ask_everything(recorder, (folder + "/child.tpk").c_str());
    int status = 0;
    waitpid(child, &status, 0);
    hung += !WIFEXITED(status) || WEXITSTATUS(status) != 9;
  }
  is_over = true;
  for (std::thread& thread : busy) thread.join();
  std::printf("failed %d hung %d recorded %d\n", failures.load(), hung, recordings > 0);
  return 0;
}

int hung_stop(Arguments arguments) {
  const Recorder recorder(arguments[0]);
  const Buffers buffers;
  char error[4096];
  const auto start = [&](const char* run) {
    const int result = recorder.begin(run, error, sizeof error);
    std::printf("start %d %s\n", result, error);
  };
  const auto stop = [&] {
    error[0] = '\0';
    const int result = recorder.stop(error, sizeof error);
    std::printf("stop %d %s\n", result, error);
  };
  const auto copy = [&](std::uint64_t count, std::uint64_t bytes) {
    upload(buffers, count, bytes);
    MUST(cudaDeviceSynchronize());
  };
  start(arguments[1]);
  std::printf("recording %d\n", recorder.is_recording());
  copy(5, 5001);
  std::fclose(std::fopen(arguments[3], "w"));
  stop();
  std::printf("recording %d\n", recorder.is_recording());
  copy(4, 5002);
  start(arguments[2]);
  std::remove(arguments[3]);
  stop();
  start(arguments[2]);
  copy(3, 5003);
  stop();
  return 0;
}

int bad_session(Arguments arguments) {
  const Recorder recorder(arguments[0]);
  char error[256];
  std::printf("stop first: %d %s\n", recorder.stop(error, sizeof error), error);
  std::printf("file: '%s'\n", recorder.file_name().c_str());
  std::printf("bad directory: %d", recorder.begin("/proc/nowhere/run", error, sizeof error));
  std::printf(" %s\n", error);
  std::printf("recording: %d\n", recorder.is_recording());
  const Buffers buffers;
  upload(buffers, 3, 60);
  std::printf("checksum %lu\n", checksum(buffers));
  return 0;
}

// Exits while it is being recorded. Its own exit handler was registered before the recorder's, so it runs after it.
int session_at_exit(Arguments arguments) {
  g_library = arguments[0];
  std::atexit([] {
    const Recorder recorder(g_library);
    char error[256];
    std::printf("recording at exit: %d\n", recorder.is_recording());
    std::printf("stop at exit: %d %s\n", recorder.stop(error, sizeof error), error);
  });
  const Recorder recorder(arguments[0]);
  const Buffers buffers;
  char error[256];
  if (recorder.begin(arguments[1], error, sizeof error) != 0) return failed(error);
  upload(buffers, 5, 5001);
  MUST(cudaDeviceSynchronize());
  return 0;
}

}  // namespace victim
