// The command `turnpike`: puts the subcommands together.
#include <malloc.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/given_command.h"
#include "cli/message.h"

namespace turnpike::cli {
namespace {

constexpr const char* kMainAbout =
    "Turnpike finds every transfer between CPU and GPU in a program, and what each one costs.";

constexpr const char* kMainExamples = R"(Examples:
  turnpike record -- python train.py              run a program and record it into train.tpk
  turnpike report train.tpk                       which lines moved data, how fast, and what waited
  turnpike report train.tpk --json                the same for other programs
  turnpike whatif train.tpk --edit pin            predict a change before you make it
  turnpike diff before.tpk after.tpk              what a change to the program changed
  turnpike check train.tpk                        is it within the budget in turnpike.toml?
  turnpike export train.tpk --to perfetto         as a timeline for ui.perfetto.dev
  turnpike guard --d2h disallow -- pytest -q      raise at the line that downloads from the GPU
  turnpike bench link                             measure this machine's link once, for all reports

For more about a command, run `turnpike help COMMAND`.

Exit codes: 0 fine; 1 a check failed; 2 wrong usage; 3 the input cannot be read; 4 something else failed,
e.g. the output cannot be written. `record` and `guard` exit with the exit code of the program.)";

// How many letters must change, come or go to make one word of the other.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j - 1] + 1, row[j] + 1});
    }
  }
  return row.back();
}

bool is_command(const Command& turnpike, const std::string& word) {
  const auto commands = turnpike.subcommands();
  return std::any_of(commands.begin(), commands.end(), [&](const Command& one) { return one.name() == word; });
}

// "" when nothing is close.
std::string closest_command(const Command& turnpike, const std::string& word) {
  constexpr std::size_t kMaxDistance = 2;
  std::string closest;
  std::size_t least = kMaxDistance + 1;
  for (const Command& command : turnpike.subcommands()) {
    const std::size_t distance = edit_distance(word, command.name());
    // Of a short word, less than half may be wrong.
    if (distance >= least || 2 * distance >= command.name().size()) continue;
    least = distance;
    closest = command.name();
  }
  return closest;
}

int unknown_command(const Command& turnpike, const std::string& word) {
  const std::string closest = closest_command(turnpike, word);
  const std::string hint =
      closest.empty() ? "`turnpike --help` lists the commands." : "Did you mean `turnpike " + closest + "`?";
  say("turnpike", "there is no command \"" + word + "\". " + hint);
  return kUsage;
}

// `turnpike help COMMAND` is `turnpike COMMAND --help`.
std::vector<char*> with_help_behind(int argc, char** argv) {
  static char option[] = "--help";
  std::vector<char*> words(argv, argv + argc);
  if (argc < 2 || std::strcmp(argv[1], "help") != 0) return words;
  words.erase(words.begin() + 1);
  words.push_back(option);
  return words;
}

int parse(CommandLine& line, int given_count, char** given, const int& status) {
  std::vector<char*> words = with_help_behind(given_count, given);
  const auto argc = static_cast<int>(words.size());
  char** const argv = words.data();
  const Command turnpike = line.turnpike();
  if (argc < 2) {
    std::fputs(turnpike.help().c_str(), stderr);
    return kUsage;
  }
  const std::string first = argv[1];
  if (!first.starts_with("-") && !is_command(turnpike, first)) return unknown_command(turnpike, first);
  switch (line.parse(argc, argv)) {
    case Parsed::kHelped:
      return kFine;
    case Parsed::kWrongUsage:
      return kUsage;
    case Parsed::kCalled:
      break;
  }
  return status;
}

int run(int argc, char** argv) {
  CommandLine line(kMainAbout, "turnpike " TURNPIKE_VERSION, kMainExamples);
  Command turnpike = line.turnpike();
  int status = kFine;
  const std::vector<std::string> command = take_given_command(argc, argv);
  add_record(turnpike, status, command);
  add_attach(turnpike, status);
  add_guard(turnpike, status, command);
  add_report(turnpike, status);
  add_view(turnpike, status);
  add_whatif(turnpike, status);
  add_diff(turnpike, status);
  add_check(turnpike, status);
  add_export(turnpike, status);
  add_rollup(turnpike, status);
  add_fleet(turnpike, status);
  add_dump(turnpike, status);
  add_top(turnpike, status);
  add_bench(turnpike, status);
  return parse(line, argc, argv, status);
}

// Output that cannot be written is an error with a sentence, and no signal that leaves half a file. A recorded command
// is not ours to protect: it gets the signals as they are.
void take_write_errors(int argc, char** argv) {
  if (argc > 1 && runs_a_command(argv[1])) return;
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

// A report makes and drops tables of some megabytes by the dozen. Given back to the system each time, their pages cost
// a fifth of a report's time.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMostBytes = 1 << 30;
  constexpr int kMostBytesBefore235 = 32 << 20;  // older ones refuse more
  if (::mallopt(M_MMAP_THRESHOLD, kMostBytes) == 0) ::mallopt(M_MMAP_THRESHOLD, kMostBytesBefore235);
  ::mallopt(M_TRIM_THRESHOLD, kMostBytes);
#endif
}

// What help and short lists left in the buffer. A reader that has seen enough is no failure.
int with_output_written(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  if (errno == EPIPE) return status;
  say("turnpike", std::string("cannot write standard output: ") + std::strerror(errno == 0 ? EIO : errno));
  return status == kFine ? kFailed : status;
}

int run_and_tell(int argc, char** argv) {
  take_write_errors(argc, argv);
  keep_freed_memory();
  try {
    return with_output_written(run(argc, argv));
  } catch (const std::bad_alloc&) {
    say("turnpike",
        "out of memory. Give fewer runs at a time, or record a shorter part of the program (--delay, --duration, "
        "--capture-range) or less of it (--detail transfers).");
  } catch (const std::exception& failure) {
    say("turnpike", std::string("failed: ") + failure.what());
  }
  return kFailed;
}

}  // namespace
}  // namespace turnpike::cli

int main(int argc, char** argv) {
  return turnpike::cli::run_and_tell(argc, argv);
}
