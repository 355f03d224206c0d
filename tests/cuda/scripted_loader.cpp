#include "scripted_loader.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace turnpike::cuda {
namespace {

ScriptedLoader* g_loader = nullptr;

ElfW(Dyn) entry(std::int64_t tag, std::uint64_t value) {
  ElfW(Dyn) made{};
  made.d_tag = tag;
  made.d_un.d_val = value;
  return made;
}

// The headers of a library in memory. Around what is meant stand headers and entries that are not: of sections of
// another kind, and beyond the ends.
struct Image {
  explicit Image(const LoadedLibrary& library) {
    for (const std::string& name : library.needed) {
      entries.push_back(entry(DT_NEEDED, texts.size()));
      texts += name + '\0';
    }
    if (library.has_texts) entries.push_back(entry(DT_STRTAB, reinterpret_cast<std::uint64_t>(texts.data())));
    entries.push_back(entry(DT_SONAME, 1));
    entries.push_back(entry(DT_NULL, 0));
    const std::uint64_t odd_text = reinterpret_cast<std::uint64_t>(kOdd);
    odd_entries = {entry(DT_STRTAB, odd_text), entry(DT_NEEDED, 0), entry(DT_NULL, 0)};
    headers[0] = header(PT_LOAD, odd_entries.data());
    headers[1] = header(library.has_dynamic_section ? PT_DYNAMIC : PT_NOTE, &entries[1]);
    headers[2] = header(PT_NOTE, odd_entries.data());
    headers[3] = header(PT_DYNAMIC, odd_entries.data());
    info.dlpi_addr = kBase;
    info.dlpi_name = library.path;
    info.dlpi_phdr = headers.data();
    info.dlpi_phnum = 3;
  }

  static ElfW(Phdr) header(std::uint32_t type, const void* address) {
    ElfW(Phdr) made{};
    made.p_type = type;
    made.p_vaddr = reinterpret_cast<std::uint64_t>(address) - kBase;
    return made;
  }

  static constexpr const char* kOdd = "libcudart.so.55";
  static constexpr std::uint64_t kBase = 0x1000;
  std::string texts{'\0'};
  std::vector<ElfW(Dyn)> entries{entry(DT_NULL, 0)};
  std::vector<ElfW(Dyn)> odd_entries;
  std::array<ElfW(Phdr), 4> headers{};
  dl_phdr_info info{};
};

std::string asked(const char* name, int mode) {
  if (mode == (RTLD_NOW | RTLD_LOCAL)) return name;
  if (mode == (RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return std::string(name) + " NOLOAD";
  return std::string(name) + " in mode " + std::to_string(mode);
}

}  // namespace

ScriptedLoader::ScriptedLoader() {
  g_loader = this;
}
ScriptedLoader::~ScriptedLoader() {
  g_loader = nullptr;
}

void* ScriptedLoader::symbol(const std::string& name) const {
  if (lacking.contains(name)) return nullptr;
  if (const auto found = functions.find(name); found != functions.end()) return found->second;
  static auto& kept = *new std::set<std::string>;
  return const_cast<std::string*>(&*kept.insert(name).first);
}

}  // namespace turnpike::cuda

extern "C" {

using turnpike::cuda::g_loader;

void* __real_dlopen(const char* name, int mode);
void* __real_dlsym(void* library, const char* symbol);
int __real_dlclose(void* library);
char* __real_dlerror();
int __real_dladdr(const void* address, Dl_info* info);
int __real_dl_iterate_phdr(int (*callback)(dl_phdr_info*, std::size_t, void*), void* user);

void* __wrap_dlopen(const char* name, int mode) {
  if (g_loader == nullptr) return __real_dlopen(name, mode);
  g_loader->opened.push_back(turnpike::cuda::asked(name, mode));
  const auto& found = (mode & RTLD_NOLOAD) != 0 ? g_loader->resident : g_loader->files;
  return found.contains(name) ? g_loader : nullptr;
}

void* __wrap_dlsym(void* library, const char* symbol) {
  if (g_loader == nullptr || library != g_loader) return __real_dlsym(library, symbol);
  g_loader->looked_up.insert(symbol);
  return g_loader->symbol(symbol);
}

int __wrap_dlclose(void* library) {
  if (g_loader == nullptr) return __real_dlclose(library);
  ++g_loader->closed;
  return 0;
}

char* __wrap_dlerror() {
  return g_loader == nullptr ? __real_dlerror() : const_cast<char*>(g_loader->error);
}

int __wrap_dladdr(const void* address, Dl_info* info) {
  if (g_loader == nullptr) return __real_dladdr(address, info);
  info->dli_fname = g_loader->own_path;
  return g_loader->dladdr_result;
}

int __wrap_dl_iterate_phdr(int (*callback)(dl_phdr_info*, std::size_t, void*), void* user) {
  if (g_loader == nullptr) return __real_dl_iterate_phdr(callback, user);
  for (const turnpike::cuda::LoadedLibrary& library : g_loader->loaded) {
    turnpike::cuda::Image image(library);
    if (const int result = callback(&image.info, sizeof image.info, user); result != 0) return result;
  }
  return 0;
}
}
