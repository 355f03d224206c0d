// Finds the record library and names the variables that load it.
#include "cli/recorder_environment.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "guard/process_rules.h"
#include "record/session.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCudaInjection = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";

Result<fs::path> find_library(const char* name, const char* variable) {
  if (const char* named = std::getenv(variable); named != nullptr && *named != '\0') {
    if (access(named, R_OK) == 0) return fs::absolute(named);
    return Error{std::string(variable) + " names " + named + ", which cannot be read. Unset it, or set it to " + name +
                 "."};
  }
  std::error_code failed;
  const fs::path here = fs::read_symlink("/proc/self/exe", failed).parent_path();
  const std::array candidates = {here / name, (here / "../lib/turnpike" / name).lexically_normal()};
  for (const auto& candidate : candidates) {
    if (access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  const std::string what = std::strcmp(name, kRecordLibrary) == 0 ? "the recorder, " : "the guard, ";
  return Error{what + name + ", is neither at " + candidates[0].string() + " nor at " + candidates[1].string() +
               ". Install Turnpike again, or set " + variable + " to its path."};
}

std::vector<Variable> injection_environment(const record::Options& options, const fs::path& library) {
  std::vector<Variable> variables = record::environment_of(options);
  variables.emplace_back(kCudaInjection, library.string());
  variables.emplace_back(kNvtxInjection, library.string());
  return variables;
}

}  // namespace

Result<fs::path> find_record_library() {
  return find_library(kRecordLibrary, "TURNPIKE_RECORD_LIBRARY");
}

Result<fs::path> find_guard_library() {
  return find_library(kGuardLibrary, "TURNPIKE_GUARD_LIBRARY");
}

Status check_no_other_injection(const char* own) {
  for (const char* variable : {kCudaInjection, kNvtxInjection}) {
    const char* other = std::getenv(variable);
    if (other == nullptr || *other == '\0' || fs::path(other).filename() == own) continue;
    return Error{
        std::string("another tool is to be loaded into the program (") + variable + "=" + other +
        "), and the CUDA driver loads only one. Run without that tool (nsys, ncu, a profiling service), or: unset " +
        variable};
  }
  return {};
}

std::vector<Variable> guard_environment(const std::string& rules, const fs::path& library,
                                        const std::string& log_path) {
  return {{kCudaInjection, library.string()}, {guard::kRulesVariable, rules}, {guard::kLogVariable, log_path}};
}

std::vector<Variable> recorder_environment(const record::Options& options, const fs::path& library,
                                           const std::string& status_path,
                                           const std::optional<std::string>& estates_path) {
  std::vector<Variable> variables = injection_environment(options, library);
  variables.emplace_back(TURNPIKE_ENV_STATUS, status_path);
  variables.emplace_back(TURNPIKE_ENV_ESTATES, estates_path);
  variables.emplace_back(TURNPIKE_ENV_CONTROL, std::nullopt);
  return variables;
}

std::vector<Variable> dormant_environment(const fs::path& library, bool is_quiet) {
  record::Options options;
  options.is_quiet = is_quiet;
  std::vector<Variable> variables = injection_environment(options, library);
  for (const char* of_a_run : {TURNPIKE_ENV_STATUS, TURNPIKE_ENV_ESTATES}) {
    variables.emplace_back(of_a_run, std::nullopt);
  }
  variables.emplace_back(TURNPIKE_ENV_CONTROL, "1");
  return variables;
}

}  // namespace turnpike::cli
