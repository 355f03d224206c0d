// An observer that hears of calls, and a CUPTI that tells it of those that a test makes.
#pragma once

#include <cupti.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "record/handover/loss_counters.h"
#include "record/handover/one_handover.h"
#include "record/handover/thread_buffer.h"
#include "record/handover/thread_handover.h"
#include "record/observe/api_observer.h"
#include "record/stacks/stack_table.h"
#include "record/stacks/string_table.h"

namespace turnpike::record {

using cuda::CallbackDomain;
using cuda::CallbackSite;
using trace::Loss;

inline const std::map<std::pair<CallbackDomain, std::uint32_t>, const char*> kNames = {
    {{CallbackDomain::kRuntimeApi, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020}, "cudaMemcpyAsync_v3020"},
    {{CallbackDomain::kRuntimeApi, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000}, "cudaMemcpyAsync_ptsz_v7000"},
    {{CallbackDomain::kRuntimeApi, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020},
     "cudaStreamSynchronize_v3020"},
    {{CallbackDomain::kRuntimeApi, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000},
     "cudaStreamSynchronize_ptsz_v7000"},
    {{CallbackDomain::kRuntimeApi, CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020}, "cudaEventRecord_v3020"},
    {{CallbackDomain::kRuntimeApi, CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000}, "cudaMallocManaged_v6000"},
    {{CallbackDomain::kRuntimeApi, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020}, "cudaGetDevice_v3020"},
    {{CallbackDomain::kRuntimeApi, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000}, "cudaProfilerStart_v4000"},
    {{CallbackDomain::kDriverApi, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2}, "cuMemcpyHtoDAsync_v2"},
    {{CallbackDomain::kDriverApi, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel}, "cuLaunchKernel"},
    {{CallbackDomain::kDriverApi, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop}, "cuProfilerStop"},
};

// CUPTI, as far as the observer uses it, and what it was asked.
struct FakeCupti {
  cuda::CuptiResult subscribed = cuda::kCuptiSuccess;
  cuda::CuptiResult enabled = cuda::kCuptiSuccess;
  bool has_names = true;
  bool has_later_names = false;  // of functions that only a later CUDA has: one that copies, one that does not
  cuda::CallbackFunction callback = nullptr;
  void* user = nullptr;
  std::set<std::pair<CallbackDomain, std::uint32_t>> listened;
  std::vector<cuda::ActivityKind> activities;
  int subscribed_count = 0;
  bool is_finalized = false;  // by another tool: the subscription is none any more
  int device_questions = 0;
  int stream_questions = 0;
  bool tells_new_streams = true;
};
inline FakeCupti g_cupti;

inline void* pointer(std::uint64_t value) {
  return reinterpret_cast<void*>(value);
}

// A context is the number of its device plus 100, a stream the number of its id.
inline cuda::Cupti fake_cupti() {
  cuda::Cupti cupti{};
  cupti.get_result_string = [](cuda::CuptiResult, const char** text) -> cuda::CuptiResult {
    *text = "A REASON";
    return cuda::kCuptiSuccess;
  };
  cupti.subscribe = [](void** subscriber, cuda::CallbackFunction callback, void* user) {
    *subscriber = pointer(55);
    ++g_cupti.subscribed_count;
    g_cupti.is_finalized = false;
    g_cupti.callback = callback;
    g_cupti.user = user;
    return g_cupti.subscribed;
  };
  cupti.enable_domain = [](std::uint32_t enable, void* subscriber, CallbackDomain domain) -> cuda::CuptiResult {
    EXPECT_EQ(subscriber, pointer(55));
    EXPECT_EQ(enable, 0u);
    if (g_cupti.is_finalized) return 1;
    std::erase_if(g_cupti.listened, [&](const auto& call) { return call.first == domain; });
    return cuda::kCuptiSuccess;
  };
  cupti.enable_callback = [](std::uint32_t enable, void* subscriber, CallbackDomain domain, std::uint32_t id) {
    EXPECT_EQ(subscriber, pointer(55));
    if (enable == 0) {
      EXPECT_EQ(g_cupti.listened.erase({domain, id}), 1u) << id << " is switched off and was not on";
      return cuda::kCuptiSuccess;
    }
    g_cupti.listened.insert({domain, id});
    if (domain == CallbackDomain::kResource && id == CUPTI_CBID_RESOURCE_STREAM_CREATED && !g_cupti.tells_new_streams) {
      return cuda::CuptiResult{1};
    }
    return g_cupti.enabled;
  };
  cupti.get_callback_name = [](CallbackDomain domain, std::uint32_t id, const char** name) -> cuda::CuptiResult {
    if (g_cupti.has_later_names && domain == CallbackDomain::kDriverApi && (id == 2048 || id == 2100)) {
      *name = id == 2048 ? "cuMemcpyOfLaterAsync" : "cuCtxOfLater";
      return cuda::kCuptiSuccess;
    }
    const auto found = kNames.find({domain, id});
    if (found == kNames.end() || !g_cupti.has_names) return 1;
    *name = found->second;
    return cuda::kCuptiSuccess;
  };
  cupti.activity_enable = [](cuda::ActivityKind kind) {
    g_cupti.activities.push_back(kind);
    return cuda::kCuptiSuccess;
  };
  cupti.activity_disable = cupti.activity_enable;
  cupti.configure_managed_memory = [](const void*, std::uint32_t) { return cuda::kCuptiSuccess; };
  cupti.get_stream_id = [](void* context, void* stream, std::uint8_t per_thread,
                           std::uint32_t* id) -> cuda::CuptiResult {
    EXPECT_NE(context, nullptr);
    ++g_cupti.stream_questions;
    *id = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(stream)) + (per_thread != 0 ? 1000 : 7);
    return cuda::kCuptiSuccess;
  };
  cupti.get_device_id = [](void* context, std::uint32_t* device) -> cuda::CuptiResult {
    ++g_cupti.device_questions;
    *device = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(context)) - 100;
    return cuda::kCuptiSuccess;
  };
  cupti.get_graph_node_id = [](void* node, std::uint64_t* id) -> cuda::CuptiResult {
    *id = reinterpret_cast<std::uint64_t>(node);
    return *id == 13 ? 1 : cuda::kCuptiSuccess;
  };
  return cupti;
}

