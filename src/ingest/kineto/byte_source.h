// The bytes of a file, one piece after the other: as they stand in it, or unpacked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace turnpike::ingest {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills up to all of `into`; 0: the end. Fails when the file cannot be read on.
  virtual Result<std::size_t> read(std::span<char> into) = 0;
  // How much of the file has been read, as it stands on the disk.
  virtual std::uint64_t consumed_bytes() const = 0;
  virtual std::uint64_t file_bytes() const = 0;
  // Bytes of the file, as it stands on the disk, that could not be unpacked. Known at the end.
  virtual std::uint64_t damaged_bytes() const { return 0; }
};

}  // namespace turnpike::ingest
