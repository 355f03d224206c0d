// Stands for the dynamic loader: dlopen(), dlsym() and their like are linked to it (--wrap), so that a test says which
// libraries there are and sees which were asked for.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace turnpike::cuda {

// A library that the process has loaded, as dl_iterate_phdr() shows it.
struct LoadedLibrary {
  const char* path = "";
  std::vector<std::string> needed{};
  bool has_dynamic_section = true;
  bool has_texts = true;
};

struct ScriptedLoader {
  // Takes the loader's place while it lives; one at a time.
  ScriptedLoader();
  ~ScriptedLoader();
  ScriptedLoader(const ScriptedLoader&) = delete;
  ScriptedLoader& operator=(const ScriptedLoader&) = delete;

  // What the test says.
  std::set<std::string> files;     // what dlopen() finds
  std::set<std::string> resident;  // what it finds with RTLD_NOLOAD, too
  std::set<std::string> lacking;   // symbols that no library has
  std::map<std::string, void*> functions;
  std::vector<LoadedLibrary> loaded;
  const char* error = "no such file";
  int dladdr_result = 1;
  const char* own_path = "/usr/lib/libturnpike.so";

  // What was asked of it.
  std::vector<std::string> opened;  // "NAME", with " NOLOAD" or the odd mode behind
  std::set<std::string> looked_up;
  int closed = 0;

  // The address that a library gives for a symbol.
  void* symbol(const std::string& name) const;
};

}  // namespace turnpike::cuda
