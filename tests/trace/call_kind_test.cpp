// What the name of a call tells: every maker, and names of nobody.
#include "trace/call_kind.h"

#include <gtest/gtest.h>

namespace turnpike::trace {
namespace {

TEST(CallNames, TellWhatACallIsFor) {
  const std::pair<const char*, CallKind> cases[] = {
      {"cudaMemcpyToSymbolAsync", CallKind::kCopy},
      {"cudaMemset2D", CallKind::kMemset},
      {"cudaThreadSynchronize", CallKind::kSynchronize},
      {"cudaEventSynchronize", CallKind::kSynchronize},
      {"hipExtLaunchKernel", CallKind::kLaunch},
      {"hipHccModuleLaunchKernel", CallKind::kLaunch},
      {"hipExtModuleLaunchKernel", CallKind::kLaunch},
      {"cudaLaunchHostFunc", CallKind::kOther},
      {"hipHostMalloc", CallKind::kHostAlloc},
      {"hipExtMallocWithFlags", CallKind::kDeviceAlloc},
      {"hipHostFree", CallKind::kHostFree},
      {"cudaHostUnregister", CallKind::kHostUnregister},
      {"cuMemPrefetchAsync", CallKind::kPrefetch},
      {"cuMemAllocHost_v2", CallKind::kHostAlloc},
      {"cuMemHostAlloc", CallKind::kHostAlloc},
      {"cuMemAllocManaged", CallKind::kManagedAlloc},
      {"cuMemAlloc_v2", CallKind::kDeviceAlloc},
      {"cuMemCreate", CallKind::kDeviceAlloc},
      {"cuMemRelease", CallKind::kDeviceFree},
      {"cuMemFreeHost", CallKind::kHostFree},
      {"cuMemFree_v2", CallKind::kDeviceFree},
      {"cuMemHostRegister_v2", CallKind::kHostRegister},
      {"cuMemHostUnregister", CallKind::kHostUnregister},
      {"cuEventRecord", CallKind::kEventRecord},
      {"cuStreamWaitEvent", CallKind::kStreamWait},
      {"cuGraphLaunch", CallKind::kGraphLaunch},
      {"zeCommandListAppendMemoryFill", CallKind::kMemset},
      {"urEnqueueUSMFill", CallKind::kMemset},
      {"urEnqueueMemBufferCopyRect", CallKind::kCopy},
      {"zeCommandQueueSynchronize", CallKind::kSynchronize},
      {"zeCommandListAppendLaunchKernel", CallKind::kLaunch},
      {"piEnqueueKernelLaunch", CallKind::kLaunch},
      {"piEventsWait", CallKind::kOther},
      {"urEventWait", CallKind::kSynchronize},
      // No known kind: a prefix alone, a lowercase letter after it, no prefix, or an unknown one.
      {"cuda", CallKind::kOther},
      {"cudamemcpy", CallKind::kOther},
      {"cumulative", CallKind::kOther},
      {"hip", CallKind::kOther},
      {"Memcpy", CallKind::kOther},
      {"xxMemcpy", CallKind::kOther},
      {"", CallKind::kOther},
      {"cuda@Memcpy", CallKind::kOther},
      {"cuda[Memcpy", CallKind::kOther},
  };
  for (const auto& [name, kind] : cases) EXPECT_EQ(call_kind_of(name), kind) << name;
}

TEST(CallNames, TellWhetherACopyIsAsynchronous) {
  EXPECT_TRUE(names_async_copy("cudaMemcpy2DAsync"));
  EXPECT_TRUE(names_async_copy("Async"));
  EXPECT_FALSE(names_async_copy("cudaMemcpy2D"));
  EXPECT_FALSE(names_async_copy("hipMemcpyasync"));
}

}  // namespace
}  // namespace turnpike::trace
