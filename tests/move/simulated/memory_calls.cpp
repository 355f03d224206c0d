// The simulated driver's functions that take memory and give it back.
#include <algorithm>

#include "simulated/call.h"

namespace turnpike::simulated {
namespace {

using cuda::DevicePointer;
using cuda::DriverCode;

void count_pinned(Machine& machine, std::size_t size_bytes) {
  machine.pinned_bytes += size_bytes;
  machine.most_pinned_bytes = std::max(machine.most_pinned_bytes, machine.pinned_bytes);
}

// Gives back the block at an address, which must be of the kind that the function is for.
DriverCode give_back(Call& call, std::uint64_t address, bool (*is_of_kind)(const Block&)) {
  if (call.refusal() != 0) return call.refusal();
  Block* block = call.machine().memory.starting_at(address);
  if (block == nullptr || !is_of_kind(*block)) {
    call.machine().report(Rule::kUnknownMemory, std::string(call.name()) + " gives back what was not taken");
    return kInvalidValue;
  }
  if (block->device != kHost && block->device != call.device()) {
    call.machine().report(Rule::kWrongContext, "mem_free in the context of another device");
  }
  call.machine().check_unused(*block, call.name(), call.lock());
  call.machine().remove(*block);
  return 0;
}

DriverCode mem_alloc(DevicePointer* pointer, std::size_t size_bytes) {
  const Call call("mem_alloc", kNeedsContext | kNotWhileCapturing);
  if (call.refusal() != 0) return call.refusal();
  if (size_bytes == 0) return kInvalidValue;
  *pointer = call.machine().memory.add_device(call.device(), size_bytes, call.machine().poison).range.begin;
  return 0;
}

DriverCode mem_free(DevicePointer pointer) {
  Call call("mem_free", kNeedsContext | kNotWhileCapturing);
  return give_back(call, pointer, [](const Block& block) { return block.device != kHost; });
}

DriverCode mem_host_alloc(void** pointer, std::size_t size_bytes, unsigned int flags) {
  const Call call("mem_host_alloc", kNeedsContext | kNotWhileCapturing);
  if (call.refusal() != 0) return call.refusal();
  if (size_bytes == 0) return kInvalidValue;
  Block& block = call.machine().memory.add_host(size_bytes, call.machine().poison);
  block.locked_by_device = call.device();
  block.is_portable = (flags & cuda::kHostPortable) != 0;
  count_pinned(call.machine(), size_bytes);
  *pointer = block.bytes;
  return 0;
}

DriverCode mem_free_host(void* pointer) {
  Call call("mem_free_host", kNeedsContext | kNotWhileCapturing);
  return give_back(call, reinterpret_cast<std::uint64_t>(pointer),
                   [](const Block& block) { return block.device == kHost && block.backing != nullptr; });
}

DriverCode mem_host_register(void* pointer, std::size_t size_bytes, unsigned int flags) {
  const Call call("mem_host_register", kNeedsContext | kNotWhileCapturing);
  if (call.refusal() != 0) return call.refusal();
  if (size_bytes == 0 || pointer == nullptr) return kInvalidValue;
  const auto begin = reinterpret_cast<std::uint64_t>(pointer);
  if (call.machine().memory.touching({begin, begin + size_bytes}) != nullptr) {
    call.machine().report(Rule::kRegisteredTwice, "mem_host_register of memory that is page-locked already");
    return cuda::kHostMemoryAlreadyRegistered;
  }
  Block& block = call.machine().memory.add_registered(pointer, size_bytes);
  block.locked_by_device = call.device();
  block.is_portable = (flags & cuda::kHostPortable) != 0;
  count_pinned(call.machine(), size_bytes);
  return 0;
}

DriverCode mem_host_unregister(void* pointer) {
  Call call("mem_host_unregister", kNeedsContext | kNotWhileCapturing);
  return give_back(call, reinterpret_cast<std::uint64_t>(pointer),
                   [](const Block& block) { return block.device == kHost && block.backing == nullptr; });
}

DriverCode pointer_get_attribute(void* value, int attribute, DevicePointer pointer) {
  const Call call("pointer_get_attribute", kNeedsContext);
  if (call.refusal() != 0) return call.refusal();
  if (attribute != cuda::kPointerIsManaged || call.machine().memory.holding({pointer, pointer + 1}) == nullptr) {
    return kInvalidValue;
  }
  *static_cast<unsigned int*>(value) = 0;
  return 0;
}

DriverCode pointer_get_attributes(unsigned int count, int* attributes, void** values, DevicePointer pointer) {
  const Call call("pointer_get_attributes", kNeedsContext);
  if (call.refusal() != 0) return call.refusal();
  if (count != 1 || attributes[0] != cuda::kPointerMemoryType) return kInvalidValue;
  const Block* block = call.machine().memory.holding({pointer, pointer + 1});
  const unsigned int known =
      block != nullptr && block->device == kHost ? cuda::kMemoryTypeHost : cuda::kMemoryTypeHost + 1;
  *static_cast<unsigned int*>(values[0]) = block == nullptr ? 0 : known;
  return 0;
}

DriverCode mem_get_address_range(DevicePointer* base, std::size_t* size_bytes, DevicePointer inside) {
  const Call call("mem_get_address_range", kNeedsContext);
  if (call.refusal() != 0) return call.refusal();
  const Block* block = call.machine().memory.holding({inside, inside + 1});
  if (block == nullptr || block->device == kHost) return kInvalidValue;
  *base = block->range.begin;
  *size_bytes = block->size_bytes();
  return 0;
}

// A read of memory and no call: it is not counted, cannot fail, and needs no context.
std::uint64_t read_word(std::uint64_t* word) {
  const auto lock = g_machine->lock();
  g_machine->drift();
  return g_machine->look(word);
}

}  // namespace

void fill_memory_calls(cuda::Driver& driver) {
  driver.mem_alloc = mem_alloc;
  driver.mem_free = mem_free;
  driver.mem_host_alloc = mem_host_alloc;
  driver.mem_free_host = mem_free_host;
  driver.mem_host_register = mem_host_register;
  driver.mem_host_unregister = mem_host_unregister;
  driver.pointer_get_attribute = pointer_get_attribute;
  driver.pointer_get_attributes = pointer_get_attributes;
  driver.mem_get_address_range = mem_get_address_range;
  driver.read_word = read_word;
}

}  // namespace turnpike::simulated
