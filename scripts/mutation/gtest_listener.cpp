// Writes the mutants that each test reaches to a file of its own: MUTANT_REACHED followed by the test's name.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "turnpike_mutant.h"

namespace {

class Listener : public testing::EmptyTestEventListener {
 public:
  explicit Listener(std::string prefix) : prefix_(std::move(prefix)) {}

  void OnTestStart(const testing::TestInfo& test) override {
    std::string name = std::string(test.test_suite_name()) + "." + test.name();
    for (char& letter : name) {
      if (letter == '/') letter = '%';
    }
    turnpike_mutant_switch::begin((prefix_ + name).c_str());
  }

 private:
  std::string prefix_;
};

const bool kIsListening = [] {
  const char* prefix = std::getenv("MUTANT_REACHED");
  if (prefix != nullptr) testing::UnitTest::GetInstance()->listeners().Append(new Listener(prefix));
  return true;
}();

}  // namespace
