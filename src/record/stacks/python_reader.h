// Two ways to read the structures of CPython: where they stand, or through the kernel, which cannot fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "record/stacks/own_memory.h"

namespace turnpike::record {

using Pointer = const char*;

template <typename T>
T read(const void* object, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
  return value;
}

// For memory that cannot go away meanwhile.
class DirectReader {
 public:
  template <typename T>
  T get(Pointer object, std::size_t offset) noexcept {
    return read<T>(object, offset);
  }
  // `size` bytes to look at until the next call; nullptr: not there.
  Pointer view(Pointer bytes, std::size_t) noexcept { return bytes; }
  bool has_failed() const noexcept { return false; }
};

// For memory that others change, free and unmap: a page at a time. What is not there reads as 0, and has_failed() says
// so from then on. What is read may be old or torn: it means nothing before it was checked.
class CarefulReader {
 public:
  template <typename T>
  T get(Pointer object, std::size_t offset) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(object) + offset;
    const std::uintptr_t page = address & ~(sizeof page_bytes_ - 1);
    // Fields are aligned: none lies across two pages.
    if ((address & (sizeof(T) - 1)) != 0 || (page != page_ && !load(page))) {
      has_failed_ = true;
      return T{};
    }
    return read<T>(page_bytes_, address - page);
  }
  Pointer view(Pointer bytes, std::size_t size) noexcept {
    if (size <= sizeof view_bytes_ && read_own_memory(reinterpret_cast<std::uintptr_t>(bytes), view_bytes_, size)) {
      return view_bytes_;
    }
    has_failed_ = true;
    return nullptr;
  }
  bool has_failed() const noexcept { return has_failed_; }
  // Reads anew what is asked for from now on.
  void forget() noexcept { page_ = kNoPage; }
  // The same, and forgets that something could not be read.
  void restart() noexcept {
    page_ = kNoPage;
    has_failed_ = false;
  }

 private:
  bool load(std::uintptr_t page) noexcept {
    const bool is_read = read_own_memory(page, page_bytes_, sizeof page_bytes_);
    page_ = is_read ? page : kNoPage;
    return is_read;
  }

  static constexpr std::uintptr_t kNoPage = 1;  // no page starts there; one starts at 0, where nullptr leads

  std::uintptr_t page_ = kNoPage;
  bool has_failed_ = false;
  alignas(8) char page_bytes_[4096];
  char view_bytes_[16384];  // names have at most 4096 characters of 4 bytes
};

}  // namespace turnpike::record
