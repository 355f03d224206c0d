// Every name of the page once.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace turnpike::report::html {

class Strings {
 public:
  // As shown().
  std::uint32_t number_of(const std::string& text);
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> all_;
};

}  // namespace turnpike::report::html
