// The kinds of calls by name.
#include "cuda/api_calls.h"

#include "trace/call_kind.h"

namespace turnpike::cuda {

trace::CallKind recorded_kind(CallbackDomain domain, std::string_view name) noexcept {
  const bool is_of_runtime = name.starts_with("cuda");
  const bool is_of_domain = domain == CallbackDomain::kRuntimeApi  ? is_of_runtime
                            : domain == CallbackDomain::kDriverApi ? !is_of_runtime
                                                                   : false;
  if (!is_of_domain) return trace::CallKind::kOther;
  const trace::CallKind kind = trace::call_kind_of(name);
  // Kernel launches are listened to in the driver alone: the runtime's all end in a driver call, and libraries such as
  // cuBLAS make driver calls of their own. One callback per launch instead of two.
  return is_of_runtime && kind == trace::CallKind::kLaunch ? trace::CallKind::kOther : kind;
}

ProfilerSwitch profiler_switch_of(std::string_view name) noexcept {
  if (name.starts_with("cudaProfilerStart") || name.starts_with("cuProfilerStart")) return ProfilerSwitch::kStart;
  if (name.starts_with("cudaProfilerStop") || name.starts_with("cuProfilerStop")) return ProfilerSwitch::kStop;
  return ProfilerSwitch::kNone;
}

}  // namespace turnpike::cuda
