// Appends chunks to one trace file. Lives inside the user's process: never throws, allocates only while opening.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trace/format.h"

namespace turnpike::trace {

// Which file it is, whatever its name.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// One thread at a time. errno is left as it was, except by a failing open.
class Writer {
 public:
  Writer() = default;
  ~Writer() { close(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Makes the file, which must not exist yet, and writes `header`; magic, version and header_bytes are filled in here.
  // False when that failed: errno says why, and no file is left behind.
  bool open(const char* path, const FileHeader& header) noexcept;
  // Goes on with a file that another process began, as `identity` tells, and cuts it to its first `bytes` bytes, which
  // are whole chunks. False when the file is another, shorter, or cannot be written: errno says why.
  bool resume(const char* path, const FileIdentity& identity, std::uint64_t bytes) noexcept;
  bool is_open() const noexcept { return file_ >= 0; }

  // Programs close descriptors that are not theirs (os.closerange), and get the numbers for files of their own: ours is
  // looked at before each write, and the file opened again by its name. Nothing goes to a file that is not ours.
  //
  // Writes one chunk, its payload padded with zeros to a multiple of 8. False when the file could not take all of it:
  // its bytes then count as lost and what was written of it is cut off again, so that later chunks stay readable. The
  // next call tries again: a full disk may have room by then. Refused as lost: payloads over kMaxChunkBytes, a closed
  // writer.
  bool append(ChunkType type, const void* payload, std::size_t size) noexcept;

  // Takes back what stands behind the first `bytes` bytes, which are whole chunks: it counts as lost. On a full disk
  // that makes room for an end.
  void cut_back(std::uint64_t bytes) noexcept;

  // Bytes of the header and of whole chunks that the file took, and of chunks that it did not take.
  std::uint64_t written_bytes() const noexcept { return written_bytes_; }
  std::uint64_t lost_bytes() const noexcept { return lost_bytes_; }
  // Where the next chunk will stand.
  std::uint64_t end_bytes() const noexcept { return end_bytes_; }
  // Why the latest failing append failed; 0 when none has.
  int last_errno() const noexcept { return last_errno_; }

  // Keeps the counters. Closing twice is allowed.
  void close() noexcept;

 private:
  bool start(int file, const char* path) noexcept;
  bool has_own_file() noexcept;
  bool is_own(int file) const noexcept;

  int file_ = -1;
  std::string path_;
  FileIdentity identity_;
  int last_errno_ = 0;
  // Where the next chunk starts: written_bytes_, and the remains of a chunk that could not be cut off.
  std::uint64_t end_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;
  std::uint64_t lost_bytes_ = 0;
};

}  // namespace turnpike::trace
