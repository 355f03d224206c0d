// The connection to one dormant process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/result.h"
#include "record/control_message.h"

namespace turnpike::cli {

class ControlConnection {
 public:
  // The Error says why one cannot attach to the process, and what to do.
  static Result<ControlConnection> open(pid_t process);
  ControlConnection(ControlConnection&& other) noexcept;
  ControlConnection& operator=(ControlConnection&&) = delete;
  ~ControlConnection();

  pid_t process() const { return process_; }
  // Whether the process is still there, as far as was heard.
  bool is_open() const { return is_open_; }

  void ask(const record::ControlMessage& message);
  // The answer to `word`; what answers something else is dropped. An Error when the process refuses, is gone, or lets
  // `patience` pass, and as soon as there is something to read in the file `interruption`.
  Result<record::ControlMessage> await(const std::string& word, std::chrono::milliseconds patience, int interruption);

 private:
  ControlConnection(int file, pid_t process) : file_(file), process_(process) {}

  int file_;
  pid_t process_;
  bool is_open_ = true;
  std::string received_;
};

}  // namespace turnpike::cli
