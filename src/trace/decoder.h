// Turns the chunks of one file into records, which it hands on at once, and into what the file says of the process.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trace/chunk_reader.h"
#include "trace/losses.h"
#include "trace/process.h"
#include "trace/record_sink.h"

namespace turnpike::trace {

class Decoder {
 public:
  // `sink` must outlive the decoder.
  explicit Decoder(RecordSink& sink) : sink_(sink) {}

  void decode(const Chunk& chunk);
  void count_loss(Loss loss, std::uint64_t count);
  // The chunks from here on are of the next segment of a recording that keeps the last of a program.
  void begin_segment(const FileHeader& header, bool is_first, bool is_older_gone);
  const Process& process() const { return process_; }

  // Names the frames and compares the file with itself, when every chunk has been decoded. Call once.
  Process finish();

 private:
  using Bytes = std::span<const std::byte>;

  void decode_metadata(Bytes rest);
  void decode_strings(Bytes rest);
  void decode_frames(Bytes rest);
  void decode_sources(Bytes rest);
  void decode_source_text(Bytes rest);
  void decode_stacks(Bytes rest);
  void decode_records(Bytes rest);
  void decode_clock(Bytes rest);
  void decode_losses(Bytes rest);
  void decode_end(Bytes rest);
  bool deliver(const RecordHeader& header, const std::byte* record);
  template <typename Record>
  bool is_before_window(const Record& record) const;
  void name_frames();
  void name_source_text();
  void note_frames(std::span<const std::uint32_t> frames);
  void check_stacks();
  void insert_sources();
  void reconcile_end();

  RecordSink& sink_;
  Process process_;
  std::vector<std::uint32_t> stack_frames_;  // of the stack that is read, kept for its memory
  std::vector<char> is_frame_used_;          // by id, as far as a stack names one
  bool is_far_frame_used_ = false;           // one with an id beyond those
  std::vector<FrameEntry> frames_;           // until their strings are all known
  std::vector<SourceEntry> sources_;
  std::vector<Frame> named_sources_;  // of each of sources_
  struct UnnamedText {
    SourceTextEntry entry;
    std::string text;
  };
  std::vector<UnnamedText> source_texts_;  // until their strings are all known
  std::size_t source_text_bytes_ = 0;
  std::map<std::uint32_t, std::uint64_t> recorder_losses_;
  std::map<std::uint32_t, std::uint64_t> reader_losses_;
  EndEntry read_{};  // what was read of each
  // Of segments:
  bool has_segments_ = false;
  bool is_cut_ = false;               // older ones are gone
  bool awaits_first_losses_ = false;  // of the oldest segment: what was lost before it
  bool is_closed_ = false;            // the segment has an end
  std::uint32_t first_correlation_ = 0;
  std::map<std::uint32_t, std::uint64_t> losses_before_;
};

}  // namespace turnpike::trace
