// An abstract socket has no permissions: who is at the other end is asked of the kernel.
#include "cli/control_connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/shown_text.h"
#include "cli/dormant_process.h"

namespace turnpike::cli {
namespace {

std::string named(pid_t process) {
  return "process " + std::to_string(process);
}

int connect_to(const std::string& name) {
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (connect(file, reinterpret_cast<const sockaddr*>(&address), size) == 0) return file;
  const int reason = errno;
  close(file);
  errno = reason;
  return -1;
}

}  // namespace

Result<ControlConnection> ControlConnection::open(pid_t process) {
  const auto user = user_of(process);
  if (!user) return user.error();
  const int file = connect_to(record::control_socket_name(*user, process));
  if (file < 0 && errno == ECONNREFUSED) return Error{why_not_dormant(process)};
  if (file < 0 && errno == EAGAIN)
    return Error{named(process) + " does not answer: is it stopped (Ctrl-Z, a debugger)?"};
  if (file < 0) return Error{named(process) + " cannot be reached: " + std::strerror(errno)};
  ControlConnection connection(file, process);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != *user || peer.pid != process) {
    return Error{named(process) +
                 " is not the one that waits under its id: that is in a container, or another program's. Run `turnpike "
                 "attach` inside the container"};
  }
  return connection;
}

ControlConnection::ControlConnection(ControlConnection&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      process_(other.process_),
      is_open_(other.is_open_),
      received_(std::move(other.received_)) {}

ControlConnection::~ControlConnection() {
  if (file_ >= 0) close(file_);
}

void ControlConnection::ask(const record::ControlMessage& message) {
  const std::string text = to_text(message);
  if (send(file_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) is_open_ = false;
}

Result<record::ControlMessage> ControlConnection::await(const std::string& word, std::chrono::milliseconds patience,
                                                        int interruption) {
  using std::chrono::steady_clock;
  const auto until = steady_clock::now() + patience;
  bool is_over = false;
  bool is_interrupted = false;
  while (true) {
    auto message = record::take_message(received_);
    if (!message) return Error{named(process_) + ": " + message.error().message};
    if (*message) {
      const std::string* to = (*message)->find("to");
      const std::string* error = (*message)->find("error");
      if (to != nullptr && *to != word) continue;
      if (error != nullptr) return Error{named(process_) + ": " + shown(*error)};
      return std::move(**message);
    }
    if (!is_open_) return Error{named(process_) + " has ended"};
    if (is_interrupted) return Error{named(process_) + " has not answered yet; if it records, it stops by itself"};
    if (is_over) return Error{named(process_) + " does not answer: is it stopped (Ctrl-Z, a debugger)?"};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now());
    std::array<pollfd, 2> waits{{{file_, POLLIN, 0}, {interruption, POLLIN, 0}}};
    poll(waits.data(), waits.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    // What has come by then is still looked at.
    is_over = left.count() <= 0;
    is_interrupted = waits[1].revents != 0;
    char bytes[4096];
    const ssize_t got = recv(file_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0) {
      received_.append(bytes, static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      is_open_ = false;
    }
  }
}

}  // namespace turnpike::cli
