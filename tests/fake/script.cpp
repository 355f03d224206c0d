// Reads the script of the fake CUPTI from the environment.
#include "script.h"

#include <cstdlib>
#include <sstream>

namespace turnpike::fake {
namespace {

std::optional<std::uint64_t> number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

Script read() {
  Script made;
  if (const char* text = std::getenv("FAKE_CUPTI_FAIL")) {
    std::istringstream entries(text);
    for (std::string entry; std::getline(entries, entry, ',');) {
      const std::size_t colon = entry.find(':');
      made.failures[entry.substr(0, colon)] = colon == std::string::npos
                                                  ? CUPTI_ERROR_UNKNOWN
                                                  : static_cast<CUptiResult>(std::stoi(entry.substr(colon + 1)));
    }
  }
  made.version = static_cast<std::uint32_t>(number("FAKE_CUPTI_VERSION").value_or(made.version));
  made.grow_bytes = number("FAKE_CUPTI_GROW").value_or(0);
  made.unknown_every = number("FAKE_CUPTI_UNKNOWN").value_or(0);
  made.drop_every = number("FAKE_CUPTI_DROP").value_or(0);
  made.zero_times_every = number("FAKE_CUPTI_ZERO_TIMES").value_or(0);
  made.reorder_seed = number("FAKE_CUPTI_REORDER");
  made.delay_ms = number("FAKE_CUPTI_DELAY_MS").value_or(0);
  made.period_ms = number("FAKE_CUPTI_PERIOD_MS").value_or(made.period_ms);
  made.buffer_records = number("FAKE_CUPTI_BUFFER_RECORDS").value_or(0);
  made.question_ms = number("FAKE_CUPTI_QUESTION_MS").value_or(0);
  made.is_per_thread = number("FAKE_CUPTI_PER_THREAD").value_or(0) != 0;
  made.keeps_buffers = number("FAKE_CUPTI_KEEP").value_or(0) != 0;
  made.keeps_until_full = number("FAKE_CUPTI_KEEP_UNTIL_FULL").value_or(0) != 0;
  made.enters_loader = number("FAKE_CUPTI_ENTERS_LOADER").value_or(0) != 0;
  made.has_raw_clock = number("FAKE_CUPTI_RAW_CLOCK").has_value();
  made.tsc_after = number("FAKE_CUPTI_TSC_AFTER");
  if (const char* text = std::getenv("FAKE_CUPTI_REPORT")) made.report = text;
  return made;
}

}  // namespace

CUptiResult Script::failure(const char* function) const {
  if (failures.empty()) return CUPTI_SUCCESS;
  const auto found = failures.find(function);
  return found == failures.end() ? CUPTI_SUCCESS : found->second;
}

CUptiResult Script::failure(const char* function, std::uint64_t argument) const {
  if (failures.empty()) return CUPTI_SUCCESS;
  const auto found = failures.find(std::string(function) + "=" + std::to_string(argument));
  return found == failures.end() ? failure(function) : found->second;
}

const Script& script() {
  static const Script& instance = *new Script(read());
  return instance;
}

}  // namespace turnpike::fake
