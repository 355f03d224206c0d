// Reads ahead in large steps, verifies each chunk, and behind damage looks for the next bytes that make a whole chunk.
#include "trace/chunk_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/crc32c.h"

namespace turnpike::trace {
namespace {

// Large enough that system calls cost nothing, small enough to stay in the processor's cache.
constexpr std::size_t kReadAheadBytes = 1u << 20;
// A file made to harm could offer a false chunk of the largest size at every few bytes. After this many bytes of failed
// checksums (a second or two) the rest of the file counts as damaged; real damage costs a few chunks.
constexpr std::uint64_t kMaxRejectedBytes = std::uint64_t{4} << 30;

}  // namespace

ChunkReader::ChunkReader(int file, std::uint64_t file_bytes, std::uint64_t offset, std::uint64_t first_chunk_offset)
    : file_(file), file_bytes_(file_bytes), offset_(offset), first_chunk_offset_(first_chunk_offset) {}

bool ChunkReader::next(Chunk& chunk) {
  while (rejected_bytes_ <= kMaxRejectedBytes && fill(sizeof(ChunkHeader))) {
    ChunkHeader header;
    std::memcpy(&header, begin(), sizeof header);
    if (is_chunk(header)) {
      chunk = {header.type, {begin() + sizeof header, header.size}};
      begin_ += sizeof header + header.size;
      offset_ += sizeof header + header.size;
      return true;
    }
    if (read_errno_ != 0) return false;
    pass_over(distance_to_magic());
  }
  if (read_errno_ == 0) pass_over(left());
  return false;
}

// Whether the buffer holds `size` bytes from begin() on, reading if need be. False near the end of the file.
bool ChunkReader::fill(std::size_t size) {
  if (size <= buffered()) return true;
  if (size > left()) return false;
  make_room(size);
  while (buffered() < size) {
    const auto unread = left() - buffered();
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(unread, capacity_ - end_));
    const ssize_t count = ::read(file_, buffer_.get() + end_, wanted);
    if (count > 0) {
      end_ += static_cast<std::size_t>(count);
    } else if (count == 0) {
      file_bytes_ = offset_ + buffered();  // someone cut the file shorter meanwhile
      return false;
    } else if (errno != EINTR) {
      read_errno_ = errno;
      return false;
    }
  }
  return true;
}

void ChunkReader::make_room(std::size_t size) {
  if (begin_ + size <= capacity_) return;
  if (size <= capacity_) {
    std::memmove(buffer_.get(), begin(), buffered());
  } else {
    const std::size_t capacity = std::max(size, kReadAheadBytes);
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (buffered() > 0) std::memcpy(larger.get(), begin(), buffered());
    buffer_ = std::move(larger);
    capacity_ = capacity;
  }
  end_ = buffered();
  begin_ = 0;
}

bool ChunkReader::is_chunk(const ChunkHeader& header) {
  if (header.magic != kChunkMagic || header.size % 8 != 0 || header.size > kMaxChunkBytes) return false;
  if (!fill(sizeof header + header.size)) return false;
  std::uint32_t crc = crc32c(&header.type, sizeof header.type + sizeof header.size);
  crc = crc32c(begin() + sizeof header, header.size, crc);
  if (crc != header.crc) rejected_bytes_ += header.size;
  return crc == header.crc;
}

// From begin() to the next place in the buffer where a chunk may start, or to where one may reach beyond the buffer.
std::size_t ChunkReader::distance_to_magic() const {
  const std::byte* const after = begin() + 1;
  const void* found = ::memmem(after, buffered() - 1, &kChunkMagic, sizeof kChunkMagic);
  if (found != nullptr) return static_cast<std::size_t>(static_cast<const std::byte*>(found) - begin());
  return buffered() - (sizeof kChunkMagic - 1);
}

void ChunkReader::pass_over(std::uint64_t size) {
  const std::uint64_t damage_start = std::max(offset_, first_chunk_offset_);
  offset_ += size;
  if (offset_ > damage_start) damaged_bytes_ += offset_ - damage_start;
  begin_ += std::min<std::uint64_t>(size, buffered());
}

}  // namespace turnpike::trace
