// Reads the relocations that the loader read: DT_JMPREL for calls, DT_RELA for functions whose address is taken.
#include "base/slots.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/hot.h"

namespace turnpike {

struct Slots::Module {
  std::string path;
  bool is_program = false;  // the loader lists it first
  std::uintptr_t base = 0;
  std::uintptr_t begin = 0;  // of all its segments
  std::uintptr_t end = 0;
  std::uintptr_t relro_begin = 0;
  std::uintptr_t relro_end = 0;
  const ElfW(Dyn) * dynamic = nullptr;
};

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

// The parts of a module's dynamic section that matter here.
struct Dynamic {
  const char* names = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const ElfW(Rela) * calls = nullptr;
  std::size_t call_count = 0;
  const ElfW(Rela) * data = nullptr;
  std::size_t data_count = 0;
  std::size_t relative_count = 0;  // of `data`, the first ones, which name no symbol
};

Dynamic read_dynamic(const ElfW(Dyn) * dynamic) {
  Dynamic found;
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    const auto value = static_cast<std::size_t>(entry->d_un.d_val);
    // glibc has added the module's base to these addresses when it loaded the module.
    const auto address = static_cast<std::uintptr_t>(entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_STRTAB:
        found.names = reinterpret_cast<const char*>(address);
        break;
      case DT_SYMTAB:
        found.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_JMPREL:
        found.calls = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        found.call_count = value / sizeof(ElfW(Rela));
        break;
      case DT_RELA:
        found.data = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        found.data_count = value / sizeof(ElfW(Rela));
        break;
      case DT_RELACOUNT:
        found.relative_count = value;
        break;
      default:
        break;
    }
  }
  return found;
}

SlotOwner describe(std::string_view path, const ElfW(Dyn) * dynamic, const char* names) {
  SlotOwner owner{path, {}};
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED) owner.needed.emplace_back(names + entry->d_un.d_val);
  }
  return owner;
}

std::uintptr_t page_size() noexcept {
  return static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
}

std::uintptr_t page_of(std::uintptr_t address) noexcept {
  return address & ~(page_size() - 1);
}

bool write_slot(void** slot, void* value, bool is_read_only) noexcept {
  void* page = reinterpret_cast<void*>(page_of(reinterpret_cast<std::uintptr_t>(slot)));
  if (is_read_only && mprotect(page, page_size(), PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  if (is_read_only) mprotect(page, page_size(), PROT_READ);
  return true;
}

// How many letters the names of all hooks begin with alike: large libraries call tens of thousands of functions.
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

int read_load_count(dl_phdr_info* info, std::size_t, void* count) {
  *static_cast<unsigned long long*>(count) = info->dlpi_adds;
  return 1;  // the first one says it
}

unsigned long long load_count() noexcept {
  unsigned long long count = 0;
  dl_iterate_phdr(read_load_count, &count);
  return count;
}

// Whoever loads a library holds the loader's lock until all is done.
void wait_for_loader() noexcept {
  if (void* program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD); program != nullptr) dlclose(program);
}

}  // namespace

std::size_t Slots::take(std::span<const Hook> hooks, Loading loading) {
  last_.store(nullptr, std::memory_order_relaxed);
  loads_.store(load_count(), std::memory_order_relaxed);
  struct Found {
    std::vector<Module> modules;
    std::string last;
    bool has_any = false;
  } found;
  // The loader is locked in here, so nothing but notes.
  const auto note = [](dl_phdr_info* info, std::size_t, void* to) -> int {
    Module module;
    module.path = info->dlpi_name;
    static_cast<Found*>(to)->last = module.path;
    module.is_program = !static_cast<Found*>(to)->has_any;
    static_cast<Found*>(to)->has_any = true;
    module.base = info->dlpi_addr;
    module.begin = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info->dlpi_phdr[i];
      const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
      const std::uintptr_t end = begin + segment.p_memsz;
      if (segment.p_type == PT_LOAD) {
        module.begin = std::min(module.begin, begin);
        module.end = std::max(module.end, end);
      } else if (segment.p_type == PT_GNU_RELRO) {
        // The loader protects whole pages.
        module.relro_begin = page_of(begin);
        module.relro_end = page_of(end);
      } else if (segment.p_type == PT_DYNAMIC) {
        module.dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
      }
    }
    if (module.dynamic != nullptr) static_cast<Found*>(to)->modules.push_back(std::move(module));
    return 0;
  };
  dl_iterate_phdr(note, &found);
  last_path_ = std::move(found.last);
  if (loading == Loading::kWait) wait_for_loader();
  for (const Module& module : found.modules) {
    const auto key = reinterpret_cast<std::uintptr_t>(module.dynamic);
    if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) continue;
    seen_.push_back(key);
    // The kernel's own module has addresses that the loader did not adjust.
    if (module.is_program || module.path.starts_with('/')) take_of(module, hooks);
  }
  return taken_.size();
}

