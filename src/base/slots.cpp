// Reads the relocations that the loader read: DT_JMPREL for calls, DT_RELA for functions whose address is taken.
#include "base/slots.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/hot.h"

namespace turnpike {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr std::uint32_t kGlobalData = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr std::uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr std::uint32_t kGlobalData = R_AARCH64_GLOB_DAT;
#else
#error "The relocations of this processor are not known here"
#endif

constexpr unsigned long long kUnknownLoads = ~0ULL;
// Calls of take() in which the loader had not finished some slots. If the program has made a page writable itself, only
// kMayEnter can take its slots.
constexpr int kMostUnfinishedTries = 1000;

// Large libraries call tens of thousands of functions.
std::size_t common_prefix(std::span<const Hook> hooks) noexcept {
  if (hooks.empty()) return 0;
  std::size_t length = std::strlen(hooks[0].function);
  for (const Hook& one : hooks) {
    std::size_t same = 0;
    while (same < length && one.function[same] == hooks[0].function[same]) ++same;
    length = same;
  }
  return length;
}

// Names a library at an address: the program may unload it and load another one at the same address.
std::uint64_t identity_of(const dl_phdr_info& module, std::string_view path) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  const auto add = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x100000001B3; };
  for (const char letter : path) add(static_cast<unsigned char>(letter));
  add(module.dlpi_addr);
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    for (const std::uint64_t word : {std::uint64_t{segment.p_type}, std::uint64_t{segment.p_offset},
                                     std::uint64_t{segment.p_vaddr}, std::uint64_t{segment.p_memsz}}) {
      add(word);
    }
  }
  return hash;
}

// Visits each module with its path until `visit` returns false. The loader lists the program first; its path is empty.
template <typename Visit>
void walk(Visit visit) noexcept {
  struct Walk {
    Visit& visit;
    bool is_first = true;
  } started{visit};
  for_each_module(
      [](dl_phdr_info* module, std::size_t, void* data) {
        auto& now = *static_cast<Walk*>(data);
        const bool is_program = std::exchange(now.is_first, false);
        const std::string_view path(module->dlpi_name == nullptr || is_program ? "" : module->dlpi_name);
        return now.visit(*module, path, is_program) ? 0 : 1;
      },
      &started);
}

}  // namespace

bool SlotOwner::links_against(bool (*is_such)(std::string_view name)) const noexcept {
  const DynamicSection section(module_);
  if (section.names == nullptr) return false;
  for (const ElfW(Dyn)* entry = section.entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && is_such(section.names + entry->d_un.d_val)) return true;
  }
  return false;
}

Slots::Slots(Choice is_wanted, std::span<const Hook> hooks) noexcept
    : is_wanted_(is_wanted), hooks_(hooks), prefix_(common_prefix(hooks)) {}

std::size_t Slots::take(Loader loader) {
  last_.store(nullptr, std::memory_order_relaxed);
  may_follow_ = true;
  walk_and_take();
  if (loader == Loader::kMayEnter && is_unfinished_) wait_for_loader();
  if (loader == Loader::kMayEnter) ask_loader();
  forget_unlisted();
  if (!is_unfinished_) unfinished_tries_ = 0;
  if (is_unfinished_ && ++unfinished_tries_ < kMostUnfinishedTries) {
    loads_.store(kUnknownLoads, std::memory_order_relaxed);
  }
  return taken_;
}

void Slots::walk_and_take() {
  bool has_room = true;
  std::size_t more = 16;
  do {
    // A walk allocates no memory.
    owners_.reserve(owners_.size() + more);
    slots_.reserve(slots_.size() + more * 8);
    more *= 2;
    has_room = true;
    begin_walk();
    walk([&](const dl_phdr_info& module, std::string_view path, bool is_program) {
      if (is_program) note_counts({module.dlpi_adds, module.dlpi_subs});
      const std::size_t length = std::min(path.size(), sizeof last_path_ - 1);
      std::memcpy(last_path_, path.data(), length);
      last_path_[length] = '\0';
      has_room = look_at(module, path, is_program);
      return has_room;
    });
  } while (!has_room);
  end_walk();
}

void Slots::begin_walk() {
  uses_.resize(hooks_.size());
  for (Use& use : uses_) use = {.before = use.before};
  is_unfinished_ = false;
  for (Owner& owner : owners_) owner.is_listed = false;
}

// A function of which no slot leads to the replacement may be forgotten: its library was unloaded, or will be. The next
// walk takes the slots that lead to another library's.
void Slots::end_walk() noexcept {
  taken_ = 0;
  for (Use& use : uses_) {
    taken_ += use.taken;
    is_unfinished_ |= use.is_refused && use.taken == 0;
    use.before = use.taken;
  }
}

