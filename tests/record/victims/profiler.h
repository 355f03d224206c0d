// A stand-in for torch.profiler: what Kineto asks of CUPTI, in its order, in a library of the name that PyTorch's has.
#pragma once

#include <cstdint>

extern "C" {

// Of one profile.
struct ProfilerCounts {
  std::uint64_t copies;
  std::uint64_t kernels;
  std::uint64_t foreign_buffers;  // that this profiler never gave
};

// As Kineto until 2026: the first profile subscribes, once; without success there are no records for ever.
// 0, or what CUPTI said.
int profiler_begin();
// As Kineto since: no subscription, activity records alone.
int profiler_begin_without_subscriber();
ProfilerCounts profiler_end();
// A profile that ends without the flush that Kineto leaves out when CUPTI has no buffer of it.
void profiler_end_without_flush();
// As Kineto with TEARDOWN_CUPTI=1: it hears of all calls, and at the end of one it ends its subscription and CUPTI.
void profiler_tear_down();
// Callbacks for contexts, and in teardown for calls.
std::uint64_t profiler_callbacks();
}
