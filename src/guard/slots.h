// The slots of PyTorch's modules through which they call libcudart: found, pointed at other functions, and restored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace turnpike::guard {

// One function: what is to be called instead, and where the function itself is kept for those calls.
struct Hook {
  const char* function;
  void* replacement;
  void** original;
};

// A module calls a function of another one through a word of its own memory, the slot, which the loader fills in. Words
// are written whole, so a thread that calls meanwhile calls either function.
class Slots {
 public:
  // Points the slots of all modules loaded so far that are PyTorch's or link against it; those seen before are not
  // looked at again. Returns how many slots are taken in all. One thread at a time; not inside of dl_iterate_phdr.
  // Throws std::bad_alloc.
  std::size_t take(std::span<const Hook> hooks);

  // Whether modules were loaded since take(): cheap.
  bool is_stale() const noexcept;

  // Lets the modules call libcudart again. A call that is inside of a hook ends there.
  void restore() noexcept;

  std::size_t count() const noexcept { return taken_.size(); }
  // Slots that were left alone, because they lead to another libcudart than those before.
  std::size_t left_alone() const noexcept { return left_alone_; }

 private:
  struct Taken {
    void** slot;
    void* original;
    bool is_read_only;
  };
  struct Module;
  void take_of(const Module& module, std::span<const Hook> hooks);

  std::vector<Taken> taken_;
  std::vector<std::uintptr_t> seen_;  // the dynamic sections of modules
  std::size_t left_alone_ = 0;
  unsigned long long loads_ = 0;  // what the loader has counted at the last take()
};

}  // namespace turnpike::guard