// After an unload the same library may be listed again, and not be loaded completely.
void Slots::note_counts(LoadCounts counts) noexcept {
  loads_.store(counts.loads, std::memory_order_relaxed);
  const bool is_waited = waited_unloads_ == counts.unloads;
  for (Owner& owner : owners_)
    owner.is_loaded = owner.is_kept || is_waited || (owner.is_loaded && unloads_ == counts.unloads);
  unloads_ = counts.unloads;
}

// A thread that loads a library holds the loader's lock until the constructors have run. A library that was listed
// before, and was not unloaded meanwhile, is loaded completely.
void Slots::wait_for_loader() {
  forget_unlisted();
  if (void* program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD); program != nullptr) dlclose(program);
  waited_unloads_ = unloads_;
  walk_and_take();
  waited_unloads_.reset();
}

// False: owners_ or slots_ is too small.
bool Slots::look_at(const dl_phdr_info& module, std::string_view path, bool is_program) noexcept {
  // The kernel's own module has a name without a folder.
  if (!is_program && path.find('/') == path.npos) return true;
  if (!is_wanted_(SlotOwner(path, module))) return true;
  const std::uint64_t identity = identity_of(module, path);
  Owner* owner = find(identity);
  if (owner == nullptr) {
    if (owners_.size() == owners_.capacity()) return false;
    Owner found{identity, DynamicSection(module), slots_.size(), 0, is_program, is_program, false, false};
    if (!read_slots(found)) return false;
    owners_.push_back(found);
    owner = &owners_.back();
  }
  owner->is_listed = true;
  take_slots_of(*owner);
  return true;
}

Slots::Owner* Slots::find(std::uint64_t identity) noexcept {
  const auto found =
      std::find_if(owners_.begin(), owners_.end(), [&](const Owner& one) { return one.identity == identity; });
  return found == owners_.end() ? nullptr : &*found;
}

// False: slots_ is too small.
bool Slots::read_slots(Owner& owner) noexcept {
  const DynamicSection& section = owner.section;
  if (!section.has_symbols()) return true;
  const auto note = [&](const ElfW(Rela) & entry) {
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info));
    if (type != kJumpSlot && type != kGlobalData) return true;
    const char* name = section.names + section.symbols[ELF64_R_SYM(entry.r_info)].st_name;
    if (prefix_ > 0 && std::strncmp(name, hooks_[0].function, prefix_) != 0) return true;
    const auto hook = std::find_if(hooks_.begin(), hooks_.end(),
                                   [&](const Hook& one) { return std::strcmp(one.function, name) == 0; });
    if (hook == hooks_.end()) return true;
    if (slots_.size() == slots_.capacity()) return false;
    slots_.push_back({section.base + entry.r_offset, static_cast<std::uint32_t>(hook - hooks_.begin())});
    ++owner.slot_count;
    return true;
  };
  bool has_room = true;
  for (std::size_t i = 0; has_room && i < section.call_count; ++i) has_room = note(section.calls[i]);
  for (std::size_t i = section.relative_count; has_room && i < section.data_count; ++i) {
    has_room = note(section.data[i]);
  }
  if (!has_room) slots_.resize(owner.first_slot);
  return has_room;
}

void Slots::take_slots_of(Owner& owner) noexcept {
  owner.has_unbound = false;
  for (std::size_t i = 0; i < owner.slot_count; ++i) {
    const Slot& slot = slots_[owner.first_slot + i];
    const Taking taking = take_slot(owner, slot);
    uses_[slot.hook].taken += taking == Taking::kTaken;
    owner.has_unbound |= taking == Taking::kUnbound;
    is_unfinished_ |= taking == Taking::kUnfinished;
  }
}

Slots::Taking Slots::take_slot(const Owner& owner, const Slot& slot) noexcept {
  const Hook& hook = hooks_[slot.hook];
  void* function = __atomic_load_n(reinterpret_cast<void**>(slot.address), __ATOMIC_ACQUIRE);
  if (function == hook.replacement) return Taking::kTaken;
  const auto target = reinterpret_cast<std::uintptr_t>(function);
  // Not called yet: the slot leads to the loader, which would write the function there and our hook away.
  const bool is_unbound = owner.section.has(target);
  // The value of the file: the thread that loads the library will still write to this slot.
  const bool is_raw = !is_unbound && (function == nullptr || owner.section.has(target + owner.section.base));
  if (is_raw && !owner.is_loaded) return Taking::kUnfinished;
  if (is_unbound || is_raw) {
    if (answers_about_ != owner.identity) return Taking::kUnbound;
    function = answers_[slot.hook];
  }
  if (function == nullptr) return Taking::kLeftAlone;
  void* const known = __atomic_load_n(hook.original, __ATOMIC_ACQUIRE);
  Use& use = uses_[slot.hook];
  const bool is_other = known != nullptr && known != function;
  if (is_other && use.before + use.taken > 0) {
    use.is_refused = true;  // another library's function
    return Taking::kLeftAlone;
  }
  // Before the slot: a thread may call the replacement at once.
  __atomic_store_n(hook.original, function, __ATOMIC_RELEASE);
  return write_slot(owner, slot, hook.replacement);
}

