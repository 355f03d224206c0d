// turnpike top: recorded programs while they run.
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/output_file.h"
#include "cli/page_server.h"
#include "cli/runs_argument.h"
#include "cli/terminal.h"
#include "cli/top_screen.h"
#include "cli/top_text.h"

namespace turnpike::cli {
namespace {

constexpr const char* kTopCommand = "turnpike top";
constexpr const char* kNobody =
    "No recorded program of yours runs here. Start one with `turnpike record -- python train.py`.\n";
constexpr const char* kTopKeys = "q quit  </> process  b blocked  c count  t bytes  p pause  h help";
constexpr const char* kTopHelp =
    "Each block is a recorded process: what crosses the link to its GPU now, up and down, against what the link can\n"
    "do; below, the lines of the program by what they cost. CPU: time in calls that copy or wait, of wall time.\n";

constexpr const char* kTopExamples = R"(Examples:
  turnpike top                          watch all recorded programs of yours on this machine
  turnpike top 4711                     one of them
  turnpike top train.tpk                the processes that write into this run
  turnpike top --once --json            what they have counted so far, for programs
  turnpike top --prometheus :9400       serve it at http://127.0.0.1:9400/metrics
  turnpike top --prometheus /var/lib/node_exporter/turnpike.prom

Keys: < and > or arrows the process; b, c, t sort by blocked time, count, bytes; p pause; h help; q quit.

Exit code: 0, 2 wrong usage, 3 there is no such process or run, 4 the output cannot be written or served.)";

struct TopArguments {
  std::string of;
  bool is_once = false;
  bool is_json = false;
  double interval_s = 1;
  double window_s = 5;
  std::string prometheus;
  std::size_t prometheus_sites = 0;
};

volatile sig_atomic_t is_interrupted = 0;
const PageServer* serving = nullptr;

extern "C" void end_top(int) {
  is_interrupted = 1;
  if (serving != nullptr) serving->stop();
}

void end_when_interrupted() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action{};
    action.sa_handler = end_top;
    ::sigaction(signal, &action, nullptr);
  }
}

// The path may lead there through a link.
bool writes_into(const record::LivePage& page, const std::string& run) {
  std::error_code failed;
  return std::filesystem::weakly_canonical(std::filesystem::path(page.file).parent_path(), failed) == run && !failed;
}

// Which processes are asked for.
class Asked {
 public:
  static Result<Asked> from(const std::string& of) {
    Asked asked;
    if (of.empty()) return asked;
    std::uint32_t pid = 0;
    const auto parsed = std::from_chars(of.data(), of.data() + of.size(), pid);
    std::error_code failed;
    if (parsed.ec == std::errc() && parsed.ptr == of.data() + of.size()) {
      if (!live_process(pid))
        return Error{"process " + of + " is not there, is not yours or is not recorded. `turnpike top` shows all."};
      asked.pid_ = pid;
    } else if (std::filesystem::is_directory(of, failed)) {
      asked.run_ = std::filesystem::canonical(of, failed).string();
    } else {
      return Error{of + " is no process id and no run"};
    }
    return asked;
  }

  std::vector<LiveProcess> processes() const {
    if (pid_) {
      const auto one = live_process(*pid_);
      return one ? std::vector{*one} : std::vector<LiveProcess>();
    }
    std::vector<LiveProcess> all = live_processes();
    if (!run_.empty())
      std::erase_if(all, [this](const LiveProcess& one) { return !one.page || !writes_into(*one.page, run_); });
    return all;
  }

  // Shown if there is none.
  std::string nobody() const {
    if (pid_) return "Process " + std::to_string(*pid_) + " has ended.\n";
    if (run_.empty()) return kNobody;
    return "No process writes into " + printable(run_) + " any more. `turnpike report` reads it.\n";
  }
  // Nothing more will come.
  bool is_over() const { return pid_.has_value(); }

 private:
  std::optional<std::uint32_t> pid_;
  std::string run_;
};

