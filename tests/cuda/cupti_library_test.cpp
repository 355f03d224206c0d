// Where libcupti is looked for, among libraries that only have the names of CUDA's.
#include "cuda/cupti_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cuda/cupti.h"

namespace turnpike::cuda {
namespace {

namespace fs = std::filesystem;

// No CUDA has this version, so that none of this machine's libraries is found.
constexpr const char* kRuntime = "libcudart.so.97";
constexpr const char* kCupti = "libcupti.so.97";

class CuptiLibrary : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "turnpike-cupti-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    ::unsetenv("CUDA_HOME");
    ::unsetenv("CUDA_PATH");
  }
  void TearDown() override {
    for (void* library : open_) ::dlclose(library);
    fs::remove_all(root_);
  }

  std::string put(const std::string& path, const char* copied = TURNPIKE_EMPTY_LIBRARY) {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    fs::copy_file(copied, file);
    return file.string();
  }
  void load(const std::string& path, const char* copied = TURNPIKE_EMPTY_LIBRARY) {
    void* library = ::dlopen(put(path, copied).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    open_.push_back(library);
  }
  // The path of what was opened, or why nothing was.
  std::string found(const char* path = nullptr) {
    std::string message;
    if (void* library = open_cupti_library(path, message); library != nullptr) open_.push_back(library);
    return message;
  }

  fs::path root_;
  std::vector<void*> open_;
};

TEST_F(CuptiLibrary, IsTheOneBesideTheRuntime) {
  load(std::string("lib/") + kRuntime);
  const std::string cupti = put(std::string("lib/") + kCupti);
  EXPECT_EQ(found(), cupti);
}

TEST_F(CuptiLibrary, IsTheOneOfTheSamePackages) {
  load(std::string("site-packages/nvidia/cuda_runtime/lib/") + kRuntime);
  const std::string cupti = put(std::string("site-packages/nvidia/cuda_cupti/lib/") + kCupti);
  EXPECT_EQ(found(), cupti);
}

TEST_F(CuptiLibrary, IsTheOneOfTheToolkitOfTheRuntime) {
  load(std::string("cuda/lib64/") + kRuntime);
  put(std::string("cuda/extras/CUPTI/lib64/") + kCupti);
  EXPECT_EQ(found(), (root_ / "cuda/lib64/../extras/CUPTI/lib64" / kCupti).string());
}

TEST_F(CuptiLibrary, MayStandBesideAnotherLibraryOfCuda) {
  load(std::string("runtime/") + kRuntime);
  load("others/libcublas.so.97");
  const std::string cupti = put(std::string("others/") + kCupti);
  EXPECT_EQ(found(), cupti);
}

TEST_F(CuptiLibrary, IsNotSoughtBesideLibrariesOfOthers) {
  load(std::string("runtime/") + kRuntime);
  load("others/libxml2.so.97");
  put(std::string("others/") + kCupti);
  EXPECT_NE(found().find(std::string(kCupti) + " was not found beside the program's CUDA libraries"),
            std::string::npos);
}

TEST_F(CuptiLibrary, IsTheOneOfTorchWhereAnotherPackageHasAnotherCuda) {
  load(std::string("site-packages/nvidia/cu97/lib/") + kRuntime, TURNPIKE_RUNTIME_97);
  load("site-packages/torch/lib/libtorch_cuda.so", TURNPIKE_TORCH_OF_97);
  load("cupy/lib/libcudart.so.96");
  put("cupy/lib/libcupti.so.96");
  const std::string cupti = put(std::string("site-packages/nvidia/cu97/lib/") + kCupti);
  EXPECT_EQ(found(), cupti);
}

TEST_F(CuptiLibrary, IsTheOneOfTheToolkitThatTheEnvironmentNames) {
  load(std::string("runtime/") + kRuntime);
  put(std::string("toolkit/lib64/") + kCupti);
  ::setenv("CUDA_PATH", (root_ / "toolkit").c_str(), 1);
  EXPECT_EQ(found(), (root_ / "toolkit/lib64" / kCupti).string());
  ::unsetenv("CUDA_PATH");
}

TEST_F(CuptiLibrary, IsTheOneThatIsNamed) {
  const std::string cupti = put("mine.so");
  EXPECT_EQ(found(cupti.c_str()), cupti);
  const std::string missing = (root_ / "missing.so").string();
  EXPECT_EQ(found(missing.c_str()).find("libcupti could not be opened: "), 0u);
}

// CUPTI of CUDA 13.2 ends a program that calls it without a driver.
TEST_F(CuptiLibrary, IsNotOpenedOnAMachineWithoutADriver) {
  const bool has_driver = ::dlopen("libcuda.so.1", RTLD_NOW) != nullptr;
  load("lib/libcudart.so.97", TURNPIKE_RUNTIME_97);
  put("lib/libcupti.so.97");
  Cupti cupti{};
  std::string message;
  EXPECT_FALSE(load_cupti(nullptr, cupti, message));
  EXPECT_NE(message.find(has_driver ? "lacks cuptiGetVersion" : "there is no CUDA driver"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace turnpike::cuda
