// WSL2 and MPS are known by their files, which a test puts below a folder of its own.
#include "record/collect/surroundings.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace turnpike::record {
namespace {

class Surroundings : public testing::Test {
 protected:
  Surroundings() {
    std::string name = std::filesystem::temp_directory_path() / "turnpike-root-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
  }
  ~Surroundings() override {
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    std::filesystem::remove_all(root_);
  }
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
};

TEST_F(Surroundings, WslIsKnownByItsKernelOrItsDevice) {
  EXPECT_EQ(wsl_version(root_), "");
  put("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  EXPECT_EQ(wsl_version(root_), "");
  put("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n");
  EXPECT_EQ(wsl_version(root_), "2");
  put("/proc/sys/kernel/osrelease", "6.6.1-of-my-own\n");
  EXPECT_EQ(wsl_version(root_), "");
  put("/dev/dxg", "");
  EXPECT_EQ(wsl_version(root_), "2");
}

TEST_F(Surroundings, MpsIsKnownByTheControlOfItsFolder) {
  EXPECT_FALSE(is_mps_client(root_));
  put("/tmp/nvidia-mps/log", "");
  EXPECT_FALSE(is_mps_client(root_));
  put("/tmp/nvidia-mps/control", "");
  EXPECT_TRUE(is_mps_client(root_));
}

TEST_F(Surroundings, MpsIsLookedForWhereTheVariableSays) {
  put("/run/mine/control", "");
  EXPECT_FALSE(is_mps_client(root_));
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/run/mine", 1);
  EXPECT_TRUE(is_mps_client(root_));
  // As jobs are kept away from the service.
  put("/tmp/nvidia-mps/control", "");
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/nowhere", 1);
  EXPECT_FALSE(is_mps_client(root_));
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", "", 1);
  EXPECT_TRUE(is_mps_client(root_));
}

TEST_F(Surroundings, MpsOfAnotherUserIsNotThisProcesss) {
  put("/tmp/nvidia-mps/control", "");
  const bool is_root = ::geteuid() == 0;
  const uid_t owner = is_root ? 65534 : ::geteuid();
  if (is_root) {
    ASSERT_EQ(::chown((root_ + "/tmp/nvidia-mps/control").c_str(), owner, owner), 0);
    EXPECT_FALSE(is_mps_client(root_)) << "another's control in a folder of root";
    ASSERT_EQ(::chown((root_ + "/tmp/nvidia-mps").c_str(), owner, owner), 0);
  }
  EXPECT_TRUE(is_mps_client(root_, owner));
  EXPECT_FALSE(is_mps_client(root_, owner + 1));
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps", 1);
  EXPECT_FALSE(is_mps_client(root_, owner + 1));
}

TEST_F(Surroundings, KernelsAreSafeInMpsFromCuda13On) {
  EXPECT_FALSE(may_kernels_hang_in_mps(130000, 13000));
  EXPECT_FALSE(may_kernels_hang_in_mps(130100, 13020));
  EXPECT_TRUE(may_kernels_hang_in_mps(28, 13000));
  EXPECT_TRUE(may_kernels_hang_in_mps(130000, 12080));
  EXPECT_TRUE(may_kernels_hang_in_mps(130000, 0));
}

}  // namespace
}  // namespace turnpike::record
