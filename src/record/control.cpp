// One thread, which sleeps in accept, and polls while somebody is there. The program may close any of their
// descriptors: then the process cannot be reached any more, or the recording ends, and nothing else happens.
#include "record/control.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/fork_mutex.h"
#include "base/own_descriptor.h"
#include "record/control_message.h"
#include "record/endings.h"
#include "record/recorder.h"

namespace turnpike::record {
namespace {

struct Connection {
  OwnDescriptor file{};
  std::string received{};
};

class Control {
 public:
  bool open(std::string& error) noexcept;
  bool start_thread(std::string& error) noexcept;
  bool is_waiting() const noexcept { return process_ == ::getpid() && socket_.is_there(); }
  void run() noexcept;
  // In a forked child, without the thread: the descriptors are the parent's.
  void leave_to_parent() noexcept;
  // At exit: waits for what is being done, and lets nothing more begin.
  void end() noexcept;

 private:
  void serve() noexcept;
  // Sleeps until somebody comes. The kernel keeps the socket meanwhile, whatever becomes of its number.
  void accept_one() noexcept;
  void hear(Connection& from);
  ControlMessage answer(Connection& from, const ControlMessage& asked);
  ControlMessage start(Connection& from, const ControlMessage& asked);
  ControlMessage status(Connection& from) const;
  bool is_recording_for(const Connection& from) const;
  void drop(Connection& connection) noexcept;

  static constexpr std::size_t kMostConnections = 8;

