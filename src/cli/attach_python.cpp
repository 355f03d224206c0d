// The main thread of the process only starts a thread, which loads the library: loading may have to wait for the
// dynamic loader, and then nobody waits with it. Nor does it hold the GIL: it calls dlopen and dlsym by their
// addresses, because to look them up would take the loader's lock under the GIL.
#include "cli/attach_python.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "cli/dormant_process.h"
#include "cli/python_request.h"

namespace turnpike::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPythonPatience{5'000};
constexpr milliseconds kLoadPatience{10'000};
// The script must stay for a process that has just read its path: it opens it microseconds later, unless the machine is
// very busy.
constexpr milliseconds kOpenPatience{200};

std::string in_python(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

struct LoaderFunctions {
  std::uint64_t dlopen = 0;
  std::uint64_t dlsym = 0;
};

Result<LoaderFunctions> loader_functions_of(pid_t process, const std::vector<MappedFile>& files) {
  for (const char* beginning : {"libc.so.6", "libc-2.", "libdl.so.2", "libdl-2."}) {
    const auto found =
        std::ranges::find_if(files, [&](const MappedFile& file) { return file.name().starts_with(beginning); });
    if (found == files.end()) continue;
    const auto elf = ElfFile::open(process, *found);
    if (!elf) return elf.error();
    const auto dlopen = elf->address_of_function("dlopen");
    const auto dlsym = elf->address_of_function("dlsym");
    if (dlopen && dlsym) return LoaderFunctions{*dlopen, *dlsym};
  }
  return Error{"its C library is not glibc, which the recorder and CUDA need"};
}

// What fails there would be said in the program's own output, so nothing is. A program that has not imported ctypes, as
// PyTorch and NumPy do, is left alone: an import runs its hooks, and waits for the loader under the GIL.
std::string script_text(const std::string& library, const LoaderFunctions& functions) {
  return "def _turnpike():\n"
         "    import sys, _thread\n"
         "    c = sys.modules.get('ctypes')\n"
         "    def load():\n"
         "        try:\n"
         "            pointer, text, number = c.c_void_p, c.c_char_p, c.c_int\n"
         "            dlopen = c.CFUNCTYPE(pointer, text, number)(" +
         std::to_string(functions.dlopen) +
         ")\n"
         "            dlsym = c.CFUNCTYPE(pointer, pointer, text)(" +
         std::to_string(functions.dlsym) +
         ")\n"
         "            wait = dlsym(dlopen(" +
         in_python(library) +
         ".encode(), 2), b'turnpike_wait')\n"
         "            c.CFUNCTYPE(number, pointer, c.c_uint64)(wait)(None, 0)\n"
         "        except BaseException:\n"
         "            pass\n"
         "    if c is not None:\n"
         "        _thread.start_new_thread(load, ())\n"
         "try:\n"
         "    _turnpike()\n"
         "except BaseException:\n"
         "    pass\n";
}

// A file in the /tmp of the process, until this object ends. It is the process's user's, as we are.
class Script {
 public:
  Script(pid_t process, const std::string& text) : path_(path_in(process, "/tmp/turnpike-attach-XXXXXX")) {
    const int file = ::mkostemp(path_.data(), O_CLOEXEC);
    if (file < 0) {
      reason_ = errno;
      return;
    }
    is_made_ = true;
    if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) reason_ = errno;
    ::close(file);
  }
  ~Script() {
    if (is_made_) ::unlink(path_.c_str());
  }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  // 0: it is there.
  int reason() const { return reason_; }
  std::string path_there() const { return path_.substr(path_.rfind("/tmp/")); }

 private:
  std::string path_;
  bool is_made_ = false;
  int reason_ = 0;
};

bool becomes_true(const std::function<bool()>& condition, milliseconds patience, const Pause& pause) {
  constexpr milliseconds kTurn{5};
  const auto until = Clock::now() + patience;
  while (!condition()) {
    if (Clock::now() >= until || !pause(kTurn)) return false;
  }
  return true;
}

bool sleep(milliseconds wait) {
  std::this_thread::sleep_for(wait);
  return true;
}

}  // namespace

Status load_by_python(const TargetProcess& process, const std::vector<MappedFile>& files, const std::string& library,
                      const Pause& pause) {
  const auto functions = loader_functions_of(process.id(), files);
  if (!functions) return functions.error();
  const auto request = PythonRequest::find(process, files);
  if (!request) return request.error();
  const Script script(process.id(), script_text(library, *functions));
  if (script.reason() != 0) return Error{std::string("its /tmp cannot be written: ") + std::strerror(script.reason())};
  if (auto made = request->make(script.path_there()); !made) return made;
  const bool is_taken = becomes_true([&] { return request->is_taken(); }, kPythonPatience, pause);
  request->take_back();
  const auto waits = [&] { return is_dormant(process.id()); };
  if (becomes_true(waits, kOpenPatience, sleep)) return {};
  if (is_taken && becomes_true(waits, kLoadPatience, pause)) return {};
  if (!is_taken) {
    return Error{
        "its main thread has run no Python for 5 s: it waits, or is in a long call. Attach again when it goes on"};
  }
  return Error{
      "its Python has not loaded the recorder within 10 s: the program has not imported ctypes, or another thread keeps "
      "the dynamic loader busy. In that case it is loaded later and waits then: attach again"};
}

}  // namespace turnpike::cli
