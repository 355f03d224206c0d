// Takes a trace file apart into its whole chunks, passing over what is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "trace/format.h"

namespace turnpike::trace {

struct Chunk {
  ChunkType type;
  std::span<const std::byte> payload;  // valid until the next chunk is asked for; need not be aligned
};

// Holds at most one chunk of the largest size in memory, and never more than the file has.
class ChunkReader {
 public:
  // `file` stands at `offset` and stays the caller's. Bytes before `first_chunk_offset` that are no chunk are no
  // damage: they belong to a longer file header of a later writer. Bytes that are added after `file_bytes` was taken
  // are not read.
  ChunkReader(int file, std::uint64_t file_bytes, std::uint64_t offset, std::uint64_t first_chunk_offset);

  // The next whole chunk, its checksum verified. False at the end of the file, or where it cannot be read further.
  bool next(Chunk& chunk);

  std::uint64_t offset() const { return offset_; }
  // Bytes passed over that belong to no whole chunk, up to where reading has come.
  std::uint64_t damaged_bytes() const { return damaged_bytes_; }
  // Why the file could not be read further; 0 unless that happened.
  int read_errno() const { return read_errno_; }

 private:
  const std::byte* begin() const { return buffer_.get() + begin_; }
  std::size_t buffered() const { return end_ - begin_; }
  std::uint64_t left() const { return file_bytes_ - offset_; }
  bool fill(std::size_t size);
  void make_room(std::size_t size);
  bool is_chunk(const ChunkHeader& header);
  std::size_t distance_to_magic() const;
  void pass_over(std::uint64_t size);

  int file_;
  std::uint64_t file_bytes_;
  std::uint64_t offset_;  // in the file, of begin()
  std::uint64_t first_chunk_offset_;
  std::uint64_t damaged_bytes_ = 0;
  std::uint64_t rejected_bytes_ = 0;
  int read_errno_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace turnpike::trace
