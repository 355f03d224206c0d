// turnpike guard: runs a command in which forbidden transfers raise.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string_view>

#include "analyze/budget/budget_file.h"
#include "base/shared_memory.h"
#include "cli/commands.h"
#include "cli/given_command.h"
#include "cli/launch.h"
#include "cli/message.h"
#include "cli/recorder_environment.h"
#include "cli/runs_argument.h"
#include "guard/process_rules.h"
#include "guard/rules.h"

namespace turnpike::cli {
namespace {

constexpr const char* kGuardCommand = "turnpike guard";
constexpr const char* kGuardAbout = "Run a command and raise an exception at the line that moves data or waits";

constexpr const char* kGuardExamples =
    R"(A LEVEL is allow, log, disallow, a number (at most so many) or a size (at most so much: "16 MB").
What is forbidden raises RuntimeError in the program, at its line and before it happens. Where an exception
could do harm, as in an allocator, the call happens, is said, and fails the command. What is logged is said once
for each line, on standard error, and counted. All threads are guarded, except what those that pin memory for a
loader do with pinned memory.

Examples:
  turnpike guard --d2h disallow -- pytest -q           which test downloads from the GPU?
  turnpike guard --sync log --pageable log -- python train.py
                                                       name the lines, and go on
  turnpike guard --sync log --skip 3 -- python train.py
                                                       the first 3 times at each line are warm-up
  turnpike guard --d2h disallow --allow checkpoint.py:save -- python train.py
                                                       but not there
  turnpike guard --config turnpike.toml --fail-on-log -- pytest -q
                                                       for CI: rules from the table [guard]
  turnpike guard --d2h disallow --require-gpu -- pytest -q
                                                       and fail on a machine without a GPU

In turnpike.toml:
  [guard]
  d2h = "disallow"
  sync = 4
  [[allow]]              # the same list as for `turnpike check`
  site = "train.py:save_checkpoint"

Only for a part of the program: with turnpike.guard(d2h="disallow"): ... in Python.
Copies of libraries other than PyTorch are not seen; `turnpike record` finds them.

Exit code: COMMAND's own; 1 if COMMAND gave 0, but something forbidden could not be stopped, or with --fail-on-log
something was logged, or with --require-gpu nothing was checked; 2 wrong usage, and nothing ran; 126 COMMAND cannot
be executed; 127 it was not found.
To use another libturnpike_guard.so than the installed one, set TURNPIKE_GUARD_LIBRARY.)";

struct KindOption {
  const char* name;
  const char* help;
};
constexpr std::array<KindOption, guard::kKindCount> kKindOptions = {{
    {"h2d", "Copies from CPU to GPU"},
    {"d2h", "Copies from GPU to CPU, as by .item()"},
    {"d2d", "Copies within a GPU"},
    {"p2p", "Copies between GPUs"},
    {"h2h", "Copies within the CPU's memory that CUDA makes"},
    {"sync", "Waits of the CPU for the GPU"},
    {"pageable", "Copies from or to memory that is not pinned"},
    {"alloc", "Allocations by the CUDA runtime"},
    {"repeat", "Uploads of the same bytes by the same line; only allow and log"},
}};

// What a rule holds for.
struct ReachOption {
  const char* name;
  const char* values;
  const char* help;
};
constexpr std::array<ReachOption, 4> kReachOptions = {{
    {"threads", "all|own", "All threads (default), or the main one alone"},
    {"capture", "disallow|allow", "Copies that are captured into a CUDA graph: guarded (default) or not"},
    {"compile", "disallow|allow", "What PyTorch's compiler copies for itself: guarded, or not (default)"},
    {"moves", "disallow|allow", "What tp.to, prefetch, fetch and copy_ copy: guarded, or not (default)"},
}};

struct GuardArguments {
  std::array<std::string, kReachOptions.size()> reaches;
  std::array<std::string, guard::kKindCount> levels;
  std::vector<std::string> sites;
  std::string config;
  std::uint64_t skip = 0;
  bool fails_on_log = false;
  bool needs_gpu = false;
};

// What the processes write their lines to (guard::kLogVariable): memory that ends with this process.
class Log {
 public:
  Log() : file_(memfd_create(kGuardMemory, MFD_CLOEXEC)) {}
  ~Log() {
    if (file_ >= 0) close(file_);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  std::string path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_); }
  bool is_there() const { return file_ >= 0; }
  // What was logged, and the texts of the allowances that allowed something.
  struct Lines {
    bool has_checked = false;
    bool has_cuda = false;
    bool has_logged = false;
    bool has_passed = false;  // a forbidden call happened, because nothing could stop it
    std::set<std::string, std::less<>> matched;
  };
  Lines read() const {
    std::string text;
    std::array<char, 1 << 16> block;
    for (ssize_t count = 0; (count = pread(file_, block.data(), block.size(), static_cast<off_t>(text.size()))) > 0;) {
      text.append(block.data(), static_cast<std::size_t>(count));
    }
    Lines lines;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (line.starts_with(guard::kAllowedBy)) {
        lines.matched.emplace(line.substr(guard::kAllowedBy.size()));
      } else if (line == guard::kChecks || line == guard::kSeesNoTorch) {
        lines.has_cuda = true;
        lines.has_checked = lines.has_checked || line == guard::kChecks;
      } else if (line == guard::kNotStopped) {
        lines.has_passed = true;
      } else {
        lines.has_logged = true;
      }
    }
    return lines;
  }

 private:
  int file_;
};

