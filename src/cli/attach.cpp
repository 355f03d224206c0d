// turnpike attach: records processes that already run, for a while.
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "base/shown_text.h"
#include "base/text.h"
#include "cli/attach_load.h"
#include "cli/commands.h"
#include "cli/control_connection.h"
#include "cli/dormant_process.h"
#include "cli/launch.h"
#include "cli/message.h"
#include "cli/record_page.h"
#include "cli/record_summary.h"
#include "cli/recorder_options.h"
#include "cli/run_directory.h"
#include "cli/status_line.h"
#include "cli/target_process.h"

namespace turnpike::cli {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr const char* kAttach = "turnpike attach";
constexpr const char* kAttachAbout = "Record a program that already runs, for a while";
constexpr const char* kAttachExamples =
    R"(The program runs on while it is recorded, and afterwards. Ctrl-C ends the recording, not the program. It is best
started with `turnpike record --dormant -- COMMAND`, which costs it nothing until somebody attaches. Any other program
that uses CUDA is asked to load the recorder now, if it runs in CPython 3.14 or later and the kernel permits; its NVTX
ranges are then missing. Started by root for another user's program, the command gives up root's rights first: it writes
where that user may.

Examples:
  turnpike record --dormant -- python serve.py &      then, at any time:
  turnpike attach $!                                  ten seconds of it, into serve.tpk
  turnpike attach 4711 --duration 60 -o slow.tpk      a minute, into slow.tpk
  turnpike attach --all --at /10s                     every rank on this machine, in one run; on other machines the same
                                                      command within these ten seconds starts at the same moment
Then: turnpike report serve.tpk

Exit code: 0 it was recorded; 2 wrong usage; 3 the process cannot be attached to, and nothing was recorded;
4 the run cannot be written, or what was recorded cannot be seen from here.)";

