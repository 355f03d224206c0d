// Reads an estate in the order in which the recorder would have written it.
#include "record/estate/unwritten.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "record/estate/estate_memory.h"
#include "record/stacks/module_symbols.h"
#include "record/stacks/recorded_source.h"
#include "trace/writer.h"

namespace turnpike::record {
namespace {

using trace::ChunkType;
using trace::Loss;

constexpr std::size_t kMaxBatchBytes = 4 << 20;

trace::RecordHeader header_at(const std::byte* record) {
  trace::RecordHeader header;
  std::memcpy(&header, record, sizeof(header));
  return header;
}

class Unwritten {
 public:
  Unwritten(std::byte* base, trace::Writer& file, std::int64_t last_write_ns)
      : head_(*reinterpret_cast<EstateHead*>(base)),
        commit_(head_.commits[head_.current.load(std::memory_order_acquire) & 1]),
        batch_memory_(estate::batch(base, head_.current.load() & 1)),
        rings_(reinterpret_cast<ThreadBuffer*>(estate::rings(base).data())),
        strings_(estate::strings(base), 0),
        frames_(estate::frames(base), 0),
        stacks_(estate::stacks(base), 0),
        file_(file),
        end_ns_(last_write_ns) {
    batch_.restart(commit_.counts);
    list_texts();
  }

  void write() {
    append(ChunkType::kStrings, strings_.bytes_from(commit_.string_bytes));
    write_frames();
    append(ChunkType::kStacks, stacks_.bytes_from(commit_.stack_bytes));
    take_batch();
    take_rings();
    write_records();
    append(ChunkType::kStrings, new_strings_);
    write_source();
    write_losses();
    write_end();
  }

  const RecordCounts& counts_before() const { return commit_.counts; }
  const RecordCounts& counts() const { return batch_.counts(); }

 private:
  void append(ChunkType type, std::span<const std::byte> payload) {
    if (!payload.empty()) file_.append(type, payload.data(), payload.size());
  }

  void list_texts() {
    const auto bytes = strings_.bytes();
    for (std::size_t at = 0; at + sizeof(trace::StringEntry) <= bytes.size();) {
      trace::StringEntry entry;
      std::memcpy(&entry, bytes.data() + at, sizeof(entry));
      at += sizeof(entry);
      if (entry.bytes > bytes.size() - at) return;
      texts_.emplace_back(reinterpret_cast<const char*>(bytes.data() + at), entry.bytes);
      at += (entry.bytes + std::size_t{7}) & ~std::size_t{7};
    }
    next_string_ = static_cast<std::uint32_t>(texts_.size() + 1);
  }

  std::uint32_t new_string(std::string_view text) {
    const trace::StringEntry entry{next_string_, static_cast<std::uint32_t>(text.size())};
    const auto* head = reinterpret_cast<const std::byte*>(&entry);
    const auto* body = reinterpret_cast<const std::byte*>(text.data());
    new_strings_.insert(new_strings_.end(), head, head + sizeof(entry));
    new_strings_.insert(new_strings_.end(), body, body + text.size());
    new_strings_.resize((new_strings_.size() + 7) & ~std::size_t{7});
    return next_string_++;
  }

  void write_frames() {
    std::vector<std::byte> payload;
    const auto fresh = frames_.bytes_from(commit_.frame_count * sizeof(LoggedFrame));
    for (std::size_t at = 0; at + sizeof(LoggedFrame) <= fresh.size(); at += sizeof(LoggedFrame)) {
      LoggedFrame frame;
      std::memcpy(&frame, fresh.data() + at, sizeof(frame));
      if (frame.is_unnamed != 0) name(frame);
      const auto* entry = reinterpret_cast<const std::byte*>(&frame.entry);
      payload.insert(payload.end(), entry, entry + sizeof(frame.entry));
    }
    append(ChunkType::kFrames, payload);
  }

  // Of all frames: who dies has written none of it.
  void write_source() {
    RecordedSource source(head_.source_as_of_ns);
    const auto bytes = frames_.bytes();
    for (std::size_t at = 0; at + sizeof(LoggedFrame) <= bytes.size(); at += sizeof(LoggedFrame)) {
      source.note_frames(bytes.subspan(at + offsetof(LoggedFrame, entry), sizeof(trace::FrameEntry)));
    }
    append(ChunkType::kSourceText, source.read([this](std::uint32_t id) {
      return id - 1 < texts_.size() ? texts_[id - 1] : std::string_view();
    }));
  }

  void name(LoggedFrame& frame) {
    if (frame.entry.file - 1 >= texts_.size()) return;
    bool is_readable = false;
    const std::string path(texts_[frame.entry.file - 1]);
    const std::string_view function =
        symbols_.function_at(path, frame.segments_hash, frame.entry.module_offset, is_readable);
    if (!is_readable) head_.losses.add(Loss::kUnnamedLibrary);
    if (!function.empty()) frame.entry.function = new_string(function);
  }

