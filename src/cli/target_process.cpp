// Root may look into any process. So root opens the memory first and then gives up its rights: all that follows has the
// rights of the process's own user, who can gain nothing by links or names.
#include "cli/target_process.h"

#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>

namespace turnpike::cli {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

std::string text_of(int folder, const char* name) {
  const Descriptor file(::openat(folder, name, O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> piece{};
  ssize_t got = 0;
  while ((got = ::read(file.number(), piece.data(), piece.size())) > 0)
    text.append(piece.data(), static_cast<std::size_t>(got));
  return text;
}

// The real, effective and saved id, and that of the file system.
std::array<std::uint32_t, 4> ids_in(const std::string& status, const std::string& name) {
  std::array<std::uint32_t, 4> ids{};
  std::istringstream lines(status);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    if (words >> first && first == name) words >> ids[0] >> ids[1] >> ids[2] >> ids[3];
  }
  return ids;
}

bool are_equal(const std::array<std::uint32_t, 4>& ids) {
  return ids[0] == ids[1] && ids[1] == ids[2] && ids[2] == ids[3];
}

}  // namespace

Result<TargetProcess> TargetProcess::open(pid_t id) {
  const std::string process = "process " + std::to_string(id);
  const Descriptor folder(::open(("/proc/" + std::to_string(id)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string status = folder.number() < 0 ? "" : text_of(folder.number(), "status");
  if (status.empty()) return Error{"there is no " + process + ", or it has ended"};
  const auto users = ids_in(status, "Uid:");
  const auto groups = ids_in(status, "Gid:");
  const Owner owner{users[1], groups[1]};
  if (owner.user != ::geteuid()) {
    if (::geteuid() != 0) {
      return Error{process + " is another user's (user id " + std::to_string(owner.user) +
                   "): attach as that user, or as root"};
    }
    if (!are_equal(users) || !are_equal(groups)) {
      return Error{process + " has the rights of several users, as a setuid program has, and is left alone"};
    }
  }
  const int memory = ::openat(folder.number(), "mem", O_RDWR | O_CLOEXEC);
  return TargetProcess(id, owner, memory, memory < 0 ? errno : 0);
}

TargetProcess::TargetProcess(pid_t id, Owner owner, int memory, int memory_error)
    : id_(id), owner_(owner), memory_(memory), memory_error_(memory_error), is_opened_by_root_(::geteuid() == 0) {}

TargetProcess::TargetProcess(TargetProcess&& other) noexcept
    : id_(other.id_),
      owner_(other.owner_),
      memory_(std::exchange(other.memory_, -1)),
      memory_error_(other.memory_error_),
      is_opened_by_root_(other.is_opened_by_root_) {}

TargetProcess::~TargetProcess() {
  if (memory_ >= 0) ::close(memory_);
}

bool TargetProcess::read(std::uint64_t address, void* bytes, std::size_t size) const {
  return ::pread(memory_, bytes, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
}

bool TargetProcess::write(std::uint64_t address, const void* bytes, std::size_t size) const {
  return ::pwrite(memory_, bytes, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
}

Status take_rights_of(const Owner& owner) {
  if (owner.user == ::geteuid()) return {};
  const bool is_given_up = ::setgroups(0, nullptr) == 0 && ::setresgid(owner.group, owner.group, owner.group) == 0 &&
                           ::setresuid(owner.user, owner.user, owner.user) == 0;
  if (is_given_up) return {};
  return Error{"cannot become user " + std::to_string(owner.user) +
               ", whose process it is, and does not act with more rights: " + std::strerror(errno)};
}

}  // namespace turnpike::cli
