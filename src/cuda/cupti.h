// CUPTI as the recorder sees it: its functions in one table, loaded at run time, and the little of its types that
// callers need, in our own words. Checked against NVIDIA's headers in cupti.cpp; no vendor header is included here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace turnpike::cuda {

// CUptiResult. Only the values that are told apart.
using CuptiResult = std::uint32_t;
inline constexpr CuptiResult kCuptiSuccess = 0;
inline constexpr CuptiResult kCuptiInvalidParameter = 1;
inline constexpr CuptiResult kCuptiMaxLimitReached = 12;  // the end of a buffer of activity records
inline constexpr CuptiResult kCuptiNotSupported = 27;
inline constexpr CuptiResult kCuptiMultipleSubscribers = 39;

enum class CallbackDomain : std::uint32_t { kDriverApi = 1, kRuntimeApi = 2, kResource = 3 };
enum class CallbackSite : std::uint32_t { kEnter = 0, kExit = 1 };

// Resource callbacks that the recorder asks for.
inline constexpr std::uint32_t kStreamCreated = 3;
inline constexpr std::uint32_t kGraphNodeCreated = 13;
inline constexpr std::uint32_t kGraphNodeCloned = 20;

// CUpti_CallbackData: what a callback of the driver or runtime API is given.
struct ApiCallback {
  CallbackSite site;
  const char* function_name;
  const void* parameters;  // the struct of the call's arguments, see api_calls.h
  void* return_value;      // CUresult* or cudaError_t*, at exit
  const char* symbol_name;
  void* context;  // CUcontext
  std::uint32_t context_id;
  std::uint64_t* slot;        // kept by CUPTI between enter and exit of one call
  std::uint32_t correlation;  // unique in the process; a driver call inside a runtime call has the runtime call's
};

// CUpti_ResourceData and, for graph callbacks, the CUpti_GraphData it points to.
struct ResourceCallback {
  void* context;
  void* stream;
  void* descriptor;
};
struct GraphCallback {
  void* graph;
  void* original_graph;
  void* node;
  void* original_node;
};

using CallbackFunction = void (*)(void* user, CallbackDomain domain, std::uint32_t callback_id, const void* data);
using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size_bytes, std::size_t* max_records);
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size_bytes,
                                 std::size_t valid_bytes);

enum class ActivityKind : std::uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kConcurrentKernel = 10,
  kPeerMemcpy = 22,
  kManagedMemory = 25,
};

enum class ActivityAttribute : std::uint32_t { kZeroedOutBuffers = 5, kPinnedHostMemory = 8, kPerThreadBuffers = 9 };

inline constexpr std::uint32_t kFlushForced = 1;

// The version of CUPTI that came with CUDA 13.0 before its first update: disabling kernels may deadlock there.
inline constexpr std::uint32_t kVersionOfCuda130 = 130000;

// The functions of one loaded libcupti. A null member does not exist in that version (only those marked optional may be
// null).
struct Cupti {
  CuptiResult (*get_version)(std::uint32_t* version);
  CuptiResult (*get_result_string)(CuptiResult result, const char** text);
  CuptiResult (*get_timestamp)(std::uint64_t* timestamp);
  CuptiResult (*subscribe)(void** subscriber, CallbackFunction callback, void* user);
  CuptiResult (*subscribe_by_name)(void** subscriber, CallbackFunction callback, void* user, void* parameters);  // 13.0
  CuptiResult (*enable_callback)(std::uint32_t enable, void* subscriber, CallbackDomain domain, std::uint32_t id);
  CuptiResult (*enable_domain)(std::uint32_t enable, void* subscriber, CallbackDomain domain);
  CuptiResult (*get_callback_name)(CallbackDomain domain, std::uint32_t id, const char** name);
  CuptiResult (*activity_enable)(ActivityKind kind);
  CuptiResult (*activity_disable)(ActivityKind kind);
  CuptiResult (*activity_register_callbacks)(BufferRequested requested, BufferCompleted completed);
  CuptiResult (*activity_flush_all)(std::uint32_t flags);
  CuptiResult (*activity_get_next_record)(std::uint8_t* buffer, std::size_t valid_bytes, void** record);
  CuptiResult (*activity_get_num_dropped_records)(void* context, std::uint32_t stream, std::size_t* dropped);
  CuptiResult (*activity_set_attribute)(ActivityAttribute attribute, std::size_t* value_bytes, void* value);
  CuptiResult (*get_stream_id)(void* context, void* stream, std::uint8_t per_thread, std::uint32_t* id);
  CuptiResult (*get_device_id)(void* context, std::uint32_t* device);
  CuptiResult (*get_graph_node_id)(void* node, std::uint64_t* id);                           // optional: CUDA 11.1
  CuptiResult (*configure_managed_memory)(const void* configurations, std::uint32_t count);  // optional

  // Subscribes, where CUPTI knows names as "turnpike": other tools are then told who holds it. `holder`: on
  // kCuptiMultipleSubscribers, who holds it, as far as CUPTI tells; else empty.
  CuptiResult subscribe_as_turnpike(void** subscriber, CallbackFunction callback, void* user,
                                    std::string& holder) const;
  // The text that CUPTI has for a result, e.g. CUPTI_ERROR_INVALID_PARAMETER.
  const char* describe(CuptiResult result) const noexcept;
  // Asks for migrations and faults of managed memory on every device; to be called before its activity kind is enabled.
  CuptiResult configure_managed_memory_counters() const noexcept;
};

// Fills `cupti` from the library that belongs to this process: `path` when it is not null or empty, else a libcupti
// that is already loaded, else the one beside the process's CUDA libraries or in the usual places, of the major version
// of its CUDA runtime (or driver). `message` says what was tried on failure, and the library's path on success.
bool load_cupti(const char* path, Cupti& cupti, std::string& message);

}  // namespace turnpike::cuda