  OwnDescriptor socket_;
  std::array<Connection, kMostConnections> connections_;
  Connection* owner_ = nullptr;                 // who has started the recording
  std::string file_;                            // that is recorded for the owner
  ForkMutex mutex_{ForkMutex::Held::kForLong};  // held while something is done
  bool is_ending_ = false;
  pid_t process_ = 0;
};

Control& control() {
  static auto& made = *new Control;
  return made;
}

ControlMessage refusal(const std::string& sentence) {
  return {"error", {{"error", sentence}}};
}

// Others could not read what is recorded, and must not decide where it is written.
bool is_allowed(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

bool Control::open(std::string& error) noexcept {
  process_ = ::getpid();
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) {
    error = std::string("there is no socket: ") + std::strerror(errno);
    return false;
  }
  const std::string name = control_socket_name(::geteuid(), process_);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool is_bound = ::bind(file, reinterpret_cast<const sockaddr*>(&address), size) == 0;
  if (!is_bound || ::listen(file, static_cast<int>(kMostConnections)) != 0) {
    error = "its socket @" + name + " cannot be made: " + std::strerror(errno);
    ::close(file);
    return false;
  }
  socket_.take(file);
  return true;
}

bool Control::start_thread(std::string& error) noexcept {
  // The program's signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const auto run = [](void* self) -> void* {
    static_cast<Control*>(self)->run();
    return nullptr;
  };
  const int failure = pthread_create(&thread, nullptr, run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure != 0) {
    error = std::string("no thread can be started: ") + std::strerror(failure);
    socket_.close();
    return false;
  }
  pthread_setname_np(thread, "turnpike-attach");
  pthread_detach(thread);
  return true;
}

void Control::run() noexcept {
  while (true) {
    bool is_alone = true;
    for (Connection& connection : connections_) {
      if (connection.file.number() >= 0 && !connection.file.is_there()) drop(connection);
      if (connection.file.number() >= 0) is_alone = false;
    }
    if (!is_alone) {
      serve();
    } else if (socket_.is_there()) {
      accept_one();
    } else {
      return;
    }
  }
}

// Those who are there, and who comes, if there is room.
void Control::serve() noexcept {
  // Where another file takes the number of a descriptor, poll sleeps on and looks at that one.
  constexpr int kLookAgainMs = 500;
  std::array<pollfd, kMostConnections + 1> waits;
  std::array<Connection*, kMostConnections + 1> of;
  std::size_t count = 0;
  for (Connection& connection : connections_) {
    if (connection.file.number() < 0) continue;
    of[count] = &connection;
    waits[count++] = {connection.file.number(), POLLIN, 0};
  }
  if (count < kMostConnections && socket_.is_there()) {
    of[count] = nullptr;
    waits[count++] = {socket_.number(), POLLIN, 0};
  }
  if (::poll(waits.data(), count, kLookAgainMs) <= 0) return;
  for (std::size_t at = 0; at < count; ++at) {
    if (waits[at].revents == 0) continue;
    if (of[at] == nullptr) {
      if (socket_.is_there()) accept_one();
      continue;
    }
    try {
      hear(*of[at]);
    } catch (...) {
      drop(*of[at]);  // without memory
    }
  }
}

void Control::accept_one() noexcept {
  const int file = ::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC);
  if (file < 0) {
    // No descriptor is free: the caller stays in the queue, and asking at once again would not help.
    if (errno == EMFILE || errno == ENFILE) ::usleep(100'000);
    return;
  }
  if (!is_allowed(file)) {
    ::close(file);
    return;
  }
  for (Connection& connection : connections_) {
    if (connection.file.number() >= 0) continue;
    connection.received.clear();
    connection.file.take(file);
    return;
  }
  ::close(file);
}

void Control::hear(Connection& from) {
  char bytes[4096];
  if (!from.file.is_there()) return drop(from);
  const ssize_t got = ::recv(from.file.number(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(from);
  from.received.append(bytes, static_cast<std::size_t>(got));
  while (true) {
    const auto message = take_message(from.received);
    if (message && !*message) return;
    const std::string text =
        to_text(message ? answer(from, **message) : refusal("the process cannot answer: " + message.error().message));
    const bool is_sent =
        from.file.is_there() && ::send(from.file.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
                                    static_cast<ssize_t>(text.size());
    if (!message || !is_sent) return drop(from);
  }
}

ControlMessage Control::answer(Connection& from, const ControlMessage& asked) {
  const std::lock_guard lock(mutex_);
  ControlMessage answer;
  if (is_ending_) {
    answer = refusal("the process is ending");
  } else if (asked.word == "start") {
    answer = start(from, asked);
  } else if (asked.word == "stop" && owner_ != &from) {
    answer = refusal("only the `turnpike attach` that has started the recording ends it");
  } else if (asked.word == "stop") {
    std::string error;
    const bool is_stopped = !is_recording_for(from) || Recorder::instance().stop(error);
    answer = is_stopped ? status(from) : refusal(error);
    owner_ = nullptr;
  } else if (asked.word == "status") {
    answer = status(from);
  } else {
    answer = refusal("the process knows no command '" + asked.word + "'");
  }
  answer.values["to"] = asked.word;
  return answer;
}

ControlMessage Control::start(Connection& from, const ControlMessage& asked) {
  Options options = options_from([&asked](const char* variable) -> const char* {
    const std::string* value = asked.find(variable);
    return value == nullptr ? nullptr : value->c_str();
  });
  if (!options.run_directory.starts_with("/")) return refusal("the run is not named by an absolute path");
  options.has_note = false;  // who attaches hears what there is to say
  options.is_quiet = true;
  std::string error;
  if (!start_and_watch_endings(options, error)) return refusal(error);
  owner_ = &from;
  file_ = Recorder::instance().file();
  return status(from);
}

ControlMessage Control::status(Connection& from) const {
  ControlMessage message{"ok"};
  message.values["state"] = is_recording_for(from)                ? "recording"
                            : Recorder::instance().is_recording() ? "recording for others"
                                                                  : "dormant";
  if (owner_ != &from) return message;
  message.values["file"] = file_;
  message.values["counters"] = counters_to_text(Recorder::instance().status());
  return message;
}

// The program may have stopped it, and started one of its own.
bool Control::is_recording_for(const Connection& from) const {
  return owner_ == &from && Recorder::instance().is_recording() && Recorder::instance().file() == file_;
}

void Control::drop(Connection& connection) noexcept {
  connection.file.close();
  connection.received.clear();
  if (owner_ != &connection) return;
  try {
    const std::lock_guard lock(mutex_);
    std::string nobody_hears_it;
    if (!is_ending_ && is_recording_for(connection)) Recorder::instance().stop(nobody_hears_it);
  } catch (...) {
  }
  owner_ = nullptr;
}

void Control::leave_to_parent() noexcept {
  socket_.close();
  for (Connection& connection : connections_) connection.file.close();
  owner_ = nullptr;
}

void Control::end() noexcept {
  constexpr int kAttempts = 1'000;
  for (int attempt = 0; process_ == ::getpid() && attempt < kAttempts; ++attempt) {
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock()) {
      is_ending_ = true;
      return;
    }
    ::usleep(10'000);
  }
}

}  // namespace

bool wait_for_attach(std::string& error) {
  static ForkMutex mutex(ForkMutex::Held::kForLong);
  const std::lock_guard lock(mutex);
  if (control().is_waiting()) return true;
  if (!control().open(error)) return false;
  static std::atomic<bool> is_prepared{false};
  if (!is_prepared.exchange(true)) {
    pthread_atfork(nullptr, nullptr, [] { control().leave_to_parent(); });
    std::atexit([] { control().end(); });
  }
  return control().start_thread(error);
}

}  // namespace turnpike::record
