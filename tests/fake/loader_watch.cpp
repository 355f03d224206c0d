// For a process that loads this library first (LD_PRELOAD): prints each call of the dynamic loader inside of a callback
// of the fake CUPTI and on the recorder's collector, where none is allowed. Each call is still made.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

namespace {

thread_local int t_callbacks = 0;
thread_local bool t_is_inside = false;

template <typename Function>
Function* real(const char* name) {
  // From 2.34 on they are in the C library itself.
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
    if (void* found = dlvsym(RTLD_NEXT, name, version); found != nullptr) return reinterpret_cast<Function*>(found);
  }
  std::fprintf(stderr, "loader watch: there is no %s\n", name);
  __builtin_trap();
}

bool is_named_as_collector() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return std::strcmp(name, "turnpike") == 0;
}

// A thread that it starts has its name until it is given another one.
bool is_on_collector() {
  if (!is_named_as_collector()) return false;
  usleep(20'000);
  return is_named_as_collector();
}

void look(const char* function, const char* argument) {
  if (t_is_inside) return;
  t_is_inside = true;
  const bool is_collector = is_on_collector();
  if (t_callbacks > 0 || is_collector) {
    std::fprintf(stderr, "loader watch: %s(%s) %s\n", function, argument == nullptr ? "" : argument,
                 is_collector ? "on the collector" : "in a callback");
  }
  t_is_inside = false;
}

}  // namespace

#define SHOWN extern "C" __attribute__((visibility("default")))

// The fake CUPTI calls it around its callbacks.
SHOWN void loader_watch_callback(int change) {
  t_callbacks += change;
}

SHOWN void* dlopen(const char* path, int mode) noexcept {
  look("dlopen", path);
  static auto* const function = real<void*(const char*, int)>("dlopen");
  return function(path, mode);
}

SHOWN void* dlsym(void* handle, const char* name) noexcept {
  look("dlsym", name);
  static auto* const function = real<void*(void*, const char*)>("dlsym");
  return function(handle, name);
}

SHOWN int dlclose(void* handle) noexcept {
  look("dlclose", nullptr);
  static auto* const function = real<int(void*)>("dlclose");
  return function(handle);
}

SHOWN int dladdr(const void* address, Dl_info* info) noexcept {
  look("dladdr", nullptr);
  static auto* const function = real<int(const void*, Dl_info*)>("dladdr");
  return function(address, info);
}
