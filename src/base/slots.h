// The slots through which the modules of this process call functions of others: found, pointed at other functions, and
// restored.
#pragma once

#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

// One function: what is to be called instead, and where the function itself is kept for those calls.
struct Hook {
  const char* function;
  void* replacement;
  void** original;
};

// A module, as those who choose between them know it.
struct SlotOwner {
  std::string_view path;                 // empty: the program itself
  std::vector<std::string_view> needed;  // the libraries that it links against, by name
};

// A module calls a function of another one through a word of its own memory, the slot, which the loader fills in. Words
// are written whole, so a thread that calls meanwhile calls either function.
class Slots {
 public:
  using Choice = bool (*)(const SlotOwner& owner);
  explicit Slots(Choice is_wanted) noexcept : is_wanted_(is_wanted) {}

  // Points the slots of all wanted modules that are loaded so far; those seen before are not looked at again. Returns
  // how many slots are taken in all. One thread at a time; not inside of dl_iterate_phdr. Throws std::bad_alloc.
  // A library that another thread is loading just now has slots that the loader still writes: kWait waits for its end,
  // and for the library's constructors.
  enum class Loading { kIgnore, kWait };
  std::size_t take(std::span<const Hook> hooks, Loading loading = Loading::kIgnore);

  // Whether modules were loaded since take(). Any thread, while another one is inside of take(), too; where the answer
  // is known from follow(), it costs one line of memory.
  bool is_stale() const noexcept;
  // Makes is_stale() cheap until the next take(): what is loaded from now on stands behind the last module in the
  // loader's list. That one is kept loaded for good. One thread at a time; waits for whoever is loading a library.
  void follow() noexcept;

  // Lets the modules call the functions themselves again. A call that is inside of a hook ends there.
  void restore() noexcept;

  std::size_t count() const noexcept { return taken_.size(); }
  // Slots that were left alone, because they lead to another library's function than those before.
  std::size_t left_alone() const noexcept { return left_alone_; }

 private:
  struct Taken {
    void** slot;
    void* original;
    bool is_read_only;
  };
  struct Module;
  void take_of(const Module& module, std::span<const Hook> hooks);

  Choice is_wanted_;
  std::vector<Taken> taken_;
  std::vector<std::uintptr_t> seen_;  // the dynamic sections of modules
  std::size_t left_alone_ = 0;
  std::atomic<unsigned long long> loads_{0};    // what the loader has counted at the last take()
  std::string last_path_;                       // of the last module at the last take()
  std::atomic<const link_map*> last_{nullptr};  // that module, once it cannot go away; nullptr: not followed
};

}  // namespace turnpike
