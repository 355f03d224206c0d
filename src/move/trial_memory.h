// What a trial of a device needs: memory on it, and bytes that are known again when they come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "move/device.h"

namespace turnpike::move {

// Device memory for as long as this lives.
class DeviceMemory {
 public:
  // `what` it is for stands in the error: "allocating memory to ...".
  DeviceMemory(Device& device, std::size_t size_bytes, const char* what);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  const Status& status() const { return status_; }
  cuda::DevicePointer address() const { return address_; }
  Device& device() const { return device_; }

 private:
  Device& device_;
  cuda::DevicePointer address_ = 0;
  Status status_;
};

// Different from place to place and from seed to seed, so that bytes that moved or that stayed from before are noticed.
void fill_with_known_bytes(std::span<std::byte> bytes, std::uint64_t seed);
std::vector<std::byte> known_bytes(std::size_t size_bytes, std::uint64_t seed);

}  // namespace turnpike::move