void wait_a_turn(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (is_interrupted == 0 && std::chrono::steady_clock::now() < until) usleep(20'000);
}

std::string text_of(const std::vector<ProcessRate>& rates, const Asked& asked, const TopLook& look) {
  if (rates.empty()) return asked.nobody();
  std::string text;
  for (const ProcessRate& one : rates) text += (text.empty() ? "" : "\n") + to_text(one, look);
  return text;
}

// A block of text, or a line of JSON, for each interval.
int print_blocks(const TopArguments& arguments, const Asked& asked) {
  TopHistory history(arguments.window_s);
  const TopLook look{.width = usable_width(STDOUT_FILENO, kPageWidth), .has_colour = has_colour(STDOUT_FILENO)};
  while (is_interrupted == 0) {
    const std::vector<ProcessRate> rates = history.add(asked.processes());
    const std::string text = arguments.is_json ? to_json(rates) : text_of(rates, asked, look);
    std::fputs(text.c_str(), stdout);
    if (!arguments.is_once && !arguments.is_json) std::fputs("\n", stdout);
    if (std::fflush(stdout) != 0 || arguments.is_once || (rates.empty() && asked.is_over())) break;
    wait_a_turn(arguments.interval_s);
  }
  return kFine;
}

struct Watch {
  TopLook look;
  std::size_t shown = 0;  // the process; 0: all of them, else its place from 1 on
  bool is_paused = false;
  bool has_help = false;
  bool is_over = false;
};

void obey(int key, std::size_t count, Watch& watch) {
  if (key == 'q' || key == -1) watch.is_over = true;
  if (key == '>') watch.shown = watch.shown >= count ? 0 : watch.shown + 1;
  if (key == '<') watch.shown = watch.shown == 0 ? count : watch.shown - 1;
  if (key == 'b') watch.look.sort = TopSort::kHostTime;
  if (key == 'c') watch.look.sort = TopSort::kCount;
  if (key == 't') watch.look.sort = TopSort::kBytes;
  if (key == 'p' || key == ' ') watch.is_paused = !watch.is_paused;
  if (key == 'h') watch.has_help = !watch.has_help;
}

std::string text_of(const std::vector<ProcessRate>& rates, const Asked& asked, Watch& watch) {
  watch.shown = std::min(watch.shown, rates.size());
  const std::string help = watch.has_help ? std::string(kTopHelp) + "\n" : "";
  if (watch.shown == 0) return help + text_of(rates, asked, watch.look);
  return help + text_of({rates[watch.shown - 1]}, asked, watch.look);
}

int watch_on_terminal(const TopArguments& arguments, const Asked& asked) {
  using Clock = std::chrono::steady_clock;
  const TopScreen screen;
  TopHistory history(arguments.window_s);
  Watch watch;
  watch.look.has_colour = has_colour(STDOUT_FILENO);
  std::vector<ProcessRate> rates;
  Clock::time_point next{};
  while (is_interrupted == 0 && !watch.is_over) {
    if (Clock::now() >= next && !watch.is_paused) {
      rates = history.add(asked.processes());
      next = Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(arguments.interval_s));
    }
    watch.look.width = screen.columns();
    screen.show(text_of(rates, asked, watch), (watch.is_paused ? "paused  " : "") + std::string(kTopKeys));
    obey(screen.key(100), rates.size(), watch);
  }
  return kFine;
}

int serve_metrics(const TopArguments& arguments, const Asked& asked) {
  const std::string& where = arguments.prometheus;
  const auto colon = where.rfind(':');
  std::uint16_t port = 0;
  const char* const end = where.data() + where.size();
  const auto parsed = std::from_chars(where.data() + colon + 1, end, port);
  if (parsed.ec != std::errc() || parsed.ptr != end)
    return fail(kTopCommand, "--prometheus takes :PORT, ADDRESS:PORT or a file, and not " + where, kUsage);
  const std::string address = colon == 0 ? "127.0.0.1" : where.substr(0, colon);
  auto server = PageServer::start_open(address, port, "/metrics", "text/plain; version=0.0.4; charset=utf-8");
  if (!server) return fail(kTopCommand, server.error().message, kFailed);
  serving = &*server;
  std::printf("%s\n", server->address().c_str());
  if (std::fflush(stdout) != 0) return fail(kTopCommand, "cannot write the address to standard output", kFailed);
  const auto metrics = [&] {
    return std::make_shared<const std::string>(to_metrics(asked.processes(), arguments.prometheus_sites));
  };
  if (is_interrupted == 0) server->serve(metrics);
  serving = nullptr;
  return kFine;
}

int write_metrics(const TopArguments& arguments, const Asked& asked) {
  while (is_interrupted == 0) {
    auto output = OutputFile::create(arguments.prometheus);
    if (!output) return fail(kTopCommand, output.error().message, kFailed);
    output->write(to_metrics(asked.processes(), arguments.prometheus_sites));
    if (auto done = output->commit(); !done) return fail(kTopCommand, done.error().message, kFailed);
    if (arguments.is_once) break;
    wait_a_turn(arguments.interval_s);
  }
  return kFine;
}

int top(const TopArguments& arguments) {
  const auto asked = Asked::from(arguments.of);
  if (!asked) return fail(kTopCommand, asked.error().message, kUnreadableInput);
  end_when_interrupted();
  if (!arguments.prometheus.empty()) {
    const bool is_file = arguments.prometheus.find(':') == std::string::npos;
    return is_file ? write_metrics(arguments, *asked) : serve_metrics(arguments, *asked);
  }
  const bool has_screen = is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO) && can_move_cursor();
  if (arguments.is_once || arguments.is_json || !has_screen) return print_blocks(arguments, *asked);
  return watch_on_terminal(arguments, *asked);
}

}  // namespace

void add_top(Command turnpike, int& status) {
  Command command = turnpike.add_subcommand("top", "Watch recorded programs while they run");
  const auto arguments = std::make_shared<TopArguments>();
  command.add_option("PID|RUN", arguments->of, "A process, or the processes that write into a run (default: all)");
  command.add_flag("--once", arguments->is_once, "Print what there is now, and end");
  command.add_flag("--json", arguments->is_json, "Print one JSON object for each interval, a line each");
  command.add_option("--interval", arguments->interval_s, "Seconds between two looks (default: 1)")
      .type_name("SECONDS")
      .range(0.1, 3600.0);
  command.add_option("--window", arguments->window_s, "Rates are of the last seconds (default: 5)")
      .type_name("SECONDS")
      .range(0.1, 3600.0);
  command
      .add_option("--prometheus", arguments->prometheus,
                  "Serve metrics at :PORT (of 127.0.0.1) or ADDRESS:PORT, or write them\nto a file each interval")
      .type_name("WHERE")
      .check(check_is_named);
  command.add_option("--prometheus-sites", arguments->prometheus_sites, "Also the time of so many lines (default: 0)")
      .type_name("N")
      .range(0, 64);
  command.footer(kTopExamples);
  command.callback([arguments, &status] { status = top(*arguments); });
}

}  // namespace turnpike::cli
