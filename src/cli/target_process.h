// A process that is attached to. Descriptors hold it: its id may come to name another process meanwhile.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace turnpike::cli {

struct Owner {
  uid_t user = 0;
  gid_t group = 0;
  bool operator==(const Owner&) const = default;
};

class TargetProcess {
 public:
  // An Error if there is no such process, or if it is another user's and we are not root.
  static Result<TargetProcess> open(pid_t id);
  TargetProcess(TargetProcess&& other) noexcept;
  TargetProcess& operator=(TargetProcess&&) = delete;
  ~TargetProcess();

  pid_t id() const { return id_; }
  const Owner& owner() const { return owner_; }

  bool is_opened_by_root() const { return is_opened_by_root_; }
  // The errno with which the kernel refused its memory, or 0.
  int memory_error() const { return memory_error_; }
  // Whether all bytes were read or written. False once the process has ended.
  bool read(std::uint64_t address, void* bytes, std::size_t size) const;
  bool write(std::uint64_t address, const void* bytes, std::size_t size) const;

 private:
  TargetProcess(pid_t id, Owner owner, int memory, int memory_error);

  pid_t id_;
  Owner owner_;
  int memory_;  // /proc/PID/mem; -1 if the kernel refused it
  int memory_error_;
  bool is_opened_by_root_;
};

// Gives up all rights that the owner does not have, for good. Nothing changes if this process is the owner's.
Status take_rights_of(const Owner& owner);

}  // namespace turnpike::cli
