// Knows the names that torch.fx and Inductor give to what they generate.
#include "base/compiled_file.h"

#include <algorithm>

namespace turnpike {
namespace {

// "c" and 51 letters of base 32.
constexpr std::size_t kInductorNameSize = 52;
constexpr std::string_view kSuffix = ".py";

bool is_base32(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7');
}

bool is_inductors(std::string_view file) {
  const auto slash = file.rfind('/');
  if (slash == std::string_view::npos || slash < 3 || !file.ends_with(kSuffix)) return false;
  const std::string_view name = file.substr(slash + 1, file.size() - slash - 1 - kSuffix.size());
  return name.size() == kInductorNameSize && name[0] == 'c' && std::all_of(name.begin(), name.end(), is_base32) &&
         file[slash - 3] == '/' && file.substr(slash - 2, 2) == name.substr(1, 2);
}

}  // namespace

bool is_compiled_file(std::string_view file) {
  return file.starts_with("<eval_with_key>") || file.starts_with("fx_generated_") || is_inductors(file);
}

}  // namespace turnpike
