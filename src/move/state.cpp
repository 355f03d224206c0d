// Opens devices, holds owners, applies settings.
#include "move/state.h"

#include <algorithm>
#include <utility>

namespace turnpike::move {
namespace {

constexpr std::size_t kMostInStreamBytes = std::size_t{1} << 20;

// The part of the page-locked memory that is for small downloads.
std::size_t in_stream_bytes(const Settings& settings) {
  return std::clamp<std::size_t>((settings.pinned_bytes / 8) & ~std::size_t{4095}, 4096, kMostInStreamBytes);
}

Settings for_staging(Settings settings) {
  settings.pinned_bytes = std::max(settings.chunk_bytes, settings.pinned_bytes - in_stream_bytes(settings));
  return settings;
}

}  // namespace

Status check_settings(const Settings& settings) {
  if (settings.threads < 1 || settings.threads > 64) {
    return Error{"threads must be 1 to 64, not " + std::to_string(settings.threads)};
  }
  if (settings.gatherers < 1) return Error{"gatherers must be at least 1"};
  if (settings.chunk_bytes < 4096 || settings.chunk_bytes % 4096 != 0) {
    return Error{"chunk_bytes must be a multiple of 4096, not " + std::to_string(settings.chunk_bytes)};
  }
  if (settings.pinned_bytes / 2 < settings.chunk_bytes) {
    return Error{"pinned_bytes must be at least two chunks of " + std::to_string(settings.chunk_bytes) +
                 " bytes, not " + std::to_string(settings.pinned_bytes)};
  }
  return {};
}

Device* State::first_device() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

Result<Device*> State::any_device() {
  if (Device* first = first_device()) return first;
  int handle = 0;
  const bool has_current = driver_.ctx_get_device(&handle) == 0;
  for (int ordinal = 0; has_current && ordinal < device_count_; ++ordinal) {
    int its_handle = 0;
    if (driver_.device_get(&its_handle, ordinal) == 0 && its_handle == handle) return device(ordinal);
  }
  for (int ordinal = 0; ordinal < device_count_; ++ordinal) {
    if (is_used(ordinal)) return device(ordinal);
  }
  return device(0);
}

// Whether its primary context, which PyTorch and the CUDA runtime use, is there.
bool State::is_used(int ordinal) const {
  int handle = 0;
  unsigned int flags = 0;
  int is_active = 0;
  return driver_.device_get(&handle, ordinal) == 0 &&
         driver_.device_primary_ctx_get_state(handle, &flags, &is_active) == 0 && is_active != 0;
}

Result<Device*> State::device(int ordinal) {
  const std::lock_guard lock(mutex_);
  const auto known = devices_.find(ordinal);
  if (known != devices_.end()) return known->second.get();
  if (ordinal < 0 || ordinal >= device_count_) {
    return Error{"there is no device " + std::to_string(ordinal) + ": the CUDA driver sees " +
                 std::to_string(device_count_) + ", counted from 0"};
  }
  auto opened = Device::open(driver_, ordinal);
  if (!opened) return opened.error();
  Device* device = opened->get();
  devices_[ordinal] = std::move(*opened);
  if (first_ == nullptr) {
    first_ = device;
    stager_ = std::make_unique<Stager>(*device, for_staging(settings_));
    in_stream_ = std::make_unique<InStream>(*device, in_stream_bytes(settings_));
    reaper_ = std::make_unique<Reaper>(*device);
  }
  return device;
}

void State::hold(std::shared_ptr<Mark> until, std::shared_ptr<void> owner) {
  reaper_->hold(std::move(until), std::move(owner));
}

void State::reap() {
  Device* any = first_device();
  if (any == nullptr) return;
  const InContext in_context(*any);
  in_stream_->collect();
  reaper_->reap();
}

Settings State::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

Status State::configure(const Settings& settings) {
  if (const Status status = check_settings(settings); !status) return status;
  const std::lock_guard one_at_a_time(configure_mutex_);
  Device* any = nullptr;
  {
    const std::lock_guard lock(mutex_);
    settings_ = settings;
    any = first_;
  }
  if (any == nullptr) return {};
  const InContext in_context(*any);
  stager_->configure(for_staging(settings));
  in_stream_->configure(in_stream_bytes(settings));
  return {};
}

std::size_t State::pinned_bytes() const {
  return first_device() != nullptr ? stager_->pinned_bytes() + in_stream_->pinned_bytes() : 0;
}

std::size_t State::release_pinned() {
  Device* any = first_device();
  if (any == nullptr) return 0;
  const InContext in_context(*any);
  return stager_->release_pinned() + in_stream_->release();
}

Status State::synchronize() {
  for (int ordinal = 0; ordinal < device_count_; ++ordinal) {
    if (!is_used(ordinal)) continue;
    if (const Status status = synchronize(ordinal); !status) return status;
  }
  return {};
}

// Without a Device of its own: those that only others use are not opened any further.
Status State::synchronize(int ordinal) const {
  const Relaxed relaxed(driver_);
  int handle = 0;
  CUctx_st* context = nullptr;
  CUctx_st* popped = nullptr;
  Status status = check(driver_, driver_.device_get(&handle, ordinal), "finding the GPU", ordinal);
  if (!status) return status;
  status = check(driver_, driver_.device_primary_ctx_retain(&context, handle), "waiting for everything", ordinal);
  if (!status) return status;
  status = check(driver_, driver_.ctx_push_current(context), "waiting for everything", ordinal);
  if (status) {
    status = check(driver_, driver_.ctx_synchronize(), "waiting for everything", ordinal);
    driver_.ctx_pop_current(&popped);
  }
  driver_.device_primary_ctx_release(handle);
  return status;
}

}  // namespace turnpike::move
