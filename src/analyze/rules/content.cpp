// Looks contents up by the correlation of the call.
#include "analyze/rules/content.h"

#include <algorithm>
#include <string_view>

#include "analyze/rules/measure.h"
#include "trace/frames.h"

namespace turnpike::analyze {
namespace {

const trace::ContentRecord* content_in(const Timeline& timeline, std::uint32_t correlation, trace::ContentSide side) {
  trace::ContentRecord wanted{};
  wanted.correlation = correlation;
  const auto [first, last] =
      std::equal_range(timeline.contents.begin(), timeline.contents.end(), wanted,
                       [](const auto& a, const auto& b) { return a.correlation < b.correlation; });
  return last - first == 1 && first->side == side ? &*first : nullptr;
}

bool is_upload(const Transfer& transfer) {
  return transfer.direction == Direction::kHostToDevice && transfer.call != kNone && transfer.graph_node == 0 &&
         transfer.count == 1;
}

const Transfer* upload_of(const ProcessModel& model, std::uint32_t call) {
  for (const std::uint32_t operation : model.operations_of(call)) {
    const Transfer* transfer = model.transfer_of(model.graph().operations[operation]);
    if (transfer != nullptr && is_upload(*transfer)) return transfer;
  }
  return nullptr;
}

}  // namespace

ContentKey key_of(const trace::ContentRecord& content) {
  return {content.hash, content.bytes, content.hashed_bytes};
}

const trace::ContentRecord* content_of(const ProcessModel& model, std::uint32_t call, trace::ContentSide side) {
  return content_in(model.timeline(), model.call(call).correlation, side);
}

UploadHistory::UploadHistory(const ProcessModel& model)
    : model_(model), is_by_content_(!model.timeline().contents.empty()) {
  const Timeline& timeline = model.timeline();
  for (const Transfer& transfer : timeline.transfers) {
    if (transfer.call == kNone) continue;
    const Call& call = timeline.calls[transfer.call];
    if (transfer.direction == Direction::kDeviceToHost) filled_by_gpu_.insert(call.dst);
    if (!is_upload(transfer)) continue;
    const auto* content = content_in(timeline, call.correlation, trace::ContentSide::kSource);
    if (is_by_content_ && content == nullptr) continue;
    const auto [entry, is_new] = first_.try_emplace(key_at(transfer.device, content, call), transfer.call);
    if (!is_new) entry->second = std::min(entry->second, transfer.call);
  }
}

UploadHistory::Key UploadHistory::key_at(std::uint32_t device, const trace::ContentRecord* content,
                                         const Call& call) const {
  return {device, is_by_content_ ? key_of(*content) : ContentKey{call.src, call.bytes, 0}};
}

Repeats UploadHistory::repeats_at(const SiteCalls& site) const {
  Repeats found;
  found.is_by_content = is_by_content_;
  std::map<Key, std::set<std::uint64_t>> addresses;
  for (const std::uint32_t index : copies_of(site, Direction::kHostToDevice)) {
    const Transfer* transfer = upload_of(model_, index);
    const auto* content = content_of(model_, index, trace::ContentSide::kSource);
    const Call& call = model_.call(index);
    if (transfer == nullptr || (is_by_content_ ? content == nullptr : call.src == 0)) continue;
    const Key key = key_at(transfer->device, content, call);
    found.uploads.push_back(index);
    found.bytes += transfer->bytes;
    if (addresses.try_emplace(key).second) found.distinct_bytes += transfer->bytes;
    addresses[key].insert(call.src);
    if (transfer->src_kind == trace::MemoryKind::kPinned) found.is_pinned = true;
    if (filled_by_gpu_.contains(call.src)) found.is_filled_by_gpu = true;
    if (first_.at(key) != model_.graph().calls[index]) found.repeats.push_back(index);
    if (content != nullptr && content->hashed_bytes < content->bytes) found.is_sampled = true;
    if (is_of_python_values(model_, index)) found.is_built_anew = true;
  }
  found.distinct = addresses.size();
  for (const auto& [key, places] : addresses) {
    if (is_by_content_ && places.size() > 1) found.is_built_anew = true;
  }
  return found;
}

bool is_of_python_values(const ProcessModel& model, std::uint32_t call) {
  const auto frames = trace::frames_of(model.process(), model.call(call).stack);
  return std::any_of(frames.begin(), frames.end(), [](const trace::Frame* frame) {
    if (frame->kind != trace::FrameKind::kNative) return false;
    const std::string_view symbol = frame->function;
    return symbol.find("tensor_ctor") != symbol.npos || symbol.find("internal_new_from_data") != symbol.npos;
  });
}

std::string doubt_of_sample(bool is_sampled) {
  return is_sampled ? " (by sample; turnpike record --verify-content compares all bytes)" : "";
}

}  // namespace turnpike::analyze
