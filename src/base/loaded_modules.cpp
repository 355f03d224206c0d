#include "base/loaded_modules.h"

#include <elf.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

namespace turnpike {
namespace {

constinit std::mutex g_walk;

// Before all static objects, because the handlers of a fork run in reverse: this lock is the last one to be taken, as
// it is for the threads that walk.
[[gnu::constructor(101)]] void hold_walks_at_forks() {
  pthread_atfork([] { g_walk.lock(); }, [] { g_walk.unlock(); }, [] { g_walk.unlock(); });
}

std::uint32_t gnu_hash(const char* name) noexcept {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// The table: number of buckets, first symbol that it has, words of a filter, a shift; the filter; the first symbol of
// each bucket; the hash of each symbol, whose lowest bit says that it is the last one of its bucket.
const ElfW(Sym) * find_symbol(const DynamicSection& module, const char* name) noexcept {
  if (!module.has_symbols() || module.gnu_hash == nullptr || module.gnu_hash[0] == 0) return nullptr;
  const std::uint32_t bucket_count = module.gnu_hash[0];
  const std::uint32_t first = module.gnu_hash[1];
  const std::uint32_t filter_words = module.gnu_hash[2];
  const std::uint32_t* buckets = module.gnu_hash + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* hashes = buckets + bucket_count;
  const std::uint32_t hash = gnu_hash(name);
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first) return nullptr;
  for (;; ++index) {
    const std::uint32_t other = hashes[index - first];
    const ElfW(Sym)& symbol = module.symbols[index];
    if ((other | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
        std::strcmp(module.names + symbol.st_name, name) == 0) {
      return &symbol;
    }
    if ((other & 1) != 0) return nullptr;
  }
}

}  // namespace

int for_each_module(VisitModule visit, void* data) noexcept {
  const std::lock_guard lock(g_walk);
  return dl_iterate_phdr(visit, data);
}

LoadCounts load_counts() noexcept {
  LoadCounts counts;
  const auto read = [](dl_phdr_info* module, std::size_t, void* to) {
    *static_cast<LoadCounts*>(to) = {module->dlpi_adds, module->dlpi_subs};
    return 1;  // the first one says it
  };
  for_each_module(read, &counts);
  return counts;
}

std::uintptr_t page_size() noexcept {
  return static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
}

// The kernel adds 0 to the word.
std::optional<bool> is_writable(std::uintptr_t address) noexcept {
  std::uint32_t nobody = 0;
  const long woken = syscall(SYS_futex, &nobody, FUTEX_WAKE_OP_PRIVATE, 0, nullptr,
                             reinterpret_cast<std::uint32_t*>(address), FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0));
  if (woken >= 0) return true;
  if (errno == EFAULT) return false;
  return std::nullopt;
}

DynamicSection::DynamicSection(const dl_phdr_info& module) noexcept : base(module.dlpi_addr), begin(UINTPTR_MAX) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    const std::uintptr_t from = base + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) entries = reinterpret_cast<const ElfW(Dyn)*>(from);
    if (segment.p_type == PT_GNU_RELRO) {
      // Whole pages.
      relro_begin = from & ~(page_size() - 1);
      relro_end = (from + segment.p_memsz) & ~(page_size() - 1);
    }
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min(begin, from);
    end = std::max(end, from + segment.p_memsz);
  }
  if (entries == nullptr) return;
  // glibc has added the base to the addresses, except where the section is read-only.
  const auto at = [this](const ElfW(Dyn) & entry, auto& to) {
    auto address = static_cast<std::uintptr_t>(entry.d_un.d_ptr);
    if (!has(address)) address += base;
    if (has(address)) to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(address);
  };
  for (const ElfW(Dyn)* entry = entries; entry->d_tag != DT_NULL; ++entry) {
    const auto value = static_cast<std::size_t>(entry->d_un.d_val);
    if (entry->d_tag == DT_STRTAB) at(*entry, names);
    if (entry->d_tag == DT_SYMTAB) at(*entry, symbols);
    if (entry->d_tag == DT_GNU_HASH) at(*entry, gnu_hash);
    if (entry->d_tag == DT_JMPREL) at(*entry, calls);
    if (entry->d_tag == DT_PLTRELSZ) call_count = value / sizeof(ElfW(Rela));
    if (entry->d_tag == DT_RELA) at(*entry, data);
    if (entry->d_tag == DT_RELASZ) data_count = value / sizeof(ElfW(Rela));
    if (entry->d_tag == DT_RELACOUNT) relative_count = value;
  }
  for (const ElfW(Dyn)* entry = entries; names != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SONAME) own_name = names + entry->d_un.d_val;
  }
  if (calls == nullptr) call_count = 0;
  if (data == nullptr) data_count = 0;
}

bool DynamicSection::is_relocated() const noexcept {
  return relro_begin >= relro_end || is_writable(relro_begin) == false;
}

void* symbol_of_module(std::string_view module_name, const char* symbol) noexcept {
  struct Search {
    std::string_view name;
    const char* symbol;
    std::uintptr_t found;
  } search{module_name, symbol, 0};
  const auto look = [](dl_phdr_info* module, std::size_t, void* to) {
    auto& wanted = *static_cast<Search*>(to);
    const std::string_view path(module->dlpi_name == nullptr ? "" : module->dlpi_name);
    const DynamicSection section(*module);
    const bool is_own_name = section.own_name != nullptr && section.own_name == wanted.name;
    if (path.substr(path.rfind('/') + 1) != wanted.name && !is_own_name) return 0;
    if (!section.is_relocated()) return 0;
    const ElfW(Sym)* found = find_symbol(section, wanted.symbol);
    if (found == nullptr) return 0;
    wanted.found = section.base + found->st_value;
    return 1;
  };
  for_each_module(look, &search);
  return reinterpret_cast<void*>(search.found);
}

}  // namespace turnpike
