// Small files, as a whole and by their first line.
#include "base/file_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace turnpike {
namespace {

class FileText : public testing::Test {
 protected:
  ~FileText() override { ::unlink(path_.c_str()); }
  void write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }

  const std::string path_ = testing::TempDir() + "file_text_" + std::to_string(::getpid());
};

TEST_F(FileText, IsAllOfIt) {
  const std::string text = std::string(10'000, 'x') + "\n\0\xff end";
  write(text);
  EXPECT_EQ(file_text(path_), text);
  EXPECT_EQ(first_line_of(path_), std::string(10'000, 'x'));
}

TEST_F(FileText, IsThatOfTheSystemToo) {
  // Its size is said to be 0.
  EXPECT_TRUE(file_text("/proc/self/cmdline").find("base_test") != std::string::npos);
}

TEST_F(FileText, IsEmptyWithoutAFile) {
  EXPECT_EQ(file_text(path_), "");
  EXPECT_EQ(first_line_of(path_), "");
  EXPECT_EQ(file_text("/proc"), "") << "a folder";
}

TEST_F(FileText, FirstLineMayBeAll) {
  write("no end");
  EXPECT_EQ(first_line_of(path_), "no end");
  write("\nsecond");
  EXPECT_EQ(first_line_of(path_), "");
}

}  // namespace
}  // namespace turnpike
