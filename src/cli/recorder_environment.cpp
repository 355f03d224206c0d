// Finds the record library and names the variables that load it.
#include "cli/recorder_environment.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "record/session.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryName = "libturnpike_record.so";
constexpr const char* kLibraryVariable = "TURNPIKE_RECORD_LIBRARY";
constexpr const char* kCudaInjection = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";

}  // namespace

Result<fs::path> find_record_library() {
  if (const char* named = std::getenv(kLibraryVariable); named != nullptr && *named != '\0') {
    if (access(named, R_OK) == 0) return fs::absolute(named);
    return Error{std::string(kLibraryVariable) + " names " + named + ", which cannot be read. Unset it, or set it to " +
                 kLibraryName + "."};
  }
  std::error_code failed;
  const fs::path here = fs::read_symlink("/proc/self/exe", failed).parent_path();
  const std::array candidates = {here / kLibraryName, (here / "../lib/turnpike" / kLibraryName).lexically_normal()};
  for (const auto& candidate : candidates) {
    if (access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  return Error{std::string("the recorder, ") + kLibraryName + ", is neither at " + candidates[0].string() + " nor at " +
               candidates[1].string() + ". Install Turnpike again, or set " + kLibraryVariable + " to its path."};
}

Status check_no_other_injection() {
  for (const char* variable : {kCudaInjection, kNvtxInjection}) {
    const char* other = std::getenv(variable);
    if (other == nullptr || *other == '\0' || fs::path(other).filename() == kLibraryName) continue;
    return Error{
        std::string("another tool is to be loaded into the program (") + variable + "=" + other +
        "), and the CUDA driver loads only one. Run without that tool (nsys, ncu, a profiling service), or: unset " +
        variable};
  }
  return {};
}

std::vector<Variable> recorder_environment(const record::Options& options, const fs::path& library,
                                           const std::string& status_path) {
  std::vector<Variable> variables = record::environment_of(options);
  variables.emplace_back(kCudaInjection, library.string());
  variables.emplace_back(kNvtxInjection, library.string());
  variables.emplace_back(TURNPIKE_ENV_STATUS, status_path);
  return variables;
}

}  // namespace turnpike::cli
