// The file of a module, by the name that the loader knows it by.
#include "record/stacks/loaded_module.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace turnpike::record {
namespace {

namespace fs = std::filesystem;

std::string file_named(const std::string& path) {
  LoadedModule module;
  module.path = path;
  return file_of(module);
}

class LoadedModules : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "turnpike-module-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = fs::canonical(name);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(LoadedModules, AreAbsoluteFilesWhereTheirNamesLeadToOne) {
  std::ofstream(folder_ / "lib.so.1");
  fs::create_symlink("lib.so.1", folder_ / "lib.so");
  EXPECT_EQ(file_named((folder_ / "lib.so").string()), (folder_ / "lib.so.1").string());
  EXPECT_EQ(file_named((folder_ / "." / "lib.so.1").string()), (folder_ / "lib.so.1").string());
}

TEST_F(LoadedModules, KeepNamesThatLeadNowhere) {
  const std::string missing = (folder_ / "gone.so").string();
  EXPECT_EQ(file_named(missing), missing);
  EXPECT_EQ(file_named("linux-vdso.so.1"), "linux-vdso.so.1");
}

TEST_F(LoadedModules, WithoutANameAreTheProgram) {
  EXPECT_EQ(file_named(""), fs::read_symlink("/proc/self/exe").string());
}

}  // namespace
}  // namespace turnpike::record
