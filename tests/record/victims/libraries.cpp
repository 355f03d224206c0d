// Victims that load libraries while they copy.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gpu.h"
#include "scenarios.h"

namespace victim {
namespace {

// A thread that copies until join().
class Copying {
 public:
  explicit Copying(const Buffers& buffers)
      : thread_([this, &buffers] {
          while (!is_over_) {
            upload(buffers, 1, 32);
            ++count_;
          }
        }) {}
  ~Copying() { join(); }
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;
  void join() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  const std::atomic<std::uint64_t>& count() const { return count_; }

 private:
  std::atomic<bool> is_over_{false};
  std::atomic<std::uint64_t> count_{0};
  std::thread thread_;
};

}  // namespace

int constructor_waits(Arguments arguments) {
  alarm(60);  // ends it if it hangs
  const Buffers buffers;
  Copying copying(buffers);
  setenv("PLUGIN_COUNT_AT", std::to_string(reinterpret_cast<std::uintptr_t>(&copying.count())).c_str(), 1);
  setenv("PLUGIN_WAITS_FOR", "5000", 1);
  const bool is_loaded = dlopen(arguments[0], RTLD_NOW) != nullptr;
  copying.join();
  std::printf("%s\n", is_loaded ? "loaded" : dlerror());
  return 0;
}

int loads_and_unloads(Arguments arguments) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<long>(std::atof(arguments[0]) * 1000));
  const Buffers buffers;
  std::atomic<std::uint64_t> loads{0};
  std::vector<std::thread> loading;
  for (const char* path : arguments.subspan(1)) {
    loading.emplace_back([&, path] {
      while (std::chrono::steady_clock::now() < end) {
        if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL); library != nullptr) dlclose(library);
        ++loads;
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      }
    });
  }
  while (std::chrono::steady_clock::now() < end) {
    upload(buffers, 1, 32);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  for (std::thread& thread : loading) thread.join();
  std::printf("loads %s\n", loads > 20 ? "many" : "few");
  return 0;
}

}  // namespace victim
