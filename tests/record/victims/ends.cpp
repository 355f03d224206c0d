// Victims that end in every way in which a process can, and that fork.
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "gpu.h"
#include "scenarios.h"

namespace victim {
namespace {

[[noreturn]] void end_by(const std::string& way) {
  if (way == "exit") std::exit(5);
  if (way == "_exit") _exit(6);
  if (way == "_Exit") std::_Exit(6);
  if (way == "handler") {
    // As a server's handler of SIGTERM may: amid a call of CUDA, in whatever thread.
    signal(SIGTERM, [](int) { _exit(10); });
    raise(SIGTERM);
  }
  if (way == "quick_exit") std::quick_exit(7);
  if (way == "abort") std::abort();
  if (way == "segv") {
    // By the kernel, not by raise(): the handler chain of a real crash.
    volatile int* nowhere = nullptr;
    *nowhere = 1;
  }
  if (way == "sigint") raise(SIGINT);
  if (way == "sigterm") raise(SIGTERM);
  if (way == "sigkill") raise(SIGKILL);
  if (way == "exec") {
    char name[] = "true";
    char* const arguments[] = {name, nullptr};
    execv("/nowhere/true", arguments);
    execv("/bin/true", arguments);
  }
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): that is how they are called.
  if (way == "execl") execl("/bin/sh", "sh", "-c", "exit 11", static_cast<char*>(nullptr));
  if (way == "execlp") execlp("sh", "sh", "-c", "exit 12", static_cast<char*>(nullptr));
  if (way == "execle") {
    char variable[] = "CODE=13";
    char* const variables[] = {variable, nullptr};
    execle("/bin/sh", "sh", "-c", "exit $CODE", static_cast<char*>(nullptr), variables);
  }
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
  if (way == "pthread_exit") {
    std::thread([] {
      const Buffers buffers;
      upload(buffers, 10, 51);
      MUST(cudaDeviceSynchronize());
      // The driver has threads of its own, so the process does not end with the program's last one.
      std::exit(8);
    }).detach();
    pthread_exit(nullptr);
  }
  std::fprintf(stderr, "no such way: %s\n", way.c_str());
  _exit(64);
}

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int exit_by(Arguments arguments) {
  const Buffers buffers;
  upload(buffers, 50, 50);
  MUST(cudaDeviceSynchronize());
  std::printf("ending\n");
  std::fflush(stdout);
  if (std::strcmp(arguments[0], "return") == 0) return 4;
  end_by(arguments[0]);
}

int exit_later(Arguments arguments) {
  const Buffers buffers;
  upload(buffers, 50, 50);
  std::this_thread::sleep_for(std::chrono::milliseconds(number(arguments[1])));
  end_by(arguments[0]);
}

// A child that shares the memory of a recorded process ends, and the process goes on.
int vfork_child(Arguments) {
  const Buffers buffers;
  upload(buffers, 7, 4002);
  const pid_t child = vfork();
  if (child == 0) _exit(9);
  const int status = status_of(child);
  upload(buffers, 3, 4003);
  MUST(cudaDeviceSynchronize());
  std::printf("child %d\n", status);
  return 0;
}

// Copies until a handler ends the process, wherever that finds the copying thread.
int exit_from_handler(Arguments arguments) {
  signal(SIGALRM, [](int) { _exit(10); });
  const Buffers buffers;
  ualarm(static_cast<useconds_t>(number(arguments[0])), 0);
  while (true) upload(buffers, 1, 50);
}

int fork_before(Arguments arguments) {
  // NVTX loads the recorder before CUDA does.
  if (!arguments.empty()) nvtxMarkA("before the fork");
  const pid_t child = fork();
  const Buffers buffers;
  upload(buffers, child == 0 ? 5 : 7, child == 0 ? 4001 : 4002);
  MUST(cudaDeviceSynchronize());
  if (child == 0 && !arguments.empty()) end_by(arguments[0]);
  if (child == 0) return 0;
  const int status = status_of(child);
  std::printf("child %d\n", status);
  return 0;
}

int fork_after(Arguments arguments) {
  const Buffers buffers;
  upload(buffers, 7, 4002);
  MUST(cudaDeviceSynchronize());
  const pid_t child = fork();
  if (child == 0) {
    // CUDA does not work in such a child: the victim goes on without it, as a DataLoader's worker does.
    const cudaError_t result = cudaMemcpyAsync(buffers.device, buffers.pinned, 1, cudaMemcpyHostToDevice, nullptr);
    std::vector<char> work(1 << 20, 1);
    std::printf("child: %d %zu\n", static_cast<int>(result), work.size());
    std::fflush(stdout);
    if (std::strcmp(arguments[0], "return") == 0) return 9;
    end_by(arguments[0]);
  }
  const int status = status_of(child);
  upload(buffers, 3, 4003);
  MUST(cudaDeviceSynchronize());
  std::printf("parent: child ended with %d\n", status);
  return 0;
}

int fork_storm(Arguments arguments) {
  const Buffers buffers;
  // A child that is forked while another thread makes NVTX's first call waits for that thread in NVTX's own header.
  nvtxMarkA("first");
  std::atomic<bool> is_over{false};
  std::vector<std::thread> copying;
  for (int i = 0; i < 4; ++i) {
    copying.emplace_back([&buffers, &is_over] {
      void* device = nullptr;
      MUST(cudaMalloc(&device, 4096));
      while (!is_over.load()) {
        MUST(cudaMemcpyAsync(device, buffers.pinned, 16, cudaMemcpyHostToDevice, nullptr));
      }
    });
  }
  // Names that the recorder has not seen make it take locks.
  copying.emplace_back([&is_over] {
    for (std::uint64_t i = 0; !is_over.load(); ++i) nvtxMarkA(std::to_string(i).c_str());
  });
  copying.emplace_back([&is_over] {
    for (std::uint64_t i = 0; !is_over.load(); ++i) {
      nvtxDomainRegisterStringA(nullptr, ("text " + std::to_string(i % 1000)).c_str());
    }
  });
  // Where this is what is to be recorded, each push and pop is a switch.
  copying.emplace_back([&is_over] {
    while (!is_over.load()) {
      nvtxRangePushA("wanted");
      nvtxRangePop();
    }
  });
  std::uint64_t good = 0;
  for (std::uint64_t i = 0; i < number(arguments[0]); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      for (const char* name : {"of a child", "wanted"}) {
        nvtxRangePushA(name);
        nvtxRangePop();
      }
      nvtxDomainRegisterStringA(nullptr, "text of a child");
      std::exit(9);
    }
    good += status_of(child) == 9;
  }
  is_over = true;
  for (std::thread& thread : copying) thread.join();
  std::printf("children %lu\n", good);
  return 0;
}

int run_self(Arguments arguments) {
  const Buffers buffers;
  upload(buffers, 7, 4002);
  MUST(cudaDeviceSynchronize());
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> command{const_cast<char*>("victim")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.push_back(nullptr);
    execv("/proc/self/exe", command.data());
    _exit(127);
  }
  std::printf("child %d\n", status_of(child));
  return 0;
}

}  // namespace victim
