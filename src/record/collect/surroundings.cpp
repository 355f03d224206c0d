// What stands between a process and its GPU.
#include "record/collect/surroundings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file_text.h"
#include "cuda/cupti.h"

namespace turnpike::record {
namespace {

bool is_there(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

bool is_of_root_or(uid_t user, const std::string& path) {
  struct stat about{};
  return stat(path.c_str(), &about) == 0 && (about.st_uid == 0 || about.st_uid == user);
}

}  // namespace

std::string wsl_version(const std::string& root) {
  // The first WSL has no GPU. A kernel that the user has built may have any name: then the device tells.
  const std::string release = file_text(root + "/proc/sys/kernel/osrelease");
  const bool is_microsofts = release.find("microsoft") != std::string::npos;
  return is_microsofts || is_there(root + "/dev/dxg") ? "2" : "";
}

bool is_mps_client(const std::string& root, uid_t user) {
  const char* const named = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string directory = named == nullptr || *named == '\0' ? "/tmp/nvidia-mps" : named;
  return is_of_root_or(user, root + directory) && is_of_root_or(user, root + directory + "/control");
}

bool may_kernels_hang_in_mps(unsigned int cupti_version, int driver_version) {
  // CUPTI counted its interfaces up to 12.x (28), and is numbered as CUDA since 13.0.
  constexpr int kDriver130 = 13000;
  return cupti_version < cuda::kVersionOfCuda130 || driver_version < kDriver130;
}

}  // namespace turnpike::record