constexpr milliseconds kDuration{10'000};
// Loading CUPTI takes a second or two, and waits for CUDA's locks.
constexpr milliseconds kStartPatience{60'000};
constexpr milliseconds kStatusPatience{200};
// The recorder itself waits for the GPU's records for 30 s at most.
constexpr milliseconds kStopPatience{45'000};

struct AttachArguments {
  std::vector<pid_t> processes;
  bool is_all = false;
  std::string run;  // "": named after the program
  bool is_forced = false;
  bool opens_page = false;
  std::string at;
  record::Options options;
};

// What ends a recording from outside. Blocked from the start on, so that nothing is left half done.
class Interruption {
 public:
  Interruption() {
    sigemptyset(&signals_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, number);
    sigprocmask(SIG_BLOCK, &signals_, nullptr);
    file_ = signalfd(-1, &signals_, SFD_CLOEXEC);
  }
  ~Interruption() {
    if (file_ >= 0) close(file_);
  }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Waits; whether a signal came before that or meanwhile.
  bool comes_within(std::chrono::nanoseconds wait) {
    if (number_ != 0) return true;
    const auto count = std::max<std::int64_t>(wait.count(), 0);
    const timespec limit{static_cast<time_t>(count / 1'000'000'000), static_cast<long>(count % 1'000'000'000)};
    const int taken = sigtimedwait(&signals_, nullptr, &limit);
    if (taken > 0) number_ = taken;
    return number_ != 0;
  }
  int number() const { return number_; }
  // There is something to read in it while a signal has come that comes_within() has not seen.
  int file() const { return file_; }
  // From here on a signal ends this process at once.
  void give_back() { sigprocmask(SIG_UNBLOCK, &signals_, nullptr); }

 private:
  sigset_t signals_;
  int file_;
  int number_ = 0;
};

// One process that is being recorded.
struct Attached {
  ControlConnection connection;
  TurnpikeStatus counters{};
  std::string file{};  // as the process names it
  bool is_recording = true;

  void take(const record::ControlMessage& answer) {
    if (const std::string* text = answer.find("counters")) counters = record::counters_from_text(*text);
    if (const std::string* name = answer.find("file")) file = *name;
    const std::string* state = answer.find("state");
    is_recording = state != nullptr && *state == "recording";
  }
};

TurnpikeStatus sum_of(const std::vector<Attached>& all) {
  using Counters = std::array<std::uint64_t, sizeof(TurnpikeStatus) / sizeof(std::uint64_t)>;
  Counters counters{};
  for (const Attached& one : all) {
    const auto more = std::bit_cast<Counters>(one.counters);
    std::transform(more.begin(), more.end(), counters.begin(), counters.begin(), std::plus<>());
  }
  auto sum = std::bit_cast<TurnpikeStatus>(counters);
  sum.process_count = all.size();
  return sum;
}

// "/10s", "/1m". nullopt: neither.
std::optional<std::chrono::seconds> pitch_of(const std::string& text) {
  constexpr int kMost = 86'400;
  int number = 0;
  const char* const end = text.data() + text.size();
  if (!text.starts_with("/")) return std::nullopt;
  const auto [behind, failed] = std::from_chars(text.data() + 1, end, number);
  const std::string unit(behind, end);
  const int scale = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (failed != std::errc() || scale == 0 || number < 1 || number > kMost / scale) return std::nullopt;
  return std::chrono::seconds(number * scale);
}

std::string check_process_id(const std::string& text) {
  std::uint32_t number = 0;
  const bool is_id = parse_number(text, number) && number > 0 &&
                     number <= static_cast<std::uint32_t>(std::numeric_limits<pid_t>::max());
  return is_id ? "" : "'" + text + "' is not the id of a process, a number above 0";
}

std::string check_at(const std::string& text) {
  return pitch_of(text) ? "" : "'" + text + "' is no pitch as /10s, /1m or /1h (at most a day)";
}

// Whether nothing came in between.
bool wait_for_pitch(std::chrono::seconds pitch, Interruption& interruption) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto next = (now / pitch + 1) * pitch;
  return !interruption.comes_within(next - now);
}

std::string listed(const std::vector<pid_t>& processes) {
  std::string text;
  for (const pid_t process : processes) {
    text += "\n  " + std::to_string(process) + "  " + shown(joined(command_of(process), " "));
  }
  return text;
}

Result<std::vector<pid_t>> wanted_processes(const AttachArguments& arguments) {
  if (!arguments.processes.empty()) {
    if (arguments.is_all) return Error{"give either the id of a process or --all"};
    return arguments.processes;
  }
  auto waiting = dormant_processes();
  if (!waiting) return waiting;
  if (arguments.is_all) return waiting;
  return Error{"name the process by its id, or give --all. " +
               (waiting->empty() ? "None of yours waits: start one with `turnpike record --dormant -- COMMAND`"
                                 : "Those wait:" + listed(*waiting))};
}

// Prints the reason for each process that it leaves out.
std::vector<TargetProcess> targets_of(const std::vector<pid_t>& processes) {
  std::vector<TargetProcess> targets;
  for (const pid_t process : processes) {
    auto target = TargetProcess::open(process);
    if (target) {
      targets.push_back(std::move(*target));
    } else {
      say(kAttach, target.error().message);
    }
  }
  return targets;
}

// From here on nothing is done with more rights than the processes have.
Status become_owner_of(const std::vector<TargetProcess>& targets, bool opens_page) {
  const Owner owner = targets.front().owner();
  const auto is_owned = [&](const TargetProcess& target) { return target.owner() == owner; };
  if (!std::ranges::all_of(targets, is_owned)) {
    return Error{"these processes belong to several users: attach to those of one at a time"};
  }
  if (opens_page && owner.user != geteuid())
    return Error{"--open shows no page of another user's process: leave it out"};
  return take_rights_of(owner);
}

[[noreturn]] void end_interrupted(const Interruption& interruption) {
  say(kAttach, "interrupted: nothing was recorded");
  die_by(interruption.number());
}

// Loads the recorder into a process that does not wait, unless it was started for something else.
Result<ControlConnection> connect_or_load(const TargetProcess& process, Interruption& interruption) {
  if (is_stopped(process.id())) {
    return Error{"process " + std::to_string(process.id()) + " is stopped (Ctrl-Z, a debugger): let it go on first"};
  }
  if (!is_dormant(process.id()) && !was_started_for_turnpike(process.id())) {
    const auto pause = [&](milliseconds wait) { return !interruption.comes_within(wait); };
    if (const auto loaded = load_recorder_into(process, pause); !loaded) return loaded.error();
  }
  return ControlConnection::open(process.id());
}

std::vector<ControlConnection> connect_to_all(const std::vector<TargetProcess>& processes, Interruption& interruption) {
  std::vector<ControlConnection> connections;
  for (const TargetProcess& process : processes) {
    auto connection = connect_or_load(process, interruption);
    if (interruption.comes_within({})) end_interrupted(interruption);
    if (connection) {
      connections.push_back(std::move(*connection));
    } else {
      say(kAttach, connection.error().message);
    }
  }
  return connections;
}

// The name that `turnpike record` would have given, if all processes have the same. A program chooses its own name, so
// a name that a terminal or a shell would obey is refused.
std::string name_of(const std::vector<ControlConnection>& connections) {
  constexpr const char* kPlain = "attached";
  std::string name;
  for (const ControlConnection& connection : connections) {
    const std::string of_this = default_run_name(command_of(connection.process()));
    if (!name.empty() && name != of_this) return kPlain;
    name = of_this;
  }
  const bool is_harmless = !name.starts_with('-') && !name.starts_with('.') && printable(name) == name;
  return is_harmless && name.find('\n') == std::string::npos ? name : kPlain;
}

record::ControlMessage start_message(record::Options options, const RunDirectory& directory) {
  options.run_directory = std::filesystem::absolute(directory.recorded_path()).string();
  record::ControlMessage message{"start"};
  for (const auto& [variable, value] : record::environment_of(options)) {
    if (value) message.values[variable] = *value;
  }
  return message;
}

// All at once, and then the answers, until a signal comes. Says who does not start.
std::vector<Attached> start_all(std::vector<ControlConnection> connections, const record::ControlMessage& start,
                                const Interruption& interruption) {
  for (ControlConnection& connection : connections) connection.ask(start);
  std::vector<Attached> started;
  for (ControlConnection& connection : connections) {
    const auto answer = connection.await("start", kStartPatience, interruption.file());
    if (!answer) {
      say(kAttach, answer.error().message);
      continue;
    }
    Attached attached{.connection = std::move(connection)};
    attached.take(*answer);
    started.push_back(std::move(attached));
  }
  return started;
}

bool is_full(const TurnpikeStatus& counters) {
  return counters.stopped_at_size_count + counters.stopped_disk_low_count > 0;
}

// Whether the recording goes on. Says who does not.
bool look_at(Attached& one, StatusLine& line, const Interruption& interruption) {
  if (!one.is_recording || is_full(one.counters)) return false;
  one.connection.ask({"status"});
  const auto answer = one.connection.await("status", kStatusPatience, interruption.file());
  if (answer) one.take(*answer);
  const bool is_lost = !one.connection.is_open();
  if (one.is_recording && !is_lost) return true;
  one.is_recording = false;
  line.erase();
  say(kAttach, "process " + std::to_string(one.connection.process()) +
                   (is_lost ? " has ended meanwhile, or left the recording" : " itself has ended the recording"));
  return false;
}

void watch(std::vector<Attached>& all, const record::Options& options, Interruption& interruption) {
  StatusLine line(STDERR_FILENO);
  const auto start = SteadyClock::now();
  const auto end = start + options.duration;
  while (true) {
    bool goes_on = false;
    for (Attached& one : all) goes_on = look_at(one, line, interruption) || goes_on;
    const auto now = SteadyClock::now();
    if (!goes_on || now >= end) return;
    const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(now - start);
    if (!options.is_quiet) line.show(status_line_text(sum_of(all), elapsed));
    if (interruption.comes_within(std::min<std::chrono::nanoseconds>(kTick, end - now))) return;
  }
}

// A signal that comes now ends the waiting: the process ends its recording when it goes on.
void stop_all(std::vector<Attached>& all, const Interruption& interruption) {
  for (Attached& one : all) {
    if (one.connection.is_open()) one.connection.ask({"stop"});
  }
  for (Attached& one : all) {
    if (!one.connection.is_open()) continue;
    const bool was_recording = one.is_recording;
    const auto answer = one.connection.await("stop", kStopPatience, interruption.file());
    if (answer) {
      one.take(*answer);
    } else if (was_recording) {
      say(kAttach, answer.error().message);
    }
  }
}

// A process may see other files than we do. Whether any recording is in the run, as far as can be seen from here; says
// where the others are.
bool check_is_seen(const std::vector<Attached>& all, const RunDirectory& directory) {
  bool is_any_seen = false;
  for (const Attached& one : all) {
    const std::filesystem::path name = std::filesystem::path(one.file).filename();
    std::error_code failed;
    if (!name.empty() && std::filesystem::exists(directory.recorded_path() / name, failed)) {
      is_any_seen = true;
      continue;
    }
    say(kAttach, "the recording of process " + std::to_string(one.connection.process()) +
                     " cannot be seen from here, because the process sees other files than you do (a container, or "
                     "another mount namespace). There it is " +
                     shown(one.file));
  }
  return is_any_seen;
}

int run_attached(const AttachArguments& arguments) {
  const auto processes = wanted_processes(arguments);
  if (!processes) return fail(kAttach, processes.error().message, kUsage);
  if (processes->empty()) {
    return fail(kAttach, "no process of yours waits: start one with `turnpike record --dormant -- COMMAND`",
                kUnreadableInput);
  }
  const std::vector<TargetProcess> targets = targets_of(*processes);
  if (targets.empty()) return kUnreadableInput;
  if (auto owned = become_owner_of(targets, arguments.opens_page); !owned) {
    return fail(kAttach, owned.error().message, kUsage);
  }
  Interruption interruption;
  auto connections = connect_to_all(targets, interruption);
  if (connections.empty()) return kUnreadableInput;
  if (!arguments.at.empty() && !wait_for_pitch(*pitch_of(arguments.at), interruption)) end_interrupted(interruption);
  int status = kFine;
  auto directory = make_run_directory({arguments.run, name_of(connections), arguments.is_forced}, kAttach, status);
  if (!directory) return status;
  auto attached = start_all(std::move(connections), start_message(arguments.options, *directory), interruption);
  if (attached.empty()) {
    directory->remove_if_empty();
    if (interruption.comes_within({})) end_interrupted(interruption);
    return kUnreadableInput;
  }
  watch(attached, arguments.options, interruption);
  stop_all(attached, interruption);
  if (!check_is_seen(attached, *directory)) {
    directory->remove_if_empty();
    return kFailed;
  }
  if (auto placed = directory->take_place(); !placed) fail(kAttach, placed.error().message, kUsage);
  if (!arguments.options.is_quiet) print_summary(sum_of(attached), *directory, "");
  interruption.give_back();
  if (arguments.opens_page && directory->has_recordings()) {
    show_page_of(
        {.path = directory->recorded_path(), .is_forced = arguments.is_forced, .is_quiet = arguments.options.is_quiet});
  }
  directory->remove_if_empty();
  return kFine;
}

}  // namespace

void add_attach(Command turnpike, int& status) {
  const auto arguments = std::make_shared<AttachArguments>();
  arguments->options.duration = kDuration;
  Command sub = turnpike.add_subcommand("attach", kAttachAbout);
  sub.footer(kAttachExamples);
  sub.add_option("PID", arguments->processes, "The process, or several; without one, those that wait are listed")
      .type_name("")
      .check(check_process_id);
  sub.add_flag("--all", arguments->is_all, "Every process of yours that waits, in one run");
  sub.add_option("-o,--output", arguments->run, "The run to write, a directory (default: the program's script + .tpk)")
      .type_name("RUN")
      .check([](const std::string& text) { return text.empty() ? "a run needs a name" : ""; });
  sub.add_flag("--force", arguments->is_forced, "Replace the recording that is in RUN, once the new one is there");
  sub.add_flag("--open", arguments->opens_page,
               "Write the page of the run beside it (train.html) and open it in a browser");
  sub.add_option("--at", arguments->at,
                 "Start when the clock is at the next multiple of PITCH, as /10s: at the\n"
                 "same moment on every machine whose clock is right")
      .type_name("PITCH")
      .check(check_at);
  for (const record::Option& option : record::all_options()) {
    if (option.is_for_attach) add_recorder_option(sub, option, arguments->options);
  }
  sub.option("--duration").description("Stop recording after this long (default: 10); the program continues");
  sub.callback([arguments, &status] { status = run_attached(*arguments); });
}

}  // namespace turnpike::cli
