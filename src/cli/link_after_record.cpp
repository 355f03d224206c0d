// Asks the cache, takes the lock, and lets a child measure: whatever CUDA does there, this process ends as it should.
#include "cli/link_after_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "cli/kept_links.h"
#include "machine/link_cache.h"
#include "move/idle_links.h"

namespace turnpike::cli {
namespace {

constexpr std::chrono::seconds kRetryAfter = std::chrono::minutes(10);

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  gethostname(host.data(), HOST_NAME_MAX);
  return host.data();
}

// True as well where the file cannot be understood: it may be somebody's, and reports tell of it.
bool is_measured(const std::string& path) {
  const auto links = machine::read_link_cache(path);
  if (!links) return true;
  const std::string host = host_name();
  return std::any_of(links->begin(), links->end(), [&](const auto& link) { return link.host == host; });
}

// Held as long as the object lives; one process at a time.
class Lock {
 public:
  explicit Lock(const std::string& path) : descriptor_(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    is_held_ = descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  bool is_held() const { return is_held_; }
  // Whether a measurement failed a while ago: where a GPU is always in use, not every recording shall wait for it.
  bool has_failed_lately() const {
    struct stat file{};
    return fstat(descriptor_, &file) == 0 && file.st_size > 0 && time(nullptr) - file.st_mtime < kRetryAfter.count();
  }
  void note(bool has_failed) {
    constexpr std::string_view kFailed = "failed\n";
    const std::string_view text = has_failed ? kFailed : "";
    [[maybe_unused]] const bool is_noted =
        ftruncate(descriptor_, 0) == 0 && pwrite(descriptor_, text.data(), text.size(), 0) == std::ssize(text);
  }

 private:
  int descriptor_;
  bool is_held_ = false;
};

// What the child does: measures, keeps, and writes its sentence into the pipe.
void measure_in_child(int pipe, const std::string& path) {
  // Ctrl-C ends it, whatever this process had set for the recorded program.
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  unsetenv("CUDA_INJECTION64_PATH");  // nobody records this
  const auto tell = [pipe](const std::string& text) {
    [[maybe_unused]] const ssize_t written = write(pipe, text.data(), text.size());
  };
  const auto measured = move::measure_idle_links();
  if (!measured)
    return tell("the link was not measured: " + measured.error().message + " (`turnpike bench link` does)");
  if (measured->links.empty()) return;
  const std::vector<machine::KeptLink> kept = kept_links_of(measured->links);
  if (const Status is_kept = machine::keep_links(path, kept); !is_kept) {
    return tell("the link was measured and not kept: " + is_kept.error().message);
  }
  std::string text;
  for (const machine::KeptLink& link : kept) {
    text += fmt::format("{}the link of {}: {:.1f} GB/s up, {:.1f} down", text.empty() ? "" : "; ", link.device_name,
                        link.h2d_pinned_gbps, link.d2h_pinned_gbps);
  }
  tell(fmt::format("measured {} (once for this machine, in {:.2f} s; --no-link forbids it)", text,
                   measured->took.count()));
}

// What comes out of the pipe until it is closed, or none when that takes too long.
std::optional<std::string> read_all(int pipe, std::chrono::milliseconds patience) {
  std::string text;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waited{pipe, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : poll(&waited, 1, static_cast<int>(left.count()));
    if (ready == 0) return std::nullopt;
    if (ready < 0) continue;
    std::array<char, 512> part{};
    const ssize_t count = read(pipe, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

// A process that hangs in the driver does not die, not even if it is killed: it is left to the system then.
void wait_for_end(pid_t child) {
  constexpr std::chrono::milliseconds kPause{20};
  for (int looks = 0; looks < 100; ++looks) {
    const pid_t ended = waitpid(child, nullptr, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

std::string measure_link_once(std::chrono::milliseconds patience) {
  const std::string path = machine::link_cache_path();
  if (path.empty() || is_measured(path)) return "";
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  Lock lock(path + ".lock");
  if (!lock.is_held() || is_measured(path) || lock.has_failed_lately()) return "";
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    // What is thrown here must not go on as the parent would.
    try {
      measure_in_child(ends[1], path);
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  if (child > 0) {
    const auto said = read_all(ends[0], patience);
    if (!said) kill(child, SIGKILL);
    wait_for_end(child);
    text = said.value_or("");
  }
  close(ends[0]);
  lock.note(!is_measured(path));
  return text;
}

}  // namespace turnpike::cli