// While the loader still writes to the page, making it read-only would crash the program.
Slots::Taking Slots::write_slot(const Owner& owner, const Slot& slot, void* value) noexcept {
  const bool is_in_relro = slot.address >= owner.section.relro_begin && slot.address < owner.section.relro_end;
  const std::optional<bool> can_write = is_in_relro ? is_writable(slot.address) : true;
  // The loader makes it read-only when it has relocated the library.
  if (is_in_relro && can_write != false && !owner.is_loaded) return Taking::kUnfinished;
  void* const page = reinterpret_cast<void*>(slot.address & ~(page_size() - 1));
  const bool is_opened = can_write != true;
  if (is_opened && mprotect(page, page_size(), PROT_READ | PROT_WRITE) != 0) return Taking::kLeftAlone;
  __atomic_store_n(reinterpret_cast<void**>(slot.address), value, __ATOMIC_RELEASE);
  if (is_opened) mprotect(page, page_size(), PROT_READ);
  return Taking::kTaken;
}

// Asks about one owner after the other, outside of the walks.
void Slots::ask_loader() {
  answers_.resize(hooks_.size());
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    Owner& owner = owners_[i];
    if (!owner.is_listed || !owner.has_unbound) continue;
    void* const handle = keep(owner);
    if (handle == nullptr) continue;
    owner.is_kept = true;
    for (std::size_t one = 0; one < hooks_.size(); ++one) {
      const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(owner.first_slot);
      const bool has = std::any_of(begin, begin + static_cast<std::ptrdiff_t>(owner.slot_count),
                                   [&](const Slot& slot) { return slot.hook == one; });
      answers_[one] = has ? dlsym(handle, hooks_[one].function) : nullptr;
    }
    answers_about_ = owner.identity;
    walk_and_take();
    answers_about_ = 0;
  }
}

// Waits for the thread that is loading it. The handle is never closed: the last one to be closed would run the
// library's destructors on this thread. nullptr: the library was unloaded.
void* Slots::keep(const Owner& owner) noexcept {
  char path[PATH_MAX] = "";
  bool is_there = false;
  walk([&](const dl_phdr_info& module, std::string_view name, bool) {
    is_there = name.size() < sizeof path && identity_of(module, name) == owner.identity;
    if (!is_there) return true;
    std::memcpy(path, name.data(), name.size());
    path[name.size()] = '\0';
    return false;
  });
  if (!is_there) return nullptr;
  void* const handle = dlopen(path[0] == '\0' ? nullptr : path, RTLD_LAZY | RTLD_NOLOAD);
  const bool is_it = handle != nullptr && static_cast<const link_map*>(handle)->l_addr == owner.section.base;
  return is_it ? handle : nullptr;
}

void Slots::forget_unlisted() {
  if (std::all_of(owners_.begin(), owners_.end(), [](const Owner& one) { return one.is_listed; })) return;
  std::vector<Slot> kept;
  for (Owner& owner : owners_) {
    if (!owner.is_listed) continue;
    const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(owner.first_slot);
    owner.first_slot = kept.size();
    kept.insert(kept.end(), begin, begin + static_cast<std::ptrdiff_t>(owner.slot_count));
  }
  slots_.swap(kept);
  std::erase_if(owners_, [](const Owner& one) { return !one.is_listed; });
}

TURNPIKE_HOT bool Slots::is_stale() const noexcept {
  if (const link_map* last = last_.load(std::memory_order_acquire)) {
    return __atomic_load_n(&last->l_next, __ATOMIC_RELAXED) != nullptr;
  }
  return load_counts().loads != loads_.load(std::memory_order_relaxed);
}

void Slots::follow() noexcept {
  may_follow_ = false;
  if (last_path_[0] == '\0' || last_.load(std::memory_order_relaxed) != nullptr) return;
  void* handle = dlopen(last_path_, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return;
  // If libraries were loaded meanwhile, the last take() may not have seen those before this one.
  if (load_counts().loads == loads_.load(std::memory_order_relaxed)) {
    last_.store(static_cast<const link_map*>(handle), std::memory_order_release);
  } else {
    dlclose(handle);
  }
}

void Slots::restore() noexcept {
  walk([this](const dl_phdr_info& module, std::string_view path, bool) {
    const Owner* owner = find(identity_of(module, path));
    for (std::size_t i = 0; owner != nullptr && i < owner->slot_count; ++i) {
      const Slot& slot = slots_[owner->first_slot + i];
      const Hook& hook = hooks_[slot.hook];
      const void* now = __atomic_load_n(reinterpret_cast<void**>(slot.address), __ATOMIC_ACQUIRE);
      if (now == hook.replacement) write_slot(*owner, slot, *hook.original);
    }
    return true;
  });
  owners_.clear();
  slots_.clear();
  uses_.clear();
  taken_ = 0;
  loads_.store(0, std::memory_order_relaxed);
  last_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace turnpike
