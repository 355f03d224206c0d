#include "guard/copy.h"

#include "base/hot.h"

namespace turnpike::guard {
namespace {

Kind direction_of(const Memory& to, const Memory& from) {
  if (to.side == Side::kGpu && from.side == Side::kGpu) return to.device == from.device ? Kind::kD2d : Kind::kP2p;
  if (to.side == Side::kGpu) return Kind::kH2d;
  return from.side == Side::kGpu ? Kind::kD2h : Kind::kH2h;
}

}  // namespace

TURNPIKE_HOT Crossing make_copy(const char* call, const Memory& to, const Memory& from, std::uint64_t bytes,
                                const void* stream, Waits waits) {
  Crossing crossing{.call = call, .kind = direction_of(to, from), .kinds = {}, .bytes = bytes, .stream = stream};
  crossing.kinds = crossing.kind;
  if (crossing.kind == Kind::kD2d || crossing.kind == Kind::kP2p) return crossing;
  crossing.host_memory = crossing.kind == Kind::kD2h ? to.host : from.host;
  const bool is_pageable = crossing.host_memory == HostMemory::kPageable ||
                           (crossing.kind == Kind::kH2h && to.host == HostMemory::kPageable);
  if (is_pageable) crossing.kinds.add(Kind::kPageable);
  if (waits == Waits::kForItsEnd) crossing.kinds.add(Kind::kSync);
  return crossing;
}

}  // namespace turnpike::guard