  void take_batch() {
    const ByteLog batch(batch_memory_, 0);
    const auto bytes = batch.bytes();
    for (std::size_t at = 0; at + sizeof(trace::RecordHeader) <= bytes.size();) {
      const std::size_t size = header_at(bytes.data() + at).bytes;
      if (size < sizeof(trace::RecordHeader) || size > bytes.size() - at) return;
      take(bytes.data() + at);
      newest_ = bytes.subspan(at, size);
      at += size;
    }
  }

  void take_rings() {
    const std::size_t count = std::min<std::size_t>(head_.ring_count.load(), estate::kMaxRings);
    for (std::size_t i = 0; i < count; ++i) {
      rings_[i].drain([this](const std::byte* slot) {
        // The process died between the two places of a record (ThreadBuffer::drain).
        const bool is_taken = !newest_.empty() && std::memcmp(slot, newest_.data(), newest_.size()) == 0;
        if (!is_taken) take(slot);
      });
    }
  }

  void take(const std::byte* record) {
    if (header_at(record).kind == kThreadNameKind) {
      ThreadName name;
      std::memcpy(&name, record, sizeof(name));
      auto thread = trace::make_record<trace::ThreadRecord>(trace::RecordKind::kThread);
      thread.thread = name.thread;
      thread.name = new_string({name.text, strnlen(name.text, sizeof(name.text))});
      batch_.add(thread);
    } else {
      batch_.add_raw(record);
      note_end(record);
    }
    if (batch_.bytes().size() >= kMaxBatchBytes) write_records();
  }

  void note_end(const std::byte* record) {
    if (header_at(record).kind != trace::RecordKind::kCall) return;
    trace::CallRecord call;
    std::memcpy(&call, record, sizeof(call));
    end_ns_ = std::max(end_ns_, call.end_ns);
  }

  void write_records() {
    append(ChunkType::kRecords, batch_.bytes());
    batch_.clear();
  }

  Loss loss_of_end() const {
    switch (head_.ending.load(std::memory_order_acquire)) {
      case EstateEnding::kExec:
        return Loss::kEndedByExec;
      case EstateEnding::kExit:
        return Loss::kEndedInExit;
      case EstateEnding::kNone:
        break;
    }
    return Loss::kEndedEarly;
  }

  void write_losses() {
    head_.losses.add(loss_of_end());
    std::vector<trace::LossEntry> entries;
    for (std::size_t number = 0; number < LossCounters::kSize; ++number) {
      const std::uint64_t count = head_.losses.get(number);
      if (count > 0) entries.push_back({static_cast<std::uint32_t>(number), 0, count});
    }
    append(ChunkType::kLosses, std::as_bytes(std::span(entries)));
  }

  void write_end() {
    const trace::EndEntry end = end_entry(end_ns_, batch_.counts(), commit_.counts_before_file);
    append(ChunkType::kEnd, std::as_bytes(std::span(&end, 1)));
  }

  EstateHead& head_;
  const EstateCommit& commit_;
  std::span<std::byte> batch_memory_;
  ThreadBuffer* rings_;
  ByteLog strings_;
  ByteLog frames_;
  ByteLog stacks_;
  trace::Writer& file_;
  RecordBatch batch_;
  ModuleSymbols symbols_;
  std::vector<std::string_view> texts_;
  std::vector<std::byte> new_strings_;
  std::uint32_t next_string_ = 1;
  std::span<const std::byte> newest_;  // the batch's
  std::int64_t end_ns_;                // of the last call, or of the last write
};

void add(TurnpikeStatus& added, const RecordCounts& before, const RecordCounts& after) {
  for (int i = 0; i < 6; ++i) {
    added.transfer_count[i] += after.transfer_counts[i] - before.transfer_counts[i];
    added.transfer_bytes[i] += after.transfer_bytes[i] - before.transfer_bytes[i];
  }
  added.sync_count += after.syncs - before.syncs;
  added.host_time_ns += static_cast<std::uint64_t>(after.waiting_ns - before.waiting_ns);
  added.kernel_count += after.kernels - before.kernels;
  added.loss_count += 1;
}

}  // namespace

void write_unwritten(std::byte* base, TurnpikeStatus& added) {
  const auto& head = *reinterpret_cast<EstateHead*>(base);
  trace::Writer file;
  const EstateCommit& commit = head.commits[head.current.load(std::memory_order_acquire) & 1];
  const EstateFile& of_commit = head.files[commit.file & 1];
  struct stat about{};
  if (stat(of_commit.path, &about) != 0) return;
  if (!file.resume(of_commit.path, {of_commit.device, of_commit.inode}, commit.file_bytes)) return;
  Unwritten unwritten(base, file, about.st_mtim.tv_sec * std::int64_t{1'000'000'000} + about.st_mtim.tv_nsec);
  unwritten.write();
  add(added, unwritten.counts_before(), unwritten.counts());
  added.written_bytes += file.written_bytes() - commit.file_bytes;
}

}  // namespace turnpike::record
