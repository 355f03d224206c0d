// The tables of functions: each place has the function of its own name, and a library that lacks one is refused.
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "cuda/activity.h"
#include "cuda/cupti.h"
#include "cuda/driver.h"
#include "cuda/nvml.h"
#include "scripted_loader.h"

namespace turnpike::cuda {
namespace {

using testing::ElementsAre;

// The places of a table, each with the symbol that belongs there.
using Places = std::vector<std::pair<std::string, const void*>>;

template <typename Function>
std::pair<std::string, const void*> place(const char* symbol, Function* function) {
  return {symbol, reinterpret_cast<const void*>(function)};
}

Places places_of(const Driver& d) {
  return {place("cuInit", d.init),
          place("cuDriverGetVersion", d.driver_get_version),
          place("cuGetErrorString", d.get_error_string),
          place("cuDeviceGetCount", d.device_get_count),
          place("cuDeviceGet", d.device_get),
          place("cuDeviceGetName", d.device_get_name),
          place("cuDeviceTotalMem_v2", d.device_total_mem),
          place("cuDeviceGetAttribute", d.device_get_attribute),
          place("cuDevicePrimaryCtxRetain", d.device_primary_ctx_retain),
          place("cuDevicePrimaryCtxRelease_v2", d.device_primary_ctx_release),
          place("cuDevicePrimaryCtxGetState", d.device_primary_ctx_get_state),
          place("cuCtxGetDevice", d.ctx_get_device),
          place("cuCtxSetCurrent", d.ctx_set_current),
          place("cuCtxPushCurrent_v2", d.ctx_push_current),
          place("cuCtxPopCurrent_v2", d.ctx_pop_current),
          place("cuCtxSynchronize", d.ctx_synchronize),
          place("cuDeviceCanAccessPeer", d.device_can_access_peer),
          place("cuCtxEnablePeerAccess", d.ctx_enable_peer_access),
          place("cuMemAlloc_v2", d.mem_alloc),
          place("cuMemFree_v2", d.mem_free),
          place("cuMemGetAddressRange_v2", d.mem_get_address_range),
          place("cuMemHostAlloc", d.mem_host_alloc),
          place("cuMemFreeHost", d.mem_free_host),
          place("cuMemHostRegister_v2", d.mem_host_register),
          place("cuMemHostUnregister", d.mem_host_unregister),
          place("cuPointerGetAttribute", d.pointer_get_attribute),
          place("cuPointerGetAttributes", d.pointer_get_attributes),
          place("cuMemcpyHtoDAsync_v2", d.memcpy_htod_async),
          place("cuMemcpyDtoHAsync_v2", d.memcpy_dtoh_async),
          place("cuMemcpyPeerAsync", d.memcpy_peer_async),
          place("cuStreamCreate", d.stream_create),
          place("cuStreamDestroy_v2", d.stream_destroy),
          place("cuStreamQuery", d.stream_query),
          place("cuStreamSynchronize", d.stream_synchronize),
          place("cuStreamWaitEvent", d.stream_wait_event),
          place("cuStreamIsCapturing", d.stream_is_capturing),
          place("cuThreadExchangeStreamCaptureMode", d.thread_exchange_stream_capture_mode),
          place("cuEventCreate", d.event_create),
          place("cuEventRecord", d.event_record),
          place("cuEventElapsedTime", d.event_elapsed_time),
          place("cuEventQuery", d.event_query),
          place("cuEventSynchronize", d.event_synchronize),
          place("cuEventDestroy_v2", d.event_destroy)};
}

Places places_of(const Nvml& n) {
  return {place("nvmlInitWithFlags", n.init),
          place("nvmlShutdown", n.shutdown),
          place("nvmlDeviceGetHandleByPciBusId_v2", n.device_by_bus_id),
          place("nvmlDeviceGetCurrPcieLinkGeneration", n.current_generation),
          place("nvmlDeviceGetCurrPcieLinkWidth", n.current_width),
          place("nvmlDeviceGetGpuMaxPcieLinkGeneration", n.card_generation),
          place("nvmlDeviceGetMaxPcieLinkWidth", n.max_width),
          place("nvmlDeviceGetNvLinkState", n.nvlink_state),
          place("nvmlDeviceGetUtilizationRates", n.utilization),
          place("nvmlDeviceGetComputeRunningProcesses_v3", n.compute_processes)};
}

Places optional_places_of(const Nvml& n) {
  return {place("nvmlGpmSampleAlloc", n.gpm_sample_alloc), place("nvmlGpmSampleFree", n.gpm_sample_free),
          place("nvmlGpmSampleGet", n.gpm_sample_get), place("nvmlGpmMetricsGet", n.gpm_metrics_get)};
}

Places places_of(const Cupti& c) {
  return {place("cuptiGetVersion", c.get_version),
          place("cuptiGetResultString", c.get_result_string),
          place("cuptiGetTimestamp", c.get_timestamp),
          place("cuptiSubscribe", c.subscribe),
          place("cuptiEnableCallback", c.enable_callback),
          place("cuptiEnableDomain", c.enable_domain),
          place("cuptiGetCallbackName", c.get_callback_name),
          place("cuptiActivityEnable", c.activity_enable),
          place("cuptiActivityDisable", c.activity_disable),
          place("cuptiActivityRegisterCallbacks", c.activity_register_callbacks),
          place("cuptiActivityFlushAll", c.activity_flush_all),
          place("cuptiActivityGetNextRecord", c.activity_get_next_record),
          place("cuptiActivityGetNumDroppedRecords", c.activity_get_num_dropped_records),
          place("cuptiActivitySetAttribute", c.activity_set_attribute),
          place("cuptiGetStreamIdEx", c.get_stream_id),
          place("cuptiGetDeviceId", c.get_device_id)};
}

Places optional_places_of(const Cupti& c) {
  return {place("cuptiSubscribe_v2", c.subscribe_by_name), place("cuptiGetGraphNodeId", c.get_graph_node_id),
          place("cuptiActivityConfigureUnifiedMemoryCounter", c.configure_managed_memory)};
}

// Loads a table from a library that has everything.
template <typename Load>
auto whole(ScriptedLoader& loader, const Load& load) {
  auto table = load();
  EXPECT_TRUE(table) << table.error().message;
  for (const auto& [symbol, address] : places_of(*table)) EXPECT_EQ(address, loader.symbol(symbol)) << symbol;
  return *table;
}

// The error names the first function that the library lacks: where it lacks one, and where it lacks all that follow.
template <typename Load>
void expect_all_needed(ScriptedLoader& loader, const Places& places, const Load& load, const std::string& before,
                       const std::string& behind) {
  for (const auto& [symbol, address] : places) {
    loader.lacking = {symbol};
    const auto table = load();
    ASSERT_FALSE(table) << symbol;
    EXPECT_EQ(table.error().message, before + symbol + behind);
  }
  for (auto one = places.rbegin(); one != places.rend(); ++one) {
    loader.lacking.insert(one->first);
    EXPECT_EQ(load().error().message, before + one->first + behind);
  }
  loader.lacking.clear();
}

TEST(Tables, OfTheDriverHoldEachFunctionOfItsName) {
  ScriptedLoader loader;
  loader.files = loader.resident = {"libcuda.so.1"};
  const Driver driver = whole(loader, load_driver);
  EXPECT_EQ(loader.looked_up.size(), places_of(driver).size());
  const std::string too_old = ": the NVIDIA driver is too old for Turnpike; install a newer one";
  expect_all_needed(loader, places_of(driver), load_driver, "libcuda.so.1 has no ", too_old);
  whole(loader, find_loaded_driver);
  expect_all_needed(loader, places_of(driver), find_loaded_driver, "libcuda.so.1 has no ", too_old);
  std::uint64_t word = 0x1234567890;
  EXPECT_EQ(driver.read_word(&word), 0x1234567890u);
}

TEST(Tables, OfTheDriverAreOnlyLookedForWhereTheyMayBe) {
  ScriptedLoader loader;
  EXPECT_EQ(load_driver().error().message,
            "no CUDA driver on this machine (no such file). It comes with the NVIDIA driver.");
  loader.error = nullptr;
  EXPECT_EQ(load_driver().error().message,
            "no CUDA driver on this machine (libcuda.so.1). It comes with the NVIDIA driver.");
  loader.files = {"libcuda.so.1"};
  EXPECT_EQ(find_loaded_driver().error().message, "libcuda.so.1 is not loaded in this process");
  EXPECT_TRUE(load_driver());
  EXPECT_THAT(loader.opened, ElementsAre("libcuda.so.1", "libcuda.so.1", "libcuda.so.1 NOLOAD", "libcuda.so.1"));
  EXPECT_EQ(loader.closed, 0) << "the driver does not survive that";
}

TEST(Tables, OfNvmlHoldEachFunctionOfItsName) {
  ScriptedLoader loader;
  EXPECT_EQ(load_nvml().error().message, "libnvidia-ml.so.1 is not there");
  loader.files = {"libnvidia-ml.so.1"};
  const Nvml nvml = whole(loader, load_nvml);
  EXPECT_THAT(loader.opened, ElementsAre("libnvidia-ml.so.1", "libnvidia-ml.so.1"));
  expect_all_needed(loader, places_of(nvml), load_nvml, "libnvidia-ml.so.1 has no ", "");
  EXPECT_TRUE(nvml.has_gpm());
  for (const auto& [symbol, address] : optional_places_of(nvml)) {
    EXPECT_EQ(address, loader.symbol(symbol)) << symbol;
    loader.lacking = {symbol};
    const auto old = load_nvml();
    ASSERT_TRUE(old) << symbol;
    EXPECT_FALSE(old->has_gpm()) << symbol;
  }
}

Result<Cupti> load_named_cupti() {
  Cupti cupti{};
  std::string message;
  if (!load_cupti("/opt/cupti.so", cupti, message)) return Error{message};
  EXPECT_EQ(message, "/opt/cupti.so");
  return cupti;
}

TEST(Tables, OfCuptiHoldEachFunctionOfItsName) {
  ScriptedLoader loader;
  EXPECT_EQ(load_named_cupti().error().message, "libcupti could not be opened: no such file");
  loader.files = {"/opt/cupti.so"};
  const Cupti cupti = whole(loader, load_named_cupti);
  for (const auto& [symbol, address] : optional_places_of(cupti)) EXPECT_EQ(address, loader.symbol(symbol)) << symbol;
  EXPECT_THAT(loader.opened, ElementsAre("/opt/cupti.so", "/opt/cupti.so"));
  expect_all_needed(loader, places_of(cupti), load_named_cupti, "/opt/cupti.so lacks ",
                    ": it is too old; Turnpike needs CUPTI of CUDA 11.8 or newer");
  loader.lacking = {"cuptiSubscribe_v2", "cuptiGetGraphNodeId", "cuptiActivityConfigureUnifiedMemoryCounter"};
  const Cupti old = whole(loader, load_named_cupti);
  for (const auto& [symbol, address] : optional_places_of(old)) EXPECT_EQ(address, nullptr) << symbol;
}

TEST(Words, OfTheDriverStandBesideTheNumber) {
  Driver driver;
  driver.get_error_string = [](DriverCode code, const char** sentence) {
    *sentence = code == 3 ? nullptr : "out of memory";
    return code == 4 ? 1 : 0;
  };
  EXPECT_EQ(driver.describe(2), "out of memory (CUDA error 2)");
  EXPECT_EQ(driver.describe(3), "CUDA error 3") << "no sentence";
  EXPECT_EQ(driver.describe(4), "CUDA error 4") << "a sentence of a call that failed";
}

TEST(Words, OfCuptiAreThereOrMissing) {
  Cupti cupti{};
  EXPECT_STREQ(cupti.describe(2), "unknown CUPTI error");
  cupti.get_result_string = [](CuptiResult result, const char** text) {
    *text = result == 3 ? nullptr : "CUPTI_ERROR_NOT_READY";
    return result == 4 ? CuptiResult{1} : kCuptiSuccess;
  };
  EXPECT_STREQ(cupti.describe(2), "CUPTI_ERROR_NOT_READY");
  EXPECT_STREQ(cupti.describe(3), "unknown CUPTI error");
  EXPECT_STREQ(cupti.describe(4), "unknown CUPTI error");
}

std::vector<std::string> g_configured;

TEST(Words, ToCuptiAskForTheManagedMemoryOfEveryDevice) {
  Cupti cupti{};
  EXPECT_EQ(cupti.configure_managed_memory_counters(), CuptiResult{CUPTI_ERROR_NOT_SUPPORTED});
  cupti.configure_managed_memory = [](const void* configurations, std::uint32_t count) {
    const auto* one = static_cast<const CUpti_ActivityUnifiedMemoryCounterConfig*>(configurations);
    for (std::uint32_t i = 0; i < count; ++i, ++one) {
      g_configured.push_back(std::to_string(one->scope) + " " + std::to_string(one->kind) + " " +
                             std::to_string(one->deviceId) + " " + std::to_string(one->enable));
    }
    return CuptiResult{77};
  };
  EXPECT_EQ(cupti.configure_managed_memory_counters(), 77u);
  // Of all devices (2) the bytes to the device (1) and to the host (2).
  EXPECT_THAT(g_configured, ElementsAre("2 1 0 1", "2 2 0 1"));
}

TEST(Codes, OfStreamCaptureAreNineInARow) {
  EXPECT_FALSE(is_capture_code(899));
  for (DriverCode code = 900; code <= 908; ++code) EXPECT_TRUE(is_capture_code(code)) << code;
  EXPECT_FALSE(is_capture_code(909));
  EXPECT_FALSE(is_capture_code(0));
}

TEST(Copies, AreCountedFromTheCuptiOnThatCountsThem) {
  CUpti_ActivityMemcpy6 record{};
  const auto count = [&](std::uint64_t copies, std::uint32_t version) {
    record.copyCount = copies;
    return copy_count(reinterpret_cast<const MemcpyActivity&>(record), version);
  };
  EXPECT_EQ(count(7, 25), 1u) << "the field is of CUDA 12.8 (26)";
  EXPECT_EQ(count(7, 26), 7u);
  EXPECT_EQ(count(1, 130000), 1u);
  EXPECT_EQ(count(0, 130000), 1u);
}

}  // namespace
}  // namespace turnpike::cuda
