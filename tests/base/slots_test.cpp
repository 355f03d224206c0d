// Slots of libraries that come and go, also while other threads load and unload them.
#include "base/slots.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "base/loaded_modules.h"
#include "stress.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;
using Answer = int();

Answer* g_answer = nullptr;
Answer* g_other_answer = nullptr;
int hooked_answer() {
  return 10 + g_answer();
}
int hooked_other_answer() {
  return 10 + g_other_answer();
}

template <typename Function>
Hook hook(const char* name, Function* replacement, Function** original) {
  return {name, reinterpret_cast<void*>(replacement), reinterpret_cast<void**>(original)};
}
const std::array kAnswer = {hook("slots_answer", &hooked_answer, &g_answer)};
const std::array kOtherAnswer = {hook("slots_other_answer", &hooked_other_answer, &g_other_answer)};

bool is_caller(const SlotOwner& owner) {
  return owner.file_name().starts_with("libslots_") &&
         owner.links_against([](std::string_view name) { return name.starts_with("libslots_target"); });
}

// A library that is closed with the object.
class Library {
 public:
  explicit Library(const fs::path& path, int mode = RTLD_NOW) : handle_(dlopen(path.c_str(), mode | RTLD_LOCAL)) {}
  ~Library() { close(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  void close() {
    if (handle_ != nullptr) dlclose(handle_);
    handle_ = nullptr;
  }
  bool is_open() const { return handle_ != nullptr; }
  int call(const char* name) const { return reinterpret_cast<Answer*>(dlsym(handle_, name))(); }

 private:
  void* handle_;
};

bool is_loaded(const char* path) {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

template <typename Do>
void repeat_for(std::chrono::duration<double> time, Do act) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) act();
}

TEST(Slots, AreFollowed) {
  const Library library(CALLER_NOW);
  Slots slots(is_caller, kAnswer);
  EXPECT_TRUE(slots.may_follow());
  slots.take(Slots::Loader::kAvoid);
  EXPECT_TRUE(slots.may_follow());
  slots.follow();
  EXPECT_FALSE(slots.may_follow());
  EXPECT_FALSE(slots.is_stale());
  const Library late(CALLER_OTHER);
  EXPECT_TRUE(slots.is_stale());
  slots.take(Slots::Loader::kAvoid);
  EXPECT_TRUE(slots.may_follow());
  slots.restore();
}

TEST(Slots, AreTakenOfLibrariesThatComeLater) {
  Slots slots(is_caller, kAnswer);
  slots.take(Slots::Loader::kAvoid);
  EXPECT_FALSE(slots.is_stale());
  const Library late(CALLER_NOW);
  EXPECT_TRUE(slots.is_stale());
  slots.take(Slots::Loader::kAvoid);
  EXPECT_EQ(late.call("call_answer"), 11);
  EXPECT_FALSE(slots.is_stale());
  slots.restore();
}

// The program can still unload a library, and no write goes to its slots or to a library at the same address.
TEST(Slots, OfAnUnloadedLibraryAreLeft) {
  const fs::path twin = fs::temp_directory_path() / ("libslots_twin-" + std::to_string(::getpid()) + ".so");
  fs::copy_file(CALLER_NOW, twin, fs::copy_options::overwrite_existing);
  Slots slots(is_caller, kAnswer);
  {
    Library gone(CALLER_NOW);
    EXPECT_EQ(slots.take(Slots::Loader::kAvoid), 1u);
  }
  EXPECT_FALSE(is_loaded(CALLER_NOW));
  slots.restore();
  {
    Library gone(CALLER_NOW);
    EXPECT_EQ(slots.take(Slots::Loader::kAvoid), 1u);
    EXPECT_EQ(gone.call("call_answer"), 11);
  }
  {
    // At the same address, unless another library was loaded meanwhile.
    const Library other(twin);
    slots.restore();
    EXPECT_EQ(other.call("call_answer"), 1);
    EXPECT_EQ(slots.take(Slots::Loader::kAvoid), 1u);
    EXPECT_EQ(other.call("call_answer"), 11);
  }
  {
    const Library again(CALLER_NOW);
    EXPECT_EQ(slots.take(Slots::Loader::kAvoid), 1u);
    EXPECT_EQ(again.call("call_answer"), 11) << "its address was another library's";
  }
  fs::remove(twin);
}

// Another library's function of the same name is not the one that the replacement calls. Once nobody calls that one,
// the other one takes its place.
TEST(Slots, LeadToOneLibrarysFunction) {
  Slots slots(is_caller, kAnswer);
  const auto first = std::make_unique<Library>(CALLER_NOW);
  EXPECT_EQ(slots.take(Slots::Loader::kAvoid), 1u);
  const Library other(CALLER_OTHER);
  EXPECT_EQ(slots.take(Slots::Loader::kAvoid), 1u);
  EXPECT_EQ(first->call("call_answer"), 11);
  EXPECT_EQ(other.call("call_answer"), 5);
  EXPECT_FALSE(slots.is_stale());
  first->close();
  slots.take(Slots::Loader::kAvoid);
  EXPECT_TRUE(slots.is_stale());
  EXPECT_EQ(slots.take(Slots::Loader::kAvoid), 1u);
  EXPECT_EQ(other.call("call_answer"), 15);
  EXPECT_FALSE(slots.is_stale());
  slots.restore();
}

// The recorder and the guard are two libraries, each with slots of its own.
TEST(StressSlots, OfTwoOwnersMayShareAPage) {
  const Library library(CALLER_NOW);
  const auto take_and_restore = [](std::span<const Hook> hooks) {
    Slots slots(is_caller, hooks);
    repeat_for(stress_time(2), [&] {
      slots.take(Slots::Loader::kAvoid);
      slots.restore();
    });
    slots.take(Slots::Loader::kAvoid);
  };
  std::thread other([&] { take_and_restore(kOtherAnswer); });
  take_and_restore(kAnswer);
  other.join();
  EXPECT_EQ(library.call("call_answer"), 11);
  EXPECT_EQ(library.call("call_other_answer"), 12);
}

#ifdef SLOW_TO_LOAD
// Holds back the loading of SLOW_TO_LOAD.
class Hold {
 public:
  explicit Hold(const char* what) : file_(std::string(HOLD_FILE) + what) { std::ofstream(file_) << "wait"; }
  ~Hold() { end(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void end() const { fs::remove(file_); }

 private:
  fs::path file_;
};

bool is_listed(std::string_view name) {
  const auto look = [](dl_phdr_info* module, std::size_t, void* wanted) {
    return std::string_view(module->dlpi_name).ends_with(*static_cast<std::string_view*>(wanted)) ? 1 : 0;
  };
  return for_each_module(look, &name) != 0;
}

// The loader would write over a hook, or die of a page that was made read-only under it.
TEST(Slots, OfALibraryThatIsBeingLoadedWaitForItsEnd) {
  const Hold relocation(".relocation");
  const Hold constructor(".constructor");
  Slots slots(is_caller, kAnswer);
  std::atomic<bool> is_open{false};
  std::unique_ptr<Library> library;
  std::thread loading([&] {
    library = std::make_unique<Library>(SLOW_TO_LOAD);
    is_open = true;
  });
  while (!is_listed("/libslots_slow_to_load.so")) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(slots.take(Slots::Loader::kAvoid), 0u);
  EXPECT_TRUE(slots.is_stale()) << "it is looked at again";
  relocation.end();
  for (int i = 0; i < 500 && slots.take(Slots::Loader::kAvoid) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(slots.count(), 1u);
  EXPECT_FALSE(is_open) << "nobody has waited for its constructor";
  constructor.end();
  loading.join();
  ASSERT_TRUE(library->is_open());
  EXPECT_EQ(library->call("call_answer"), 11);
  EXPECT_EQ(library->call("call_chosen"), 3);
  slots.restore();
}
#endif

TEST(StressSlots, OthersLoadAndUnloadMeanwhile) {
  std::atomic<bool> is_over{false};
  std::atomic<int> loaded{0};
  const auto load = [&](const char* path) {
    while (!is_over) {
      Library library(path);
      if (library.is_open()) {
        const int answer = library.call("call_answer");
        EXPECT_TRUE(answer == 1 || answer == 11) << answer;
      }
      ++loaded;
    }
  };
  std::thread fails([&] { load(CALLER_FAILS); });
  std::thread succeeds([&] { load(CALLER_NOW); });
  repeat_for(stress_time(4), [] {
    Slots slots(is_caller, kAnswer);
    for (int i = 0; i < 100; ++i) slots.take(Slots::Loader::kAvoid);
    slots.restore();
  });
  is_over = true;
  fails.join();
  succeeds.join();
  EXPECT_GT(loaded, 10);
}

// glibc gives the child of a fork the lock of a walk as it is.
TEST(LoadedModules, CanBeWalkedInAForkedChild) {
  std::atomic<bool> is_over{false};
  std::thread walker([&] {
    while (!is_over) load_counts();
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      load_counts();
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "the child hung";
  }
  is_over = true;
  walker.join();
}

TEST(LoadedModules, FindASymbolAsTheLoaderDoes) {
  const Library library(CALLER_NOW);
  void* const handle = dlopen(CALLER_NOW, RTLD_LAZY | RTLD_NOLOAD);
  for (const char* name : {"call_answer", "call_other_answer", "no_such_function", "slots_answer"}) {
    void* const own = symbol_of_module("libslots_caller_now.so", name);
    if (std::string_view(name).starts_with("call_")) {
      EXPECT_EQ(own, dlsym(handle, name)) << name;
      EXPECT_NE(own, nullptr) << name;
    } else {
      EXPECT_EQ(own, nullptr) << name;  // another library has the last one
    }
  }
  EXPECT_EQ(symbol_of_module("libslots_nowhere.so", "call_answer"), nullptr);
  EXPECT_EQ(symbol_of_module("libc.so.6", "getpid"), reinterpret_cast<void*>(dlsym(RTLD_DEFAULT, "getpid")));
  dlclose(handle);
}

// The last one: a library whose slots lead to the loader stays loaded.
TEST(SlotsOfEachKind, AreTakenAndRestored) {
  const Library bound_at_once(CALLER_NOW);
  const Library bound_late(CALLER_LAZY, RTLD_LAZY);
  Slots slots(is_caller, kAnswer);
  EXPECT_EQ(slots.take(Slots::Loader::kAvoid), 1u);
  EXPECT_EQ(slots.take(Slots::Loader::kMayEnter), 2u);
  EXPECT_EQ(bound_at_once.call("call_answer"), 11);
  EXPECT_EQ(bound_late.call("call_answer"), 11);
  EXPECT_EQ(bound_late.call("call_other_answer"), 2);
  slots.restore();
  EXPECT_EQ(bound_at_once.call("call_answer"), 1);
  EXPECT_EQ(bound_late.call("call_answer"), 1);
}

}  // namespace
}  // namespace turnpike
