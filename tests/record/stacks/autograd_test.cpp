// Which numbers of autograd a call is given, and of which versions of PyTorch they are believed.
#include "record/stacks/autograd.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace turnpike::record {
namespace {

using trace::AutogradRole;
namespace fs = std::filesystem;

constexpr std::uint64_t kNone = 0;

// A folder as PyTorch has it: lib/libtorch_cpu.so, and beside lib the file that says the version.
class AutogradTest : public testing::Test {
 protected:
  AutogradTest() {
    std::string pattern = (fs::temp_directory_path() / "torch-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    fs::create_directory(folder_ / "lib");
    fs::copy_file(FAKE_TORCH, folder_ / "lib" / "libtorch_cpu.so");
  }
  ~AutogradTest() override { fs::remove_all(folder_); }

  void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  void* load() const { return ::dlopen((folder_ / "lib" / "libtorch_cpu.so").c_str(), RTLD_NOW | RTLD_LOCAL); }

  // What is found is kept for the life of a process, so each claim has a process of its own: whether `claim` held.
  template <typename Claim>
  static bool holds(const Claim& claim) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool is_held = false;
      std::thread([&] { is_held = claim(); }).join();
      ::_exit(is_held ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  static bool is(AutogradMark mark, AutogradRole role, std::uint64_t sequence) {
    return mark.role == role && mark.sequence == sequence;
  }
  bool is_found(AutogradRole role, std::uint64_t sequence) const {
    return holds([&] {
      const bool is_loaded = load() != nullptr;
      find_autograd();
      return is_loaded && is(autograd_mark(), role, sequence);
    });
  }
  bool is_understood() const { return is_found(AutogradRole::kForward, 71); }
  bool is_refused() const { return is_found(AutogradRole::kUnknown, kNone); }

  fs::path folder_;
};

TEST_F(AutogradTest, TellsTheNodeThatIsEvaluatedAndElseTheNextOne) {
  write("version.py", "debug = False\n__version__ = '2.11.0+cu130'\n");
  EXPECT_TRUE(holds([this] {
    void* const torch = load();
    find_autograd();
    const auto evaluate_node = reinterpret_cast<void (*)(std::uint64_t)>(::dlsym(torch, "evaluate_node"));
    const auto evaluate_nothing = reinterpret_cast<void (*)()>(::dlsym(torch, "evaluate_nothing"));
    const bool is_forward = is(autograd_mark(), AutogradRole::kForward, 71);
    evaluate_node(1234);
    const bool is_backward = is(autograd_mark(), AutogradRole::kBackward, 1234);
    evaluate_nothing();
    return is_forward && is_backward && is(autograd_mark(), AutogradRole::kForward, 71);
  }));
}

TEST_F(AutogradTest, BelievesVersionsThatItKnows) {
  EXPECT_TRUE(is_refused()) << "no file says the version";
  for (const char* version : {"2.0.0", "2.11.0+cpu"}) {
    write("version.py", "__version__ = '" + std::string(version) + "'\n");
    EXPECT_TRUE(is_understood()) << version;
  }
  for (const char* version : {"1.13.1", "3.0.0", "20.1", "2", "", "x2.1"}) {
    write("version.py",
          "__version__ = '" + std::string(version) + (*version == '2' && version[1] == '\0' ? "" : "'\n"));
    EXPECT_TRUE(is_refused()) << version;
  }
  write("version.py", "version = '2.1'\n");
  EXPECT_TRUE(is_refused());
  write("build-version", "2.5.1\n");
  EXPECT_TRUE(is_understood()) << "the C++ distribution";
  write("build-version", "1.5.1\n");
  EXPECT_TRUE(is_refused());
}

// PyTorch may come after CUDA.
TEST_F(AutogradTest, LooksForPyTorchAgain) {
  write("version.py", "__version__ = '2.11.0'\n");
  EXPECT_TRUE(holds([this] {
    find_autograd();
    if (!is(autograd_mark(), AutogradRole::kUnknown, kNone)) return false;
    load();
    if (!is(autograd_mark(), AutogradRole::kUnknown, kNone)) return false;
    find_autograd();
    return is(autograd_mark(), AutogradRole::kForward, 71);
  }));
}

}  // namespace
}  // namespace turnpike::record
