// The table of names.
#include "trace/call_kind.h"

namespace turnpike::trace {
namespace {

struct KindOfStart {
  std::string_view start;
  CallKind kind;
};

// Behind "cuda", "hip" or "cu". The first that fits counts: longer ones stand before their own beginnings. What NVIDIA
// calls cudaMalloc is cuMemAlloc in the driver, so names of both are here.
constexpr KindOfStart kStarts[] = {
    {"MemcpyToSymbol", CallKind::kCopy},
    {"Memcpy", CallKind::kCopy},
    {"Memset", CallKind::kMemset},
    {"StreamSynchronize", CallKind::kSynchronize},
    {"DeviceSynchronize", CallKind::kSynchronize},
    {"ThreadSynchronize", CallKind::kSynchronize},
    {"CtxSynchronize", CallKind::kSynchronize},
    {"EventSynchronize", CallKind::kSynchronize},
    {"GraphLaunch", CallKind::kGraphLaunch},
    {"LaunchHostFunc", CallKind::kOther},
    {"Launch", CallKind::kLaunch},
    {"ExtLaunch", CallKind::kLaunch},        // hipExtLaunchKernel
    {"ModuleLaunch", CallKind::kLaunch},     // hipModuleLaunchKernel
    {"ExtModuleLaunch", CallKind::kLaunch},  // hipExtModuleLaunchKernel
    {"HccModuleLaunch", CallKind::kLaunch},  // hipHccModuleLaunchKernel
    {"EventRecord", CallKind::kEventRecord},
    {"StreamWaitEvent", CallKind::kStreamWait},
    {"MallocHost", CallKind::kHostAlloc},
    {"HostMalloc", CallKind::kHostAlloc},
    {"MallocManaged", CallKind::kManagedAlloc},
    {"Malloc", CallKind::kDeviceAlloc},
    {"ExtMallocWithFlags", CallKind::kDeviceAlloc},
    {"HostAlloc", CallKind::kHostAlloc},
    {"FreeHost", CallKind::kHostFree},
    {"HostFree", CallKind::kHostFree},
    {"Free", CallKind::kDeviceFree},
    {"HostRegister", CallKind::kHostRegister},
    {"HostUnregister", CallKind::kHostUnregister},
    {"MemPrefetch", CallKind::kPrefetch},
    {"MemDiscardAndPrefetch", CallKind::kPrefetch},
    {"MemBatchDecompress", CallKind::kLaunch},  // work of the device, for which CUPTI has no record
    {"MemAllocHost", CallKind::kHostAlloc},
    {"MemHostAlloc", CallKind::kHostAlloc},
    {"MemAllocManaged", CallKind::kManagedAlloc},
    {"MemAlloc", CallKind::kDeviceAlloc},
    {"MemCreate", CallKind::kDeviceAlloc},  // physical memory
    {"MemRelease", CallKind::kDeviceFree},
    {"MemFreeHost", CallKind::kHostFree},
    {"MemFree", CallKind::kDeviceFree},
    {"MemHostRegister", CallKind::kHostRegister},
    {"MemHostUnregister", CallKind::kHostUnregister},
};

// Anywhere in a name of Intel's: zeCommandListAppendMemoryCopy, urEnqueueUSMMemcpy, piEnqueueKernelLaunch.
constexpr KindOfStart kIntelParts[] = {
    {"MemoryCopy", CallKind::kCopy},         {"Memcpy", CallKind::kCopy},
    {"MemBufferCopy", CallKind::kCopy},      {"MemoryFill", CallKind::kMemset},
    {"USMFill", CallKind::kMemset},          {"LaunchKernel", CallKind::kLaunch},
    {"KernelLaunch", CallKind::kLaunch},     {"Synchronize", CallKind::kSynchronize},
    {"QueueFinish", CallKind::kSynchronize}, {"EventWait", CallKind::kSynchronize},
};

// The name without the prefix of its vendor, such as "Memcpy" for "cudaMemcpy"; empty if it has none of these prefixes.
std::string_view without_maker(std::string_view name) {
  for (const std::string_view maker : {"cuda", "hip", "cu"}) {
    const bool is_of_maker =
        name.starts_with(maker) && name.size() > maker.size() && name[maker.size()] >= 'A' && name[maker.size()] <= 'Z';
    if (is_of_maker) return name.substr(maker.size());
  }
  return {};
}

bool is_of_intel(std::string_view name) {
  return name.starts_with("ze") || name.starts_with("ur") || name.starts_with("pi");
}

}  // namespace

CallKind call_kind_of(std::string_view name) noexcept {
  if (const std::string_view rest = without_maker(name); !rest.empty()) {
    for (const KindOfStart& known : kStarts) {
      if (rest.starts_with(known.start)) return known.kind;
    }
  } else if (is_of_intel(name)) {
    for (const KindOfStart& known : kIntelParts) {
      if (name.find(known.start) != std::string_view::npos) return known.kind;
    }
  }
  return CallKind::kOther;
}

bool names_async_copy(std::string_view name) noexcept {
  return name.find("Async") != std::string_view::npos;
}

}  // namespace turnpike::trace
