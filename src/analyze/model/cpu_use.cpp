// Reads the metadata key `cpu`.
#include "analyze/model/cpu_use.h"

#include <cmath>
#include <cstdio>

#include "analyze/model/metadata_words.h"

namespace turnpike::analyze {

std::optional<CpuUse> cpu_use_of(const trace::Process& process) {
  std::optional<double> cores;
  std::optional<double> busy;
  for_each_pair(value_of(process, "cpu"), [&](std::string_view key, std::string_view value) {
    if (key == "cores") cores = number_in<double>(value);
    if (key == "busy") busy = number_in<double>(value);
  });
  if (!cores || !busy || !std::isfinite(*cores) || !(*busy >= 0 && *busy <= *cores)) return std::nullopt;
  return CpuUse{*cores, *busy};
}

std::string idle_cores_text(const CpuUse& use) {
  char text[96];
  std::snprintf(text, sizeof text, "of %g CPU cores, %.1f had nothing to do", use.cores, use.idle());
  return text;
}

}  // namespace turnpike::analyze
