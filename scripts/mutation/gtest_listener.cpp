// Writes the mutants that each test reaches to a file of its own: MUTANT_REACHED followed by the test's name. What a
// suite's SetUpTestSuite() reaches goes to one file for all tests of the suite: "suite:" and its name.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "turnpike_mutant.h"

namespace {

class Listener : public testing::EmptyTestEventListener {
 public:
  explicit Listener(std::string prefix) : prefix_(std::move(prefix)) {}

  void OnTestSuiteStart(const testing::TestSuite& suite) override { begin(std::string("suite:") + suite.name()); }
  void OnTestStart(const testing::TestInfo& test) override {
    begin(std::string(test.test_suite_name()) + "." + test.name());
  }
  void OnTestEnd(const testing::TestInfo& test) override { begin(std::string("suite:") + test.test_suite_name()); }

 private:
  void begin(std::string name) {
    for (char& letter : name) {
      if (letter == '/') letter = '%';
    }
    turnpike_mutant_switch::begin((prefix_ + name).c_str());
  }

  std::string prefix_;
};

const bool kIsListening = [] {
  const char* prefix = std::getenv("MUTANT_REACHED");
  if (prefix != nullptr) testing::UnitTest::GetInstance()->listeners().Append(new Listener(prefix));
  return true;
}();

}  // namespace
