// What each level of detail asks CUPTI for.
#pragma once

#include <algorithm>
#include <span>

#include "cuda/api_calls.h"
#include "cuda/cupti.h"
#include "record/options.h"

namespace turnpike::record {

// Whether calls of this kind are heard of.
constexpr bool is_observed(trace::CallKind kind, Detail detail) noexcept {
  switch (kind) {
    case trace::CallKind::kOther:
      return false;
    case trace::CallKind::kLaunch:
    case trace::CallKind::kEventRecord:
    case trace::CallKind::kStreamWait:
      return detail == Detail::kFull;
    default:
      return true;
  }
}

// Memory copies come first: without them there is nothing to record. Kernels come last: they cost the most, and are
// left out when only transfers are recorded. Managed memory is observed only in programs that allocate it.
inline constexpr cuda::ActivityKind kObservedActivities[] = {
    cuda::ActivityKind::kMemcpy, cuda::ActivityKind::kPeerMemcpy, cuda::ActivityKind::kMemset,
    cuda::ActivityKind::kConcurrentKernel};

constexpr std::span<const cuda::ActivityKind> observed_activities(Detail detail) noexcept {
  const std::span all(kObservedActivities);
  return detail == Detail::kFull ? all : all.first(all.size() - 1);
}

inline bool is_observed(cuda::ActivityKind kind, Detail detail) noexcept {
  const auto kinds = observed_activities(detail);
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

}  // namespace turnpike::record
