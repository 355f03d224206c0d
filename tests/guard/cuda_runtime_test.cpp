// What the guard asks of libcudart, and of one that lacks what it asks.
#include "guard/cuda_runtime.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace turnpike::guard {
namespace {

void* symbol_of(const char* library, const char* name) {
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return opened == nullptr ? nullptr : dlsym(opened, name);
}

TEST(CudaRuntime, KnowsTheMemoryOfALibraryThatHasAll) {
  void* copy = symbol_of(FAKE_CUDART, "cudaMemcpy");
  ASSERT_NE(copy, nullptr);
  CudaRuntime runtime;
  EXPECT_FALSE(runtime.is_bound());
  EXPECT_TRUE(runtime.bind(copy));
  EXPECT_TRUE(runtime.is_bound());
  const auto pinned = reinterpret_cast<void* (*)()>(symbol_of(FAKE_CUDART, "fake_pinned"));
  EXPECT_EQ(runtime.memory_at(pinned()).host, HostMemory::kPinned);
}

// Not half: the function that is missing would be called as soon as another one fails.
TEST(CudaRuntime, IsNotBoundToALibraryThatLacksAFunction) {
  void* copy = symbol_of(OLD_CUDART, "cudaMemcpy");
  ASSERT_NE(copy, nullptr);
  ASSERT_EQ(symbol_of(OLD_CUDART, "cudaGetLastError"), nullptr);
  CudaRuntime runtime;
  EXPECT_FALSE(runtime.bind(copy));
  EXPECT_FALSE(runtime.is_bound());
  const int here = 0;
  EXPECT_EQ(runtime.memory_at(&here).host, Memory{}.host);
  EXPECT_FALSE(runtime.is_capturing(&here));
}

TEST(CudaRuntime, IsNotBoundToWhatIsNoLibrary) {
  CudaRuntime runtime;
  EXPECT_FALSE(runtime.bind(nullptr));
  EXPECT_FALSE(runtime.is_bound());
}

}  // namespace
}  // namespace turnpike::guard
