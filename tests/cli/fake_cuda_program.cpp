// Stands for a program that uses CUDA: loads the injected library as the driver does in cuInit, then does what its
// words say. Words: NAME=VALUE counts (fake_recorder.cpp), sleep_ms=N, print=TEXT (no newline is added), exit=CODE.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using Count = int (*)(const char* name, std::uint64_t value);

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "fake_cuda_program: %s\n", message.c_str());
  std::exit(99);
}

void obey(const std::string& name, const std::string& value, Count count) {
  if (name == "print") {
    std::fputs(value.c_str(), stdout);
    std::fflush(stdout);
  } else if (name == "sleep_ms") {
    usleep(static_cast<useconds_t>(std::stoul(value) * 1000));
  } else if (name == "exit") {
    std::exit(std::stoi(value));
  } else if (count(name.c_str(), std::stoull(value)) != 0) {
    fail("no such word: " + name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) fail("nothing is injected");
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) fail(dlerror());
  const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  const auto count = reinterpret_cast<Count>(dlsym(library, "fake_count"));
  if (initialize == nullptr || count == nullptr || initialize() != 1) fail("the injected library does not start");
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    const auto equals = word.find('=');
    if (equals == std::string::npos) fail("not NAME=VALUE: " + word);
    obey(word.substr(0, equals), word.substr(equals + 1), count);
  }
  return 0;
}
