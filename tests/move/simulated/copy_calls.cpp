// The simulated driver's asynchronous copies.
#include "simulated/call.h"

namespace turnpike::simulated {
namespace {

using cuda::DevicePointer;
using cuda::DriverCode;

// Looks at one side of a copy. nullptr and a violation: the bytes are not what the call says.
std::byte* device_side(Call& call, Range range, int device, const char* side) {
  Machine& machine = call.machine();
  Block* block = machine.memory.holding(range);
  const std::string what = std::string(call.name()) + ": its " + side;
  if (block == nullptr || block->device == kHost) {
    machine.report(Rule::kOutOfRange, what + " is not within one allocation of a device");
    return nullptr;
  }
  if (block->device != device) {
    machine.report(Rule::kWrongDevice, what + " is memory of device " + std::to_string(block->device) + ", not of " +
                                           std::to_string(device));
    return nullptr;
  }
  return block->bytes + (range.begin - block->range.begin);
}

std::byte* host_side(Call& call, Range range) {
  Machine& machine = call.machine();
  Block* block = machine.memory.holding(range);
  if (block == nullptr) {
    const bool is_partly = machine.memory.touching(range) != nullptr;
    machine.report(is_partly ? Rule::kOutOfRange : Rule::kPageableCopy,
                   std::string(call.name()) + (is_partly ? ": its host side leaves the page-locked block"
                                                         : ": its host side is not page-locked"));
    return nullptr;
  }
  if (!block->is_portable && block->locked_by_device != call.device()) {
    machine.report(Rule::kWrongContext, std::string(call.name()) + ": memory page-locked for another context alone");
  }
  return block->bytes + (range.begin - block->range.begin);
}

Stream* stream_for(Call& call, CUstream_st* handle) {
  Stream* stream = call.machine().stream_of(handle, call.device(), call.name());
  if (stream == nullptr || stream->device == call.device()) return stream;
  call.machine().report(Rule::kWrongContext, std::string(call.name()) + " in a stream of another context");
  return nullptr;
}

struct Copy {
  Kind kind;
  Range to;
  Range from;
  int to_device;  // or kHost
  int from_device;
};

Range range_of(std::uint64_t begin, std::size_t size_bytes) {
  return {begin, begin + size_bytes};
}

DriverCode issue(Call& call, const Copy& copy, CUstream_st* handle) {
  if (call.refusal() != 0) return call.refusal();
  Stream* stream = stream_for(call, handle);
  if (stream == nullptr) return kInvalidHandle;
  auto operation = std::make_shared<Operation>();
  operation->kind = copy.kind;
  operation->size_bytes = static_cast<std::size_t>(copy.to.end - copy.to.begin);
  operation->what = std::string(call.name()) + " of " + std::to_string(operation->size_bytes) + " bytes";
  operation->steps_left = call.machine().random.below(2);
  if (operation->size_bytes > 0) {
    operation->to =
        copy.to_device == kHost ? host_side(call, copy.to) : device_side(call, copy.to, copy.to_device, "destination");
    operation->from = copy.from_device == kHost ? host_side(call, copy.from)
                                                : device_side(call, copy.from, copy.from_device, "source");
    if (operation->to == nullptr || operation->from == nullptr) return kInvalidValue;
  }
  if (copy.to_device == kHost) operation->host_side = copy.to;
  if (copy.from_device == kHost) operation->host_side = copy.from;
  operation->breaks_a_byte =
      copy.kind == Kind::kPeerCopy && copy.to_device != copy.from_device && call.machine().options.breaks_peer_copies;
  call.machine().issue(*stream, std::move(operation), {{copy.from, false, {}, {}}, {copy.to, true, {}, {}}});
  return 0;
}

DriverCode memcpy_htod_async(DevicePointer to, const void* from, std::size_t size_bytes, CUstream_st* stream) {
  Call call("memcpy_htod_async", kNeedsContext);
  const auto source = reinterpret_cast<std::uint64_t>(from);
  return issue(call, {Kind::kUpload, range_of(to, size_bytes), range_of(source, size_bytes), call.device(), kHost},
               stream);
}

DriverCode memcpy_dtoh_async(void* to, DevicePointer from, std::size_t size_bytes, CUstream_st* stream) {
  Call call("memcpy_dtoh_async", kNeedsContext);
  const auto target = reinterpret_cast<std::uint64_t>(to);
  return issue(call, {Kind::kDownload, range_of(target, size_bytes), range_of(from, size_bytes), kHost, call.device()},
               stream);
}

DriverCode memcpy_peer_async(DevicePointer to, CUctx_st* to_context, DevicePointer from, CUctx_st* from_context,
                             std::size_t size_bytes, CUstream_st* stream) {
  Call call("memcpy_peer_async", kNeedsContext);
  const int to_device = device_of(to_context);
  const int from_device = device_of(from_context);
  if (to_device < 0 || from_device < 0) return kInvalidContext;
  return issue(call, {Kind::kPeerCopy, range_of(to, size_bytes), range_of(from, size_bytes), to_device, from_device},
               stream);
}

}  // namespace

void fill_copy_calls(cuda::Driver& driver) {
  driver.memcpy_htod_async = memcpy_htod_async;
  driver.memcpy_dtoh_async = memcpy_dtoh_async;
  driver.memcpy_peer_async = memcpy_peer_async;
}

}  // namespace turnpike::simulated
