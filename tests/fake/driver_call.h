// The frame that every function of the fake driver API stands in.
#pragma once

#include <cupti_driver_cbid.h>

#include "device.h"

namespace turnpike::fake {

// Runs `body` as one call of the driver API; without CUDA (a forked child, no cuInit) there is an error and no
// callback.
template <typename Params, typename Body>
CUresult driver_call(std::uint32_t cbid, const char* name, const Params& params, Body body) {
  if (!is_usable()) return CUDA_ERROR_NOT_INITIALIZED;
  return traced_call<CUresult>(CUPTI_CB_DOMAIN_DRIVER_API, cbid, name, &params, nullptr, body);
}

}  // namespace turnpike::fake

#define FAKE_CALL(function, params, body) driver_call(CUPTI_DRIVER_TRACE_CBID_##function, #function, params, body)