class ApiObserverTest : public testing::Test {
 protected:
  ApiObserverTest() {
    g_cupti = {};
    auto& [losses, handover] = one_handover();
    handover_ = &handover;
    losses_ = &losses;
    losses.reset();
    handover.drain([](const std::byte*) {});
    if (ThreadBuffer* buffer = handover.mine(); buffer != nullptr) {
      buffer->open_correlation = 0;
      buffer->has_made_graph_node = false;
      buffer->stream_ids.clear();  // of the observer of another test
    }
    observer_ = std::make_unique<ApiObserver>(strings_, *stacks_, losses, handover);
  }
  ~ApiObserverTest() override { observer_->end_calls(); }

  bool subscribe(const Options& options = {}) { return observer_->subscribe(cupti_, options, error_); }

  struct Call {
    CallbackDomain domain = CallbackDomain::kRuntimeApi;
    std::uint32_t id;
    std::uint32_t correlation;
    const void* parameters = nullptr;
    std::int32_t result = 0;
    std::uint64_t context = 103;
    std::uint32_t context_id = 9;
    std::uint64_t slot = 0;
  };
  void at(CallbackSite site, Call& call) {
    cuda::ApiCallback data{};
    data.site = site;
    data.parameters = call.parameters;
    data.return_value = &call.result;
    data.context = pointer(call.context);
    data.context_id = call.context_id;
    data.slot = &call.slot;
    data.correlation = call.correlation;
    g_cupti.callback(g_cupti.user, call.domain, call.id, &data);
  }
  void make(Call call) {
    at(CallbackSite::kEnter, call);
    at(CallbackSite::kExit, call);
  }

  // What was handed over since the last time.
  template <typename Record>
  std::vector<Record> drain(trace::RecordKind kind) {
    std::vector<Record> records;
    handover_->drain([&](const std::byte* slot) {
      trace::RecordHeader header;
      std::memcpy(&header, slot, sizeof header);
      if (header.kind != kind) return;
      EXPECT_EQ(header.bytes, sizeof(Record));
      Record record;
      std::memcpy(&record, slot, sizeof record);
      records.push_back(record);
    });
    return records;
  }
  std::vector<trace::CallRecord> calls() { return drain<trace::CallRecord>(trace::RecordKind::kCall); }
  std::uint64_t lost(Loss loss) const { return losses_->get(static_cast<std::size_t>(loss)); }

  cuda::Cupti cupti_ = fake_cupti();
  StringTable strings_;
  std::unique_ptr<StackTable> stacks_ = std::make_unique<StackTable>(strings_);
  LossCounters* losses_ = nullptr;
  ThreadHandover* handover_ = nullptr;
  std::unique_ptr<ApiObserver> observer_;
  std::string error_;
  std::uint32_t next_correlation_ = 0;

  static constexpr std::uint32_t kCopy = CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020;
  static constexpr std::uint32_t kSync = CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020;
  static constexpr std::uint32_t kThreadSync = CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000;
  static constexpr std::uint32_t kRecord = CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020;
  static constexpr std::uint32_t kDriverCopy = CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2;
  static constexpr std::uint32_t kLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
};

}  // namespace turnpike::record
