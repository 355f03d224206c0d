// mkdir decides who is first.
#include "record/kept_run.h"

#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <string_view>

namespace turnpike::record {
namespace {

constexpr std::string_view kExtension = ".tpk";
constexpr std::string_view kBeside = ".new-";  // cli/run_directory

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

std::string kept_run_path(const std::string& run, std::uint64_t number) {
  std::string name = without_slashes(run);
  const auto beside = name.rfind(kBeside);
  if (beside != std::string::npos &&
      name.find_first_not_of("0123456789", beside + kBeside.size()) == std::string::npos) {
    name = without_slashes(name.substr(0, beside));
  }
  if (name.size() > kExtension.size() && name.ends_with(kExtension)) name.resize(name.size() - kExtension.size());
  return name + "-" + std::to_string(number) + std::string(kExtension);
}

std::uint64_t claim_kept_run(const std::string& run, std::uint64_t number) {
  constexpr int kAttempts = 10'000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (mkdir(kept_run_path(run, ++number).c_str(), 0777) == 0) return number;
    if (errno != EEXIST) return 0;
  }
  return 0;
}

void raise_keep_number(TurnpikeStatus& status, std::uint64_t number) noexcept {
  const std::atomic_ref kept(status.keep_number);
  std::uint64_t before = kept.load(std::memory_order_relaxed);
  while (before < number && !kept.compare_exchange_weak(before, number, std::memory_order_acq_rel)) {
  }
}

}  // namespace turnpike::record
