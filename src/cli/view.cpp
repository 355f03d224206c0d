// turnpike view: the page of a run, served to a browser on this machine until Ctrl-C.
#include <malloc.h>
#include <signal.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "cli/browser.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/open_run.h"
#include "cli/page_server.h"
#include "cli/redirect_file.h"
#include "cli/runs_argument.h"
#include "cli/write_page.h"

namespace turnpike::cli {
namespace {

constexpr const char* kViewCommand = "turnpike view";

constexpr const char* kViewExamples = R"(Examples:
  turnpike view train.tpk                open the page of a run in a browser
  turnpike view train.tpk --no-browser   only print its address
  turnpike view train.tpk --port 8100    for `ssh -L 8100:127.0.0.1:8100 MACHINE`, then open the address here

Only this machine can reach the page, at an address that nobody can guess. Ctrl-C ends it.

Exit code: 0, 2 wrong usage, 3 a run cannot be read, 4 the page cannot be served.)";

struct ViewArguments {
  std::vector<std::filesystem::path> runs;
  std::uint16_t port = 0;
  bool no_browser = false;
  PageArguments page;
};

// What the signal handler stops.
const PageServer* running = nullptr;

extern "C" void stop_serving(int) {
  if (running != nullptr) running->stop();
}

void stop_when_interrupted(const PageServer& server) {
  running = &server;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    action.sa_handler = stop_serving;
    ::sigaction(signal, &action, nullptr);
  }
}

int view(const ViewArguments& arguments) {
  const auto runs = runs_or_newest(arguments.runs, kViewCommand);
  if (!runs) return fail(kViewCommand, runs.error().message, kUsage);
  const auto read = read_page(*runs, arguments.page, kViewCommand);
  if (!read) return fail(kViewCommand, read.error().message, kUnreadableInput);
  std::string page;
  read->write([&](std::string_view bytes) { page += bytes; });
  auto server = PageServer::start(arguments.port);
  if (!server) return fail(kViewCommand, server.error().message, kFailed);
  stop_when_interrupted(*server);
  std::printf("%s\n", server->address().c_str());
  if (std::fflush(stdout) != 0) return fail(kViewCommand, "cannot write the address to standard output", kFailed);
  std::fprintf(stderr,
               "Open this address in a browser of this machine; Ctrl-C ends. From another machine:\n"
               "ssh -L %d:127.0.0.1:%d MACHINE\n",
               server->port(), server->port());
  std::optional<RedirectFile> redirect;
  if (!arguments.no_browser && has_display()) redirect = RedirectFile::make(server->address());
  if (redirect) open_browser(redirect->path());
#ifdef __GLIBC__
  ::malloc_trim(0);  // what the report is done with; the page may be served for days
#endif
  auto shared = std::make_shared<const std::string>(std::move(page));
  server->serve([shared = std::move(shared)] { return shared; });
  return exit_code_of(read->inputs());
}

}  // namespace

void add_view(Command turnpike, int& status) {
  Command command = turnpike.add_subcommand("view", "Show a run in a browser of this machine");
  const auto arguments = std::make_shared<ViewArguments>();
  add_runs_argument(command, arguments->runs);
  command.add_option("--port", arguments->port, "The port of 127.0.0.1 (default: any that is free)")
      .type_name("N")
      .range(0, 65535);
  command.add_flag("--no-browser", arguments->no_browser, "Open no browser; the address is printed in any case");
  add_page_options(command, arguments->page);
  command.footer(kViewExamples);
  command.callback([arguments, &status] { status = view(*arguments); });
}

}  // namespace turnpike::cli
