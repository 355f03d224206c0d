// Which version of libcupti is looked for, and where, in which order.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "cuda/cupti_library.h"
#include "scripted_loader.h"

namespace turnpike::cuda {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CuptiSearch : public testing::Test {
 protected:
  CuptiSearch() {
    ::unsetenv("CUDA_HOME");
    ::unsetenv("CUDA_PATH");
  }
  ~CuptiSearch() override {
    ::unsetenv("CUDA_HOME");
    ::unsetenv("CUDA_PATH");
  }

  // The path of what was opened, or why nothing was.
  std::string found(const char* path = nullptr) {
    loader_.opened.clear();
    std::string message;
    has_found_ = open_cupti_library(path, message) != nullptr;
    return message;
  }
  // The version that is looked for.
  std::string wanted() {
    found();
    return loader_.opened.empty() ? "" : loader_.opened.back();
  }

  ScriptedLoader loader_;
  bool has_found_ = false;
};

const std::string kAdvice =
    " was not found beside the program's CUDA libraries, in CUDA_HOME or in the system's search path. Install it (pip "
    "install nvidia-cuda-cupti";

TEST_F(CuptiSearch, TriesEveryPlaceInOrder) {
  loader_.loaded = {{.path = ""},
                    {.path = nullptr},
                    {.path = "/usr/lib/libc.so.6"},
                    {.path = "/usr/lib/libnvidia-ml.so.1"},
                    {.path = "/env/site-packages/torch/lib/libtorch_cuda.so"},
                    {.path = "/opt/cuda/lib64/libcudart.so.97"},
                    {.path = "/env/lib/libcublas.so"},
                    {.path = "libcurand.so"}};
  loader_.own_path = "/own/site-packages/turnpike/_native/libturnpike_record.so";
  ::setenv("CUDA_HOME", "", 1);
  ::setenv("CUDA_PATH", "/path", 1);
  EXPECT_EQ(found(), "libcupti.so.97" + kAdvice + ") or set TURNPIKE_CUPTI to its path");
  EXPECT_FALSE(has_found_);
  EXPECT_THAT(
      loader_.opened,
      ElementsAre("libcupti.so.97 NOLOAD",  //
                  "/opt/cuda/lib64/libcupti.so.97", "/opt/cuda/lib64/../extras/CUPTI/lib64/libcupti.so.97",
                  "/opt/cuda/lib64/../lib64/libcupti.so.97",
                  "/opt/cuda/lib64/../targets/x86_64-linux/lib/libcupti.so.97",  //
                  "/usr/lib/libcupti.so.97", "/usr/lib/../extras/CUPTI/lib64/libcupti.so.97",
                  "/usr/lib/../lib64/libcupti.so.97", "/usr/lib/../targets/x86_64-linux/lib/libcupti.so.97",  //
                  "/env/site-packages/torch/lib/libcupti.so.97", "/env/site-packages/nvidia/cu97/lib/libcupti.so.97",
                  "/env/site-packages/nvidia/cuda_cupti/lib/libcupti.so.97",
                  "/env/site-packages/torch/lib/../extras/CUPTI/lib64/libcupti.so.97",
                  "/env/site-packages/torch/lib/../lib64/libcupti.so.97",
                  "/env/site-packages/torch/lib/../targets/x86_64-linux/lib/libcupti.so.97",  //
                  "/env/lib/libcupti.so.97", "/env/lib/../extras/CUPTI/lib64/libcupti.so.97",
                  "/env/lib/../lib64/libcupti.so.97", "/env/lib/../targets/x86_64-linux/lib/libcupti.so.97",  //
                  "./libcupti.so.97", "./../extras/CUPTI/lib64/libcupti.so.97", "./../lib64/libcupti.so.97",
                  "./../targets/x86_64-linux/lib/libcupti.so.97",  //
                  "/own/site-packages/nvidia/cu97/lib/libcupti.so.97",
                  "/own/site-packages/nvidia/cuda_cupti/lib/libcupti.so.97",  //
                  "/path/extras/CUPTI/lib64/libcupti.so.97", "/path/lib64/libcupti.so.97",
                  "/path/targets/x86_64-linux/lib/libcupti.so.97",  //
                  "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.97", "/usr/local/cuda/lib64/libcupti.so.97",
                  "/usr/local/cuda/targets/x86_64-linux/lib/libcupti.so.97",  //
                  "libcupti.so.97"));
}

TEST_F(CuptiSearch, TakesTheFirstThatIsThere) {
  loader_.loaded = {{.path = "/opt/libcudart.so.97"}};
  loader_.files = {"/usr/local/cuda/lib64/libcupti.so.97", "libcupti.so.97"};
  EXPECT_EQ(found(), "/usr/local/cuda/lib64/libcupti.so.97");
  EXPECT_TRUE(has_found_);
  loader_.resident = {"libcupti.so.97"};
  EXPECT_EQ(found(), "libcupti.so.97");
  EXPECT_THAT(loader_.opened, ElementsAre("libcupti.so.97 NOLOAD"));
}

TEST_F(CuptiSearch, AsksNobodyWhereTurnpikeStandsInVain) {
  loader_.loaded = {{.path = "/opt/libcudart.so.97"}};
  const auto is_own_place = HasSubstr("nvidia/cuda_cupti");
  found();
  EXPECT_THAT(loader_.opened, Not(Contains(is_own_place))) << "it stands among no packages";
  loader_.own_path = "/own/site-packages/turnpike/_native/libturnpike_record.so";
  found();
  EXPECT_THAT(loader_.opened, Contains(is_own_place));
  loader_.dladdr_result = 0;
  found();
  EXPECT_THAT(loader_.opened, Not(Contains(is_own_place)));
  loader_.dladdr_result = 1;
  loader_.own_path = nullptr;
  found();
  EXPECT_THAT(loader_.opened, Not(Contains(is_own_place)));
}

TEST_F(CuptiSearch, WantsTheVersionThatPyTorchNeeds) {
  const LoadedLibrary runtime{.path = "/cupy/libcudart.so.96"};
  const LoadedLibrary other{.path = "/cupy/libcublas.so", .needed = {"libcudart.so.95"}};
  loader_.loaded = {runtime, other};
  EXPECT_EQ(wanted(), "libcupti.so.96");
  loader_.loaded = {other,
                    {.path = "/torch/libtorch_cpu.so", .needed = {"libc.so.6"}},
                    {.path = "/torch/libc10_cuda.so", .needed = {"libc.so.6", "libcudart.so.97", "libcudart.so.94"}},
                    {.path = "/other/libtorch_cuda.so", .needed = {"libcudart.so.93"}},
                    runtime};
  EXPECT_EQ(wanted(), "libcupti.so.97");
  // PyTorch's libraries of which nothing can be learned.
  for (const LoadedLibrary& torch :
       {LoadedLibrary{.path = "/torch/libtorch.so", .needed = {"libcudart.so.97"}, .has_dynamic_section = false},
        LoadedLibrary{.path = "/torch/libtorch.so", .needed = {"libcudart.so.97"}, .has_texts = false},
        LoadedLibrary{.path = "/torch/libtorch.so", .needed = {"libm.so.6"}},
        LoadedLibrary{.path = "/torch/libtorch.so"}}) {
    loader_.loaded = {torch, runtime};
    EXPECT_EQ(wanted(), "libcupti.so.96");
  }
}

int g_driver_version = 0;

TEST_F(CuptiSearch, WantsTheVersionOfTheDriverWhereNoRuntimeIsLoaded) {
  const std::string no_driver =
      "there is no CUDA driver on this machine (libcuda.so.1, which the NVIDIA driver brings)";
  EXPECT_EQ(found(), no_driver);
  EXPECT_THAT(loader_.opened, ElementsAre("libcuda.so.1"));
  EXPECT_EQ(loader_.closed, 0);
  loader_.files = {"libcuda.so.1"};
  int (*const get_version)(int*) = [](int* version) { return *version = g_driver_version, 0; };
  loader_.functions["cuDriverGetVersion"] = reinterpret_cast<void*>(get_version);
  EXPECT_EQ(found(), no_driver) << "it says 0";
  EXPECT_EQ(loader_.closed, 1);
  g_driver_version = 13000;
  EXPECT_EQ(found(""), "libcupti.so.13" + kAdvice + ") or set TURNPIKE_CUPTI to its path");
  g_driver_version = 12090;
  EXPECT_EQ(found(), "libcupti.so.12" + kAdvice + "-cu12) or set TURNPIKE_CUPTI to its path");
  loader_.lacking = {"cuDriverGetVersion"};
  EXPECT_EQ(found(), no_driver);
}

}  // namespace
}  // namespace turnpike::cuda
