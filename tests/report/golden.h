// Texts that are compared with files of golden/.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace turnpike::report {

// To accept a change, run the test with TURNPIKE_ACCEPT_GOLDEN=1 and look at the difference.
inline void expect_golden(const std::string& text, const std::string& name) {
  const std::string path = std::string(TURNPIKE_GOLDEN) + "/" + name;
  if (std::getenv("TURNPIKE_ACCEPT_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path;
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace turnpike::report