// An entry that allows nothing is a line that moved, or a mistake: what it stood for is forbidden now.
void say_unmatched(const guard::Rules& rules, const Log::Lines& lines) {
  for (const guard::Allowance& one : rules.allowances) {
    if (one.is_optional || lines.matched.contains(one.text)) continue;
    say(kGuardCommand, "nothing was allowed by '" + one.text +
                           "': correct the site or remove it; optional = true in turnpike.toml says that it is fine");
  }
}

// Without a GPU every command obeys every rule, which proves nothing.
void say_unchecked(const Log::Lines& lines) {
  say(kGuardCommand, lines.has_cuda ? "nothing was checked, because no process that used CUDA had loaded PyTorch"
                                    : "nothing was checked, because no process used CUDA");
}

bool is_failure(const GuardArguments& arguments, const Log::Lines& lines) {
  return (arguments.fails_on_log && lines.has_logged) || (arguments.needs_gpu && !lines.has_checked) ||
         lines.has_passed;
}

// The rules, and their text as the library reads it, one a line.
struct GivenRules {
  std::string text;
  guard::Rules rules;
};

// Those of the options stand behind those of the file, which they replace.
Result<GivenRules> rules_of(const GuardArguments& arguments) {
  std::string rules;
  if (!arguments.config.empty()) {
    auto of_file = analyze::read_guard_rules(arguments.config);
    if (!of_file) return of_file.error();
    rules = *of_file;
  }
  for (std::size_t i = 0; i < arguments.levels.size(); ++i) {
    if (!arguments.levels[i].empty()) rules += std::string(kKindOptions[i].name) + '=' + arguments.levels[i] + '\n';
  }
  if (rules.empty()) return Error{"say what to guard: --d2h disallow, for example, or --config turnpike.toml"};
  for (std::size_t i = 0; i < arguments.reaches.size(); ++i) {
    if (!arguments.reaches[i].empty()) rules += std::string(kReachOptions[i].name) + '=' + arguments.reaches[i] + '\n';
  }
  for (const std::string& site : arguments.sites) rules += "allow=" + site + '\n';
  if (arguments.skip != 0) rules += "skip=" + std::to_string(arguments.skip) + '\n';
  auto parsed = guard::parse_rules(rules);
  if (!parsed) return parsed.error();
  return GivenRules{std::move(rules), std::move(*parsed)};
}

int run_guarded(Command app, const GuardArguments& arguments, const std::vector<std::string>& command) {
  if (auto usage = check_command(app, command); !usage) return fail(kGuardCommand, usage.error().message, kUsage);
  const auto rules = rules_of(arguments);
  if (!rules) return fail(kGuardCommand, rules.error().message, kUsage);
  if (auto free = check_no_other_injection(kGuardLibrary); !free)
    return fail(kGuardCommand, free.error().message, kUsage);
  const auto library = find_guard_library();
  if (!library) return fail(kGuardCommand, library.error().message, kUsage);
  const Log log;
  if (!log.is_there()) return fail(kGuardCommand, "there is no memory for the log", kUsage);
  const auto ending = launch(command, guard_environment(rules->text, *library, log.path()), {});
  if (!ending) return fail(kGuardCommand, ending.error().message, kUsage);
  if (ending->start_error != 0) return start_failure(kGuardCommand, command, ending->start_error);
  const Log::Lines lines = log.read();
  if (lines.has_checked) {
    say_unmatched(rules->rules, lines);
  } else {
    say_unchecked(lines);
  }
  if (ending->signal != 0) die_by(ending->signal);
  return ending->exit_code == 0 && is_failure(arguments, lines) ? kCheckFailed : ending->exit_code;
}

}  // namespace

void add_guard(Command turnpike, int& status, std::vector<std::string> command) {
  const auto arguments = std::make_shared<GuardArguments>();
  Command sub = turnpike.add_subcommand("guard", kGuardAbout);
  sub.usage("turnpike guard [OPTIONS] -- COMMAND...");
  sub.allow_extras();  // for a better message than CLI11's
  sub.footer(kGuardExamples);
  for (std::size_t i = 0; i < kKindOptions.size(); ++i) {
    sub.add_option(std::string("--") + kKindOptions[i].name, arguments->levels[i], kKindOptions[i].help)
        .type_name("LEVEL");
  }
  for (std::size_t i = 0; i < kReachOptions.size(); ++i) {
    sub.add_option(std::string("--") + kReachOptions[i].name, arguments->reaches[i], kReachOptions[i].help)
        .type_name(kReachOptions[i].values);
  }
  sub.add_option("--allow", arguments->sites,
                 "A place that no rule is about: FILE, FILE:LINE or FILE:FUNCTION; may be repeated")
      .type_name("SITE")
      .repeatable();
  sub.add_option("--skip", arguments->skip, "The first N crossings of each line are warm-up")
      .type_name("N")
      .check(check_is_count);
  sub.add_option("--config", arguments->config, "Rules and sites from a turnpike.toml: [guard], [[allow]]")
      .type_name("FILE");
  sub.add_flag("--fail-on-log", arguments->fails_on_log, "Exit with 1 if something was logged");
  sub.add_flag("--require-gpu", arguments->needs_gpu, "Exit with 1 if no process used CUDA with PyTorch");
  sub.callback(
      [sub, arguments, &status, command = std::move(command)] { status = run_guarded(sub, *arguments, command); });
}

}  // namespace turnpike::cli
