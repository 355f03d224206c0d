// Adds up what a step uploads.
#include "analyze/rules/batch_memory.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "analyze/model/memory_use.h"
#include "analyze/rules/measure.h"

namespace turnpike::analyze {
namespace {

std::map<std::uint32_t, std::uint64_t> uploads_by_device(const ProcessModel& model) {
  std::map<std::uint32_t, std::uint64_t> bytes;
  for (const Operation& operation : model.graph().operations) {
    const Transfer* transfer = model.transfer_of(operation);
    if (transfer == nullptr || transfer->direction != Direction::kHostToDevice) continue;
    bytes[operation.device] += transfer->bytes;
  }
  return bytes;
}

// 0: unknown.
std::uint64_t size_of_device(const Timeline& timeline, std::uint32_t device) {
  for (const trace::DeviceRecord& record : timeline.devices) {
    if (record.device == device && record.memory_bytes != 0) return record.memory_bytes;
  }
  return 0;
}

// Whether nobody needs to think of one more batch.
bool has_ample_room(const Timeline& timeline, std::uint32_t device, double batch_bytes) {
  constexpr double kAmple = 10;  // times what is added
  const auto peak = peak_device_bytes_of(timeline, device);
  const std::uint64_t size = size_of_device(timeline, device);
  return peak && size > *peak && static_cast<double>(size - *peak) >= kAmple * batch_bytes;
}

std::string taken_text(const Timeline& timeline, std::uint32_t device) {
  const auto size = static_cast<double>(size_of_device(timeline, device));
  const auto peak = peak_device_bytes_of(timeline, device);
  const std::string taken = peak ? bytes_text(static_cast<double>(*peak)) + " were taken at the peak" : "";
  if (size == 0) return peak ? " (" + taken + ")" : "";
  return " (the GPU has " + bytes_text(size) + (peak ? ", of which " + taken : "") + ")";
}

}  // namespace

std::string one_more_batch_text(const ProcessModel& model) {
  const auto uploads = uploads_by_device(model);
  if (!model.steps() || uploads.empty()) return "";
  const auto [device, bytes] = *std::max_element(uploads.begin(), uploads.end(),
                                                 [](const auto& a, const auto& b) { return a.second < b.second; });
  const double batch_bytes = static_cast<double>(bytes) / static_cast<double>(model.step_count());
  if (has_ample_room(model.timeline(), device, batch_bytes)) return "";
  const std::string batch = bytes_text(batch_bytes);
  return "; one more batch in flight takes " + batch + " on the GPU and " + batch + " page-locked on the CPU's side" +
         taken_text(model.timeline(), device);
}

}  // namespace turnpike::analyze
