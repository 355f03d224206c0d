// Every length that a file gives is compared with the bytes that are there before it is believed.
#include "trace/decoder.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>

namespace turnpike::trace {
namespace {

// Lines that one frame was compiled from, and frames of a stack with them: no recorder writes as many.
constexpr std::size_t kMaxSources = 128;
constexpr std::size_t kMaxStackFrames = 65535;
// In all stacks together: so that a small file cannot ask for any amount of memory.
constexpr std::size_t kMaxInsertedFrames = std::size_t{16} << 20;

// Recorders number frames without gaps, and programs have some ten thousand.
constexpr std::uint32_t kMostNumberedFrames = 1u << 20;

// Frames carry copies of their strings, so that a small file could ask for any amount of memory. Real ones need a
// hundredth of this; names beyond it are left out and counted.
constexpr std::uint64_t kMaxFrameNameBytes = std::uint64_t{512} << 20;

// Of all source in a file, with its entries; recorders stay at a quarter of it. Each output that shows a line searches
// all of it.
constexpr std::size_t kMaxSourceTextBytes = std::size_t{16} << 20;

template <typename T>
bool take(std::span<const std::byte>& rest, T& value) {
  if (rest.size() < sizeof value) return false;
  std::memcpy(&value, rest.data(), sizeof value);
  rest = rest.subspan(sizeof value);
  return true;
}

// Takes `size` bytes and the padding behind them.
bool take_padded(std::span<const std::byte>& rest, std::uint64_t size, std::string_view& text) {
  const std::uint64_t padded = (size + 7) / 8 * 8;
  if (rest.size() < padded) return false;
  text = {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(size)};
  rest = rest.subspan(static_cast<std::size_t>(padded));
  return true;
}

bool is_definable(std::uint32_t id) {
  return id != kNoId && id != kUnknownId;
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

// A longer record comes from a later writer, which adds fields at the end: its beginning is a T all the same.
template <typename T>
std::optional<T> as(const RecordHeader& header, const std::byte* record) {
  if (header.bytes < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, record, sizeof value);
  return value;
}

template <typename Record>
bool has_possible_times(const Record& record) {
  if constexpr (requires { record.start_ns; }) {
    return is_possible_time(record.start_ns) && is_possible_time(record.end_ns);
  } else if constexpr (requires { record.time_ns; }) {
    return is_possible_time(record.time_ns);
  } else {
    return true;
  }
}

// Losses that say something of the whole recording stay, however long ago they were counted.
bool is_of_records(std::uint32_t loss) {
  switch (static_cast<Loss>(loss)) {
    case Loss::kCuptiDropped:
    case Loss::kActivityBuffersFull:
    case Loss::kCallBuffersFull:
    case Loss::kUnknownActivity:
    case Loss::kInvalidDeviceTimes:
    case Loss::kStackNotWalked:
    case Loss::kStackTruncated:
    case Loss::kNoNativeFrames:
    case Loss::kPythonUnknown:
    case Loss::kWriteFailed:
    case Loss::kNamesFull:
      return true;
    default:
      return false;
  }
}

// Ids come round after 2^32 calls.
bool is_earlier(std::uint32_t correlation, std::uint32_t than) {
  return correlation != 0 && static_cast<std::int32_t>(correlation - than) < 0;
}

}  // namespace

void Decoder::begin_segment(const FileHeader& header, bool is_first, bool is_older_gone) {
  has_segments_ = true;
  is_closed_ = false;
  if (!is_first) return;
  process_.kept_since_ns = is_possible_time(header.start_realtime_ns) ? header.start_realtime_ns : kUnknownTime;
  is_cut_ = awaits_first_losses_ = is_older_gone;
  first_correlation_ = static_cast<std::uint32_t>(header.reserved[0]);
}

// What belongs to calls, or began, before the window: the rest of it is gone.
template <typename Record>
bool Decoder::is_before_window(const Record& record) const {
  if (!is_cut_) return false;
  if constexpr (requires { record.correlation; }) return is_earlier(record.correlation, first_correlation_);
  if constexpr (std::is_same_v<Record, RangeRecord>) return record.start_ns < process_.kept_since_ns;
  return false;
}

void Decoder::decode(const Chunk& chunk) {
  switch (chunk.type) {
    case ChunkType::kMetadata:
      return decode_metadata(chunk.payload);
    case ChunkType::kStrings:
      return decode_strings(chunk.payload);
    case ChunkType::kFrames:
      return decode_frames(chunk.payload);
    case ChunkType::kStacks:
      return decode_stacks(chunk.payload);
    case ChunkType::kRecords:
      return decode_records(chunk.payload);
    case ChunkType::kClock:
      return decode_clock(chunk.payload);
    case ChunkType::kLosses:
      return decode_losses(chunk.payload);
    case ChunkType::kEnd:
      return decode_end(chunk.payload);
    case ChunkType::kSources:
      return decode_sources(chunk.payload);
    case ChunkType::kSourceText:
      return decode_source_text(chunk.payload);
  }
  count_loss(Loss::kUnknownChunk, 1);
}

void Decoder::count_loss(Loss loss, std::uint64_t count) {
  if (count > 0) reader_losses_[static_cast<std::uint32_t>(loss)] += count;
}

void Decoder::decode_metadata(Bytes rest) {
  while (!rest.empty()) {
    const std::size_t before = rest.size();
    MetadataEntry entry;
    std::string_view text;
    if (!take(rest, entry) || !take_padded(rest, std::uint64_t{entry.key_bytes} + entry.value_bytes, text)) {
      return count_loss(Loss::kDamagedBytes, before);
    }
    process_.metadata.insert_or_assign(std::string(text.substr(0, entry.key_bytes)),
                                       std::string(text.substr(entry.key_bytes)));
  }
}

void Decoder::decode_strings(Bytes rest) {
  while (!rest.empty()) {
    const std::size_t before = rest.size();
    StringEntry entry;
    std::string_view text;
    if (!take(rest, entry) || !take_padded(rest, entry.bytes, text)) return count_loss(Loss::kDamagedBytes, before);
    if (is_definable(entry.id)) {
      process_.strings.insert_or_assign(entry.id, std::string(text));
    } else {
      count_loss(Loss::kDamagedBytes, before - rest.size());
    }
  }
}

void Decoder::decode_frames(Bytes rest) {
  FrameEntry entry;
  while (take(rest, entry)) {
    if (!is_definable(entry.id)) {
      count_loss(Loss::kDamagedBytes, sizeof entry);
    } else if (entry.kind != FrameKind::kPython && entry.kind != FrameKind::kNative &&
               entry.kind != FrameKind::kOperator) {
      count_loss(Loss::kUnknownRecord, 1);
    } else {
      frames_.push_back(entry);
    }
  }
  count_loss(Loss::kDamagedBytes, rest.size());
}

void Decoder::decode_sources(Bytes rest) {
  SourceEntry entry;
  while (take(rest, entry)) sources_.push_back(entry);
  count_loss(Loss::kDamagedBytes, rest.size());
}

void Decoder::decode_source_text(Bytes rest) {
  while (!rest.empty()) {
    const std::size_t before = rest.size();
    SourceTextEntry entry;
    std::string_view text;
    if (!take(rest, entry) || !take_padded(rest, entry.bytes, text)) return count_loss(Loss::kDamagedBytes, before);
    const std::size_t needed = sizeof entry + text.size();
    if (entry.first_line == 0 || text.empty() || source_text_bytes_ + needed > kMaxSourceTextBytes) {
      count_loss(Loss::kDamagedBytes, before - rest.size());
      continue;
    }
    source_text_bytes_ += needed;
    source_texts_.push_back({entry, std::string(text)});
  }
}

void Decoder::decode_stacks(Bytes rest) {
  while (!rest.empty()) {
    const std::size_t before = rest.size();
    StackEntry entry;
    std::string_view ids;
    if (!take(rest, entry) || !take_padded(rest, entry.frame_count * sizeof(std::uint32_t), ids)) {
      return count_loss(Loss::kDamagedBytes, before);
    }
    if (!is_definable(entry.id)) {
      count_loss(Loss::kDamagedBytes, before - rest.size());
      continue;
    }
    stack_frames_.resize(entry.frame_count);
    if (!ids.empty()) std::memcpy(stack_frames_.data(), ids.data(), ids.size());
    note_frames(stack_frames_);
    process_.stacks.set(entry.id, stack_frames_, (entry.flags & kStackIsTruncated) != 0);
  }
}

void Decoder::note_frames(std::span<const std::uint32_t> frames) {
  for (const std::uint32_t frame : frames) {
    if (frame >= kMostNumberedFrames) {
      is_far_frame_used_ = true;
      continue;
    }
    if (frame >= is_frame_used_.size()) is_frame_used_.resize(std::size_t{frame} + 1);
    is_frame_used_[frame] = 1;
  }
}

void Decoder::decode_records(Bytes rest) {
  while (!rest.empty()) {
    RecordHeader header;
    Bytes after = rest;
    if (!take(after, header) || header.bytes < 8 || header.bytes % 8 != 0 || header.bytes > rest.size()) {
      return count_loss(Loss::kDamagedBytes, rest.size());
    }
    if (!deliver(header, rest.data())) count_loss(Loss::kUnknownRecord, 1);
    rest = rest.subspan(header.bytes);
  }
}

// False for a record of a kind or a size that this version does not know.
bool Decoder::deliver(const RecordHeader& header, const std::byte* record) {
  const auto hand_on = [&]<typename T>(const std::optional<T>& value) {
    if (value && has_possible_times(*value)) {
      if (!is_before_window(*value)) sink_.on(*value);
    } else if (value) {
      count_loss(Loss::kDamagedBytes, header.bytes);
    }
    return value.has_value();
  };
  switch (header.kind) {
    case RecordKind::kCall: {
      const bool is_known = hand_on(as<CallRecord>(header, record));
      read_.call_count += is_known;
      return is_known;
    }
    case RecordKind::kMemcpy: {
      const auto copy = as<MemcpyRecord>(header, record);
      read_.memcpy_count += copy.has_value();
      read_.memcpy_bytes += copy ? copy->bytes : 0;
      return hand_on(copy);
    }
    case RecordKind::kMemset: {
      const bool is_known = hand_on(as<MemsetRecord>(header, record));
      read_.memset_count += is_known;
      return is_known;
    }
    case RecordKind::kKernel: {
      const bool is_known = hand_on(as<KernelRecord>(header, record));
      read_.kernel_count += is_known;
      return is_known;
    }
    case RecordKind::kRange:
      return hand_on(as<RangeRecord>(header, record));
    case RecordKind::kDevice:
      return hand_on(as<DeviceRecord>(header, record));
    case RecordKind::kThread:
      return hand_on(as<ThreadRecord>(header, record));
    case RecordKind::kStream:
      return hand_on(as<StreamRecord>(header, record));
    case RecordKind::kMigration:
      return hand_on(as<MigrationRecord>(header, record));
    case RecordKind::kGraphNode:
      return hand_on(as<GraphNodeRecord>(header, record));
    case RecordKind::kContent:
      return hand_on(as<ContentRecord>(header, record));
    case RecordKind::kMemory:
      return hand_on(as<MemoryRecord>(header, record));
    case RecordKind::kSample:
      return hand_on(as<SampleRecord>(header, record));
    case RecordKind::kLinkTraffic:
      return hand_on(as<LinkTrafficRecord>(header, record));
  }
  return false;
}

void Decoder::decode_clock(Bytes rest) {
  ClockSample sample;
  while (take(rest, sample)) {
    if (is_possible_time(sample.realtime_ns) && is_possible_time(sample.monotonic_ns) &&
        is_possible_time(sample.cupti_ns)) {
      process_.clock_samples.push_back(sample);
    } else {
      count_loss(Loss::kDamagedBytes, sizeof sample);
    }
  }
  count_loss(Loss::kDamagedBytes, rest.size());
}

void Decoder::decode_losses(Bytes rest) {
  recorder_losses_.clear();
  LossEntry entry;
  while (take(rest, entry)) {
    if (entry.count > 0) recorder_losses_[entry.loss] = entry.count;
  }
  count_loss(Loss::kDamagedBytes, rest.size());
  if (awaits_first_losses_) losses_before_ = recorder_losses_;
  awaits_first_losses_ = false;
}

// Each segment ends with what it holds.
void Decoder::decode_end(Bytes rest) {
  EndEntry entry;
  if (take(rest, entry)) {
    if (has_segments_ && process_.end) {
      entry.call_count += process_.end->call_count;
      entry.memcpy_count += process_.end->memcpy_count;
      entry.memcpy_bytes += process_.end->memcpy_bytes;
      entry.memset_count += process_.end->memset_count;
      entry.kernel_count += process_.end->kernel_count;
    }
    process_.end = entry;
    is_closed_ = true;
  }
  count_loss(Loss::kDamagedBytes, rest.size());
}

Process Decoder::finish() {
  name_frames();
  check_stacks();
  insert_sources();
  name_source_text();
  reconcile_end();
  process_.losses = std::move(recorder_losses_);
  for (const auto& [loss, count] : losses_before_) {
    const auto found = process_.losses.find(loss);
    if (!is_of_records(loss) || found == process_.losses.end()) continue;
    if (found->second <= count) {
      process_.losses.erase(found);
    } else {
      found->second -= count;
    }
  }
  for (const auto& [loss, count] : reader_losses_) process_.losses[loss] += count;
  return std::move(process_);
}

void Decoder::name_frames() {
  std::uint64_t copied_bytes = 0;
  std::unordered_set<std::uint32_t> undefined;
  const auto text_of = [&](std::uint32_t id) -> std::string {
    if (id == kNoId) return {};
    const auto found = process_.strings.find(id);
    if (found == process_.strings.end() || copied_bytes + found->second.size() > kMaxFrameNameBytes) {
      undefined.insert(id);
      return {};
    }
    copied_bytes += found->second.size();
    return found->second;
  };
  for (const FrameEntry& entry : frames_) {
    process_.frames.insert_or_assign(entry.id, Frame{entry.kind, text_of(entry.function), text_of(entry.file),
                                                     entry.line, entry.first_line, entry.module_offset});
  }
  for (const SourceEntry& entry : sources_) {
    named_sources_.push_back(
        Frame{FrameKind::kPython, text_of(entry.function), text_of(entry.file), entry.line, 0, 0, true});
  }
  count_loss(Loss::kUndefinedReference, undefined.size());
}

void Decoder::check_stacks() {
  bool are_all_defined = !is_far_frame_used_;
  for (std::uint32_t frame = 0; frame < is_frame_used_.size(); ++frame) {
    if (is_frame_used_[frame] != 0 && !process_.frames.contains(frame)) are_all_defined = false;
  }
  // Walk the (up to a million) stacks only if a frame is missing: a later definition may have replaced the stack that
  // named it.
  if (are_all_defined) return;
  std::unordered_set<std::uint32_t> undefined;
  for (const auto [id, stack] : process_.stacks) {
    for (const std::uint32_t frame : stack.frames) {
      if (!process_.frames.contains(frame)) undefined.insert(frame);
    }
  }
  count_loss(Loss::kUndefinedReference, undefined.size());
}

// Gives the lines ids of their own, above those of the file, and puts them behind their frames in each stack.
void Decoder::insert_sources() {
  std::uint32_t last_id = 0;
  for (const auto& [id, frame] : process_.frames) last_id = std::max(last_id, id);
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> ids_of_frame;
  std::unordered_set<std::uint32_t> undefined;
  std::uint32_t defining = kNoId;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const std::uint32_t frame = sources_[i].frame;
    if (!process_.frames.contains(frame)) {
      undefined.insert(frame);
      continue;
    }
    auto& ids = ids_of_frame[frame];
    // A later definition replaces an earlier one, as everywhere.
    if (frame != defining) ids.clear();
    defining = frame;
    if (ids.size() == kMaxSources || kUnknownId - last_id <= 1) {
      count_loss(Loss::kDamagedBytes, sizeof(SourceEntry));
      continue;
    }
    ids.push_back(++last_id);
    process_.frames.insert_or_assign(last_id, std::move(named_sources_[i]));
  }
  count_loss(Loss::kUndefinedReference, undefined.size());
  if (ids_of_frame.empty()) return;
  std::vector<std::uint32_t> longer;
  std::size_t inserted = 0;
  std::uint64_t left_out = 0;
  for (const auto [id, stack] : process_.stacks) {
    longer.clear();
    for (const std::uint32_t frame : stack.frames) {
      longer.push_back(frame);
      const auto found = ids_of_frame.find(frame);
      if (found == ids_of_frame.end()) continue;
      const std::size_t count = found->second.size();
      if (longer.size() + count > kMaxStackFrames || inserted + count > kMaxInsertedFrames) {
        left_out += count * sizeof(std::uint32_t);
        continue;
      }
      longer.insert(longer.end(), found->second.begin(), found->second.end());
      inserted += count;
    }
    if (longer.size() != stack.frames.size()) process_.stacks.set(id, longer, stack.is_truncated);
  }
  count_loss(Loss::kDamagedBytes, left_out);
}

void Decoder::name_source_text() {
  std::unordered_set<std::uint32_t> undefined;
  for (auto& [entry, text] : source_texts_) {
    const auto file = process_.strings.find(entry.file);
    if (file == process_.strings.end()) {
      undefined.insert(entry.file);
      continue;
    }
    std::string version(reinterpret_cast<const char*>(entry.sha256), sizeof entry.sha256);
    process_.source_text.add(file->second, std::move(version), entry.first_line, std::move(text));
  }
  count_loss(Loss::kUndefinedReference, undefined.size());
}

void Decoder::reconcile_end() {
  if (has_segments_ && !is_closed_) {
    process_.end.reset();
    return count_loss(Loss::kNotClosed, 1);
  }
  if (!process_.end) return count_loss(Loss::kNotClosed, 1);
  const EndEntry& end = *process_.end;
  const std::uint64_t missing =
      distance(end.call_count, read_.call_count) + distance(end.memcpy_count, read_.memcpy_count) +
      distance(end.memset_count, read_.memset_count) + distance(end.kernel_count, read_.kernel_count);
  // The right number of copies with the wrong bytes is at least one wrong copy.
  count_loss(Loss::kCountMismatch, missing > 0 ? missing : end.memcpy_bytes != read_.memcpy_bytes);
}

}  // namespace turnpike::trace
