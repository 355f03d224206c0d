// Bytes that are kept for a while: the first of them in memory, the rest in a temporary file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace turnpike {

// For what grows with a trace and is looked at again later. The file has no name, so that nothing is left of it when
// the process ends, however it ends. It lies in $TMPDIR, or where that cannot hold one, in /var/tmp or /tmp: unlike
// /tmp, /var/tmp is on a disk everywhere. Whatever fails with it is thrown as a std::runtime_error that says where and
// why. One thread at a time writes.
class SpilledBytes {
 public:
  static constexpr std::size_t kUsuallyInMemory = std::size_t{4} << 20;

  // `most_in_memory`: so many bytes need no file.
  explicit SpilledBytes(std::size_t most_in_memory = kUsuallyInMemory) : most_in_memory_(most_in_memory) {}
  ~SpilledBytes();
  SpilledBytes(const SpilledBytes&) = delete;
  SpilledBytes& operator=(const SpilledBytes&) = delete;

  // Gives the place of the first byte.
  std::uint64_t append(std::span<const std::byte> bytes);
  // `place`: of bytes that were appended, here and below.
  void replace(std::uint64_t place, std::span<const std::byte> bytes);
  void read(std::uint64_t place, std::span<std::byte> bytes) const;

  std::uint64_t size() const { return size_; }
  bool has_file() const { return file_ >= 0; }

 private:
  // How many of `bytes` bytes from `place` on are in memory.
  std::size_t kept_of(std::uint64_t place, std::size_t bytes) const;
  void open_file();
  void write_file(std::uint64_t place, std::span<const std::byte> bytes);
  void read_file(std::uint64_t place, std::span<std::byte> bytes) const;

  std::size_t most_in_memory_;
  std::vector<std::byte> in_memory_;
  std::uint64_t size_ = 0;
  int file_ = -1;
  std::string folder_;  // of the file
};

}  // namespace turnpike
