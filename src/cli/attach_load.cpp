// Tells the user why the recorder cannot be loaded into a process.
#include "cli/attach_load.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/attach_symbols.h"
#include "cli/python_request.h"
#include "cli/recorder_environment.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDormant =
    " Start the program with `turnpike record --dormant -- COMMAND`, which costs it nothing.";

std::string the_process(pid_t process) {
  return "process " + std::to_string(process);
}

bool has_mapped(const std::vector<MappedFile>& files, const char* beginning) {
  return std::ranges::any_of(files, [&](const MappedFile& file) { return file.name().starts_with(beginning); });
}

// The reasons that show before anything is tried.
Status check_may_load(pid_t process, const std::vector<MappedFile>& files, const std::string& library) {
  if (files.empty()) {
    return Error{
        the_process(process) +
        " was not started to be attached to, and you may not look into its memory: it has ended, or has changed "
        "its user, or this container lacks the capability SYS_PTRACE." +
        kDormant};
  }
  // PyTorch's wheels load libcudart also on a machine without a GPU, so it proves nothing.
  if (!has_mapped(files, "libcuda.so")) {
    return Error{
        the_process(process) +
        " was not started to be attached to, and does not use CUDA: it has loaded no libcuda.so. A launcher, as "
        "torchrun or a shell, never does: attach to its children." +
        kDormant};
  }
  if (!is_same_file(library, path_in(process, library))) {
    return Error{the_process(process) +
                 " sees other files than you do (a container): run `turnpike attach` inside of it, " +
                 "where Turnpike must be installed"};
  }
  if (!is_python_that_can_be_asked(files)) {
    return Error{
        the_process(process) +
        " was not started to be attached to, and only CPython 3.14 and later can be asked to load the recorder "
        "while it runs." +
        kDormant};
  }
  return {};
}

std::string why_refused(const TargetProcess& process) {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  if (!(file >> scope)) scope = 0;
  const std::string start =
      the_process(process.id()) + " was not started to be attached to, and the kernel does not let you into it: ";
  constexpr const char* kOrDormant = ", or start the program with `turnpike record --dormant -- COMMAND`";
  // Root is let in by both, unless it lacks the capability.
  if ((scope == 1 || scope == 2) && !process.is_opened_by_root()) {
    return start + "/proc/sys/kernel/yama/ptrace_scope is " + std::to_string(scope) +
           ". Attach as root (sudo turnpike attach " + std::to_string(process.id()) +
           "), have it set to 0 (sudo sysctl kernel.yama.ptrace_scope=0)" + kOrDormant;
  }
  if (scope == 3) {
    return start +
           "/proc/sys/kernel/yama/ptrace_scope is 3, for everybody until the next boot. Start the program with " +
           "`turnpike record --dormant -- COMMAND`";
  }
  return start + std::strerror(process.memory_error()) +
         ". In a container, permit ptrace (docker run --cap-add SYS_PTRACE)" + kOrDormant;
}

}  // namespace

Status load_recorder_into(const TargetProcess& process, const Pause& pause) {
  const auto library = find_record_library();
  if (!library) {
    return Error{library.error().message + " The user of " + the_process(process.id()) + " must be able to read it."};
  }
  std::error_code failed;
  const std::string path = fs::canonical(*library, failed).string();
  const std::vector<MappedFile> files = mapped_files(process.id());
  if (auto may = check_may_load(process.id(), files, path); !may) return may.error();
  if (process.memory_error() != 0) return Error{why_refused(process)};
  if (auto loaded = load_by_python(process, files, path, pause); !loaded) {
    return Error{the_process(process.id()) + " was not started to be attached to, and " + loaded.error().message + "." +
                 kDormant};
  }
  return {};
}

}  // namespace turnpike::cli
