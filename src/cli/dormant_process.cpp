// What /proc tells.
#include "cli/dormant_process.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "record/control_message.h"

namespace turnpike::cli {
namespace {

std::string file_of(pid_t process, const char* name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

std::vector<std::string> words_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// The words behind `name` in the status of a process; none: it has ended.
std::istringstream status_of(pid_t process, const std::string& name) {
  std::ifstream file(file_of(process, "status"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) return std::istringstream(line.substr(name.size() + 1));
  }
  return {};
}

// "": it is not set, or cannot be read.
std::string variable_of(pid_t process, const std::string& name) {
  for (const std::string& word : words_in(file_of(process, "environ"))) {
    if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
  }
  return "";
}

// Of a line of /proc/net/unix: "address: count protocol flags type state inode @name". One that listens has a flag.
std::optional<pid_t> listener_in(const std::string& line, const std::string& prefix) {
  constexpr unsigned long kListens = 0x10000;
  std::istringstream words(line);
  std::string address, count, protocol, flags, type, state, inode, name;
  if (!(words >> address >> count >> protocol >> flags >> type >> state >> inode >> name)) return std::nullopt;
  unsigned long flag_bits = 0;
  std::from_chars(flags.data(), flags.data() + flags.size(), flag_bits, 16);
  if ((flag_bits & kListens) == 0 || !name.starts_with(prefix)) return std::nullopt;
  pid_t process = 0;
  const char* const end = name.data() + name.size();
  const auto [behind, failed] = std::from_chars(name.data() + prefix.size(), end, process);
  if (failed != std::errc() || behind != end || process <= 0) return std::nullopt;
  return process;
}

Result<std::vector<pid_t>> listeners_of(uid_t user) {
  std::ifstream sockets("/proc/net/unix");
  if (!sockets) return Error{"/proc/net/unix, which lists what waits, cannot be read: name the process by its id"};
  const std::string any = "@" + record::control_socket_name(user, 0);
  const std::string prefix = any.substr(0, any.size() - 1);
  std::vector<pid_t> processes;
  for (std::string line; std::getline(sockets, line);) {
    if (const auto process = listener_in(line, prefix)) processes.push_back(*process);
  }
  std::sort(processes.begin(), processes.end());
  return processes;
}

}  // namespace

Result<std::vector<pid_t>> dormant_processes() {
  return listeners_of(geteuid());
}

bool is_dormant(pid_t process) {
  const auto user = user_of(process);
  if (!user) return false;
  const auto waiting = listeners_of(*user);
  return waiting && std::ranges::find(*waiting, process) != waiting->end();
}

bool was_started_for_turnpike(pid_t process) {
  return !variable_of(process, TURNPIKE_ENV_RUN).empty() || variable_of(process, TURNPIKE_ENV_CONTROL) == "1";
}

bool is_stopped(pid_t process) {
  std::string state;
  return status_of(process, "State") >> state && state == "T";
}

std::vector<std::string> command_of(pid_t process) {
  return words_in(file_of(process, "cmdline"));
}

Result<uid_t> user_of(pid_t process) {
  uid_t real = 0, effective = 0;
  if (status_of(process, "Uid") >> real >> effective) return effective;
  return Error{"process " + std::to_string(process) + " has ended"};
}

std::string why_not_dormant(pid_t process) {
  const std::string id = std::to_string(process);
  if (const std::string run = variable_of(process, TURNPIKE_ENV_RUN); !run.empty()) {
    return "process " + id + " was started by `turnpike record`, which records it into " + run;
  }
  if (variable_of(process, TURNPIKE_ENV_CONTROL) == "1") {
    return "process " + id +
           " was started to be attached to, but does not wait: it has not initialised CUDA yet (a launcher, as torchrun "
           "or a shell, never does: attach to its children, or use --all), or it has closed its descriptors";
  }
  return "process " + id +
         " was not started to be attached to. Start the program with `turnpike record --dormant -- COMMAND`, which "
         "costs it nothing, or with " TURNPIKE_ENV_CONTROL
         "=1 and the path of libturnpike_record.so as CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH";
}

}  // namespace turnpike::cli
