// The slots through which the modules of this process call functions of others: found, pointed at other functions, and
// restored.
#pragma once

#include <link.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/loaded_modules.h"

namespace turnpike {

// One function, its replacement, and the place of the pointer by which the replacement calls the function itself.
struct Hook {
  const char* function;
  void* replacement;
  void** original;
};

// A module that a Choice is asked about. The loader is locked meanwhile: a Choice allocates no memory.
class SlotOwner {
 public:
  SlotOwner(std::string_view path, const dl_phdr_info& module) : path_(path), module_(module) {}
  // Empty: the program itself.
  std::string_view path() const noexcept { return path_; }
  std::string_view file_name() const noexcept { return path_.substr(path_.rfind('/') + 1); }
  // Whether it links against a library of such a name. Reads the module: to be asked after its name.
  bool links_against(bool (*is_such)(std::string_view name)) const noexcept;

 private:
  std::string_view path_;
  const dl_phdr_info& module_;
};

// A module calls a function of another one through a word of its own memory, the slot, which the loader fills in. Words
// are written whole, so a thread that calls meanwhile calls either function.
//
// Slots are read and written inside of for_each_module() alone. So their module is not unmapped meanwhile, and two
// objects, also of two libraries, never change the same page at the same time: each makes a read-only page writable,
// writes, and makes it read-only again.
class Slots {
 public:
  using Choice = bool (*)(const SlotOwner& owner);
  // `hooks` outlive this object.
  Slots(Choice is_wanted, std::span<const Hook> hooks) noexcept;

  // take() needs the loader for a library that another thread is loading, and for a slot whose function was not called
  // yet. kMayEnter: take() waits for that thread and for the constructors that it runs, and keeps the library of such a
  // slot loaded. kAvoid: take() leaves the loading library to a later take(), and such a slot to a later kMayEnter.
  enum class Loader { kAvoid, kMayEnter };
  // Points the slots of all wanted modules that are loaded now at the replacements, also slots that it has pointed
  // there before and that lead elsewhere by now. Returns how many slots are taken in all. One thread at a time. Throws
  // std::bad_alloc.
  std::size_t take(Loader loader);

  // Whether modules were loaded since take(), or take() has left slots to the next one. Any thread, also while another
  // one is inside of take(); after follow() it costs one line of memory.
  bool is_stale() const noexcept;
  // Makes is_stale() cheap until the next take(): the loader appends modules to its list, and follow() watches and
  // keeps loaded the last one. One thread at a time. It enters the loader.
  void follow() noexcept;
  // Whether follow() was not called since the last take(). Not while another thread is inside of either.
  bool may_follow() const noexcept { return may_follow_; }

  // Lets the modules that are still loaded call the functions themselves again. A call that is inside of a hook ends
  // there.
  void restore() noexcept;

  std::size_t count() const noexcept { return taken_; }

 private:
  struct Slot {
    std::uintptr_t address;
    std::uint32_t hook;
  };
  // A module with slots.
  struct Owner {
    std::uint64_t identity;
    DynamicSection section;
    std::size_t first_slot, slot_count;
    bool is_loaded;    // completely
    bool is_kept;      // loaded for good
    bool is_listed;    // in the last walk
    bool has_unbound;  // slots that lead to the loader until their first call
  };
  // How many slots lead to the replacement of a hook, and whether one was left alone.
  struct Use {
    std::size_t before = 0;  // at the walk before
    std::size_t taken = 0;
    bool is_refused = false;
  };
  enum class Taking { kTaken, kLeftAlone, kUnbound, kUnfinished };

  void walk_and_take();
  void note_counts(LoadCounts counts) noexcept;
  void begin_walk();
  void end_walk() noexcept;
  void wait_for_loader();
  bool look_at(const dl_phdr_info& module, std::string_view path, bool is_program) noexcept;
  Owner* find(std::uint64_t identity) noexcept;
  bool read_slots(Owner& owner) noexcept;
  void take_slots_of(Owner& owner) noexcept;
  Taking take_slot(const Owner& owner, const Slot& slot) noexcept;
  static Taking write_slot(const Owner& owner, const Slot& slot, void* value) noexcept;
  void ask_loader();
  static void* keep(const Owner& owner) noexcept;
  void forget_unlisted();

  Choice is_wanted_;
  std::span<const Hook> hooks_;
  std::size_t prefix_;  // how many letters the names of all hooks begin with alike
  std::vector<Owner> owners_;
  std::vector<Slot> slots_;
  std::vector<Use> uses_;  // by hook
  std::size_t taken_ = 0;
  bool is_unfinished_ = false;
  bool may_follow_ = true;
  int unfinished_tries_ = 0;
  unsigned long long unloads_ = 0;                    // at the last walk
  std::optional<unsigned long long> waited_unloads_;  // when this thread had waited for the loader
  std::vector<void*> answers_;                        // of the loader, by hook, about one owner
  std::uint64_t answers_about_ = 0;                   // its identity
  std::atomic<unsigned long long> loads_{0};          // the loader's count at the last take()
  char last_path_[PATH_MAX] = "";                     // of the last module at the last take()
  std::atomic<const link_map*> last_{nullptr};        // that module, once it cannot go away; nullptr: not followed
};

}  // namespace turnpike
