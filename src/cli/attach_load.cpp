// A child of ours does it: the terminal's Ctrl-C ends `turnpike attach` and must not leave a thread in the middle.
#include "cli/attach_load.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "cli/attach_python.h"
#include "cli/attach_symbols.h"
#include "cli/attach_thread.h"
#include "cli/recorder_environment.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kThreadPatience{10'000};
constexpr std::uint64_t kErrorBytes = 512;

std::string the_process(pid_t process) {
  return "process " + std::to_string(process);
}

// "": there is no such line.
std::string status_of(pid_t process, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    const std::size_t start = line.find_first_not_of(" \t", name.size() + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

const MappedFile* find_named(const std::vector<MappedFile>& files, std::initializer_list<const char*> beginnings) {
  const auto found = std::ranges::find_if(files, [&](const MappedFile& file) {
    return std::ranges::any_of(beginnings, [&](const char* beginning) { return file.name().starts_with(beginning); });
  });
  return found == files.end() ? nullptr : &*found;
}

bool is_of_other_machine(pid_t process) {
  const auto header_of = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    Elf64_Ehdr header{};
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    return header;
  };
  const Elf64_Ehdr theirs = header_of("/proc/" + std::to_string(process) + "/exe");
  const Elf64_Ehdr ours = header_of("/proc/self/exe");
  return theirs.e_machine != ours.e_machine || theirs.e_ident[EI_CLASS] != ours.e_ident[EI_CLASS];
}

// What can be said before anything is tried.
Status check_may_load(pid_t process, const std::vector<MappedFile>& files, const std::string& library) {
  constexpr const char* kDormant =
      " Start the program with `turnpike record --dormant -- COMMAND`, which costs it nothing.";
  if (status_of(process, "State").starts_with("T")) {
    return Error{the_process(process) + " is stopped (Ctrl-Z, a debugger): let it go on first"};
  }
  if (const std::string tracer = status_of(process, "TracerPid"); !tracer.empty() && tracer != "0") {
    return Error{the_process(process) + " is held by a debugger, process " + tracer +
                 ", and only one can hold it: end that"};
  }
  if (files.empty()) {
    return Error{
        the_process(process) +
        " was not started to be attached to, and you may not look into its memory: it has ended, or has changed "
        "its user, or this container lacks the capability SYS_PTRACE." +
        kDormant};
  }
  if (is_of_other_machine(process)) {
    return Error{the_process(process) +
                 " runs on another kind of processor than this turnpike, as an emulator or 32 bits"};
  }
  if (find_named(files, {"ld-musl"}) != nullptr) {
    return Error{the_process(process) + " uses the C library musl, which the recorder and CUDA do not run with"};
  }
  if (find_named(files, {"libc.so.6", "libc-2."}) == nullptr) {
    return Error{the_process(process) +
                 " is a static binary, into which nothing can be loaded. Link it dynamically to record it"};
  }
  if (find_named(files, {"libcuda.so", "libcudart.so"}) == nullptr) {
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
  return {};
}

std::string why_refused(pid_t process, const std::string& reason) {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  if (!(file >> scope)) scope = 0;
  const std::string start =
      the_process(process) + " was not started to be attached to, and the kernel does not let you into it: ";
  constexpr const char* kDormant = ", or start the program with `turnpike record --dormant -- COMMAND`";
  // Root is let in by both, unless it lacks the capability.
  if ((scope == 1 || scope == 2) && ::geteuid() != 0) {
    return start + "/proc/sys/kernel/yama/ptrace_scope is " + std::to_string(scope) +
           ". Attach as root (sudo turnpike attach " + std::to_string(process) +
           "), have it set to 0 (sudo sysctl kernel.yama.ptrace_scope=0)" + kDormant;
  }
  if (scope == 3) {
    return start +
           "/proc/sys/kernel/yama/ptrace_scope is 3, for everybody until the next boot. Start the program with " +
           "`turnpike record --dormant -- COMMAND`";
  }
  return start + reason + ". In a container, permit ptrace (docker run --cap-add SYS_PTRACE)" + kDormant;
}

Status call_in(HeldThread& thread, pid_t process, const std::vector<MappedFile>& files, const std::string& library) {
  const MappedFile* const libc = find_named(files, {"libc.so.6", "libc-2."});
  const MappedFile* const libdl = find_named(files, {"libdl.so.2", "libdl-2."});
  if (libc == nullptr) return Error{"it has no C library"};
  auto dlopen_address = address_of(process, *libc, "dlopen");
  if (!dlopen_address && libdl != nullptr) dlopen_address = address_of(process, *libdl, "dlopen");
  if (!dlopen_address) return dlopen_address.error();
  const auto dlerror_address = address_of(process, libdl != nullptr ? *libdl : *libc, "dlerror");
  const auto errno_address = address_of(process, *libc, "__errno_location");
  if (!errno_address) return errno_address.error();
  const auto errno_at = thread.call(*errno_address, {});
  if (!errno_at) return errno_at.error();
  thread.keep_number_at(*errno_at);
  const auto path = thread.put(library + '\0');
  if (!path) return path.error();
  const auto handle = thread.call(*dlopen_address, {*path, RTLD_NOW});
  if (!handle) return handle.error();
  if (*handle == 0) {
    const auto text = dlerror_address ? thread.call(*dlerror_address, {}) : Result<std::uint64_t>(0);
    return Error{"the recorder cannot be loaded there: " +
                 (text && *text != 0 ? thread.text_at(*text) : "dlopen failed")};
  }
  for (const MappedFile& file : mapped_files(process)) {
    if (!is_same_file(library, path_in(process, file.path))) continue;
    const auto wait_address = address_of(process, file, "turnpike_wait");
    if (!wait_address) return wait_address.error();
    const auto room = thread.put(std::string(kErrorBytes, '\0'));
    if (!room) return room.error();
    const auto code = thread.call(*wait_address, {*room, kErrorBytes});
    if (!code) return code.error();
    return static_cast<std::int32_t>(*code) == 0 ? Status() : Error{thread.text_at(*room)};
  }
  return Error{"the recorder was loaded there, and is not among its files"};
}

// The sentence for the user; "" where the process waits now.
std::string load_by_thread(pid_t process, const std::vector<MappedFile>& files, const std::string& library) {
  auto thread = HeldThread::find(process, kThreadPatience);
  if (!thread) {
    const std::string& reason = thread.error().message;
    return reason == std::strerror(EPERM) || reason == std::strerror(EACCES) ? why_refused(process, reason)
                                                                             : the_process(process) + ": " + reason;
  }
  const Status done = call_in(**thread, process, files, library);
  return done ? "" : the_process(process) + ": " + done.error().message;
}

// In a child that no signal of the terminal's reaches.
std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return std::string("there is no pipe: ") + std::strerror(errno);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_IGN);
    close(ends[0]);
    const std::string said = work();
    const ssize_t ignored = write(ends[1], said.data(), said.size());
    static_cast<void>(ignored);
    _exit(0);
  }
  close(ends[1]);
  std::string said = child < 0 ? std::string("no process can be started: ") + std::strerror(errno) : "";
  char bytes[1024];
  ssize_t got = 0;
  while (child > 0 && ((got = read(ends[0], bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR))) {
    if (got > 0) said.append(bytes, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return said;
}

}  // namespace

Result<std::string> load_recorder_into(pid_t process) {
  constexpr const char* kForbids = "its Python forbids remote debugging (PYTHON_DISABLE_REMOTE_DEBUG)";
  const auto library = find_record_library();
  if (!library) return library.error();
  std::error_code failed;
  const std::string path = fs::canonical(*library, failed).string();
  const std::vector<MappedFile> files = mapped_files(process);
  if (auto may = check_may_load(process, files, path); !may) return may.error();
  const PythonAnswer answer = ask_python(process, files, path);
  if (answer == PythonAnswer::kLoaded) return std::string();
  const bool is_forbidden = answer == PythonAnswer::kForbidden;
  const std::string said = in_child([&] { return load_by_thread(process, files, path); });
  if (!said.empty()) return Error{is_forbidden ? said + ". Besides, " + kForbids : said};
  return is_forbidden ? the_process(process) + ": " + kForbids + ": the recorder was loaded by ptrace" : std::string();
}

}  // namespace turnpike::cli
