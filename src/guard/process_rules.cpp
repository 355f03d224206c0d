#include "guard/process_rules.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/shared_memory.h"
#include "base/units.h"
#include "guard/threads.h"

namespace turnpike::guard {
namespace {

iovec part(std::string_view text) noexcept {
  return {const_cast<char*>(text.data()), text.size()};
}

// Of what was logged, how often it happened; the first time of each was said when it did.
void summarise() noexcept {
  try {
    const auto scope = everywhere();
    if (scope == nullptr) return;
    std::string text;
    for (const LogRow* row : scope->log_table().rows()) {
      if (row->count == 1) continue;
      text += std::string(kPrefix) + std::to_string(row->count) + " x " + what_happened(row->first);
      if (row->bytes != 0) text += ", " + size_text(row->bytes) + " in all";
      text += '\n';
    }
    std::fputs(text.c_str(), stderr);
  } catch (...) {
  }
}

void tell_matched(const Allowance& allowance) noexcept {
  add_to_log(kAllowedBy, allowance.text);
}

}  // namespace

void add_to_log(std::string_view line, std::string_view more) noexcept {
  const char* path = std::getenv(kLogVariable);
  if (path == nullptr || *path == '\0') return;
  const int file = open_shared_memory(path, kGuardMemory, O_WRONLY | O_APPEND);
  if (file < 0) return;
  // A line of several processes at once is written whole.
  const std::array<iovec, 3> parts = {part(line), part(more), part("\n")};
  const auto written = writev(file, parts.data(), parts.size());
  static_cast<void>(written);
  close(file);
}

void say_for_process(const std::string& line) noexcept {
  std::fprintf(stderr, "%s\n", line.c_str());
  add_to_log(line);
}

void enter_process_rules() noexcept {
  static std::atomic<bool> is_entered{false};
  const char* text = std::getenv(kRulesVariable);
  if (text == nullptr || *text == '\0' || is_entered.exchange(true)) return;
  try {
    auto rules = prepare_rules(text);
    if (!rules) {
      std::fprintf(stderr, "%snothing is guarded: %s: %s\n", std::string(kPrefix).c_str(), kRulesVariable,
                   rules.error().message.c_str());
      return;
    }
    (*rules)->tell_matched_to(tell_matched);
    static auto& log = *new LogTable;  // until the process has ended
    enter_everywhere(std::make_shared<Scope>(std::move(*rules), log));
    std::atexit(summarise);
  } catch (...) {
  }
}

}  // namespace turnpike::guard
