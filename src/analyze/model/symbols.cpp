// Demangling, and cutting what a reader does not need from the result.
#include "analyze/model/symbols.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace turnpike::analyze {
namespace {

std::string demangle(std::string_view symbol) {
  int status = 0;
  const std::string terminated(symbol);
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(terminated.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name ? std::string(name.get()) : terminated;
}

void erase_all(std::string& text, std::string_view part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part)) text.erase(at, part.size());
}

// What stands outside of every pair of brackets.
std::string outside_brackets(std::string_view name) {
  std::string kept;
  int depth = 0;
  for (const char letter : name) {
    if (letter == '<' || letter == '(' || letter == '[') ++depth;
    if (depth == 0) kept += letter;
    if ((letter == '>' || letter == ')' || letter == ']') && depth > 0) --depth;
  }
  return kept;
}

}  // namespace

std::string short_function_name(std::string_view symbol) {
  if (!symbol.starts_with("_Z")) return std::string(symbol);
  std::string name = demangle(symbol);
  // Operators are named with brackets, and there are few of them on the way to a copy: shown whole.
  if (name.find("operator") != std::string::npos) return name;
  erase_all(name, "(anonymous namespace)::");
  name = outside_brackets(name);
  if (name.ends_with(" const")) name.erase(name.size() - 6);
  // A function template is demangled with its return type in front.
  const auto space = name.rfind(' ');
  if (space != std::string::npos) name.erase(0, space + 1);
  return name.empty() ? std::string(symbol) : name;
}

std::string_view file_name_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace turnpike::analyze