void Slots::take_of(const Module& module, std::span<const Hook> hooks) {
  const Dynamic dynamic = read_dynamic(module.dynamic);
  if (dynamic.names == nullptr || dynamic.symbols == nullptr) return;
  if (!is_wanted_(describe(module.path, module.dynamic, dynamic.names))) return;
  void* handle = nullptr;
  const std::size_t prefix = common_prefix(hooks);
  const auto take_one = [&](const ElfW(Rela) & entry) {
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info));
    if (type != kJumpSlot && type != kGlobalData) return;
    const char* name = dynamic.names + dynamic.symbols[ELF64_R_SYM(entry.r_info)].st_name;
    if (prefix > 0 && std::strncmp(name, hooks[0].function, prefix) != 0) return;
    const auto hook =
        std::find_if(hooks.begin(), hooks.end(), [&](const Hook& one) { return std::strcmp(one.function, name) == 0; });
    if (hook == hooks.end()) return;
    const std::uintptr_t address = module.base + entry.r_offset;
    auto** slot = reinterpret_cast<void**>(address);
    void* original = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    const auto target = reinterpret_cast<std::uintptr_t>(original);
    if (original == nullptr || (target >= module.begin && target < module.end)) {
      // Not called yet: the slot leads to the loader, which would write the function there and our hook away.
      if (handle == nullptr)
        handle = dlopen(module.is_program ? nullptr : module.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
      original = handle == nullptr ? nullptr : dlsym(handle, name);
    }
    if (original == nullptr) return;
    if (*hook->original != nullptr && *hook->original != original) {
      ++left_alone_;
      return;
    }
    // Whoever calls the replacement from now on, on whatever thread, finds it.
    __atomic_store_n(hook->original, original, __ATOMIC_RELEASE);
    const bool is_read_only = address >= module.relro_begin && address < module.relro_end;
    taken_.reserve(taken_.size() + 1);
    if (write_slot(slot, hook->replacement, is_read_only)) taken_.push_back({slot, original, is_read_only});
  };
  for (std::size_t i = 0; i < dynamic.call_count; ++i) take_one(dynamic.calls[i]);
  for (std::size_t i = dynamic.relative_count; i < dynamic.data_count; ++i) take_one(dynamic.data[i]);
  if (handle != nullptr) dlclose(handle);
}

TURNPIKE_HOT bool Slots::is_stale() const noexcept {
  if (const link_map* last = last_.load(std::memory_order_acquire)) {
    return __atomic_load_n(&last->l_next, __ATOMIC_RELAXED) != nullptr;
  }
  return load_count() != loads_.load(std::memory_order_relaxed);
}

void Slots::follow() noexcept {
  if (last_path_.empty() || last_.load(std::memory_order_relaxed) != nullptr) return;
  void* handle = dlopen(last_path_.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return;
  // Where others came and went meanwhile, it may stand behind one that was not seen.
  if (load_count() == loads_.load(std::memory_order_relaxed)) {
    last_.store(static_cast<const link_map*>(handle), std::memory_order_release);
  } else {
    dlclose(handle);
  }
}

void Slots::restore() noexcept {
  for (const Taken& one : taken_) write_slot(one.slot, one.original, one.is_read_only);
  taken_.clear();
  seen_.clear();
  loads_.store(0, std::memory_order_relaxed);
  last_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace turnpike
