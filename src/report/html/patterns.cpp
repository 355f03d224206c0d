#include "report/html/patterns.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace turnpike::report::html {
namespace {

struct WaitLook {
  Class event_class;
  const char* fill;
  const char* words;
};

constexpr std::array kWaits = {
    WaitLook{Class::kBlocked, "url(#tp-wait)", "the CPU waits"},
    WaitLook{Class::kIdleCopy, "url(#tp-wait)", "GPU idle: copies"},
    WaitLook{Class::kIdleSync, "url(#tp-sync)", "GPU idle: synchronisations"},
    WaitLook{Class::kIdleAllocation, "url(#tp-allocation)", "GPU idle: allocations"},
    WaitLook{Class::kIdleInput, "url(#tp-input)", "GPU idle: next batch"},
    WaitLook{Class::kIdleLaunch, "url(#tp-launch)", "GPU idle: CPU issues work"},
    WaitLook{Class::kIdleUnknown, "url(#tp-unknown)", "GPU idle: other work on the CPU"},
    WaitLook{Class::kIdleBetweenKernels, "url(#tp-between)", "GPU idle: between kernels"},
    WaitLook{Class::kIdleOtherDevice, "url(#tp-other)", "GPU idle: another GPU"},
    WaitLook{Class::kIdleUnrecorded, "url(#tp-unrecorded)", "GPU idle: unrecorded work"},
    WaitLook{Class::kIdleRank, "url(#tp-rank)", "GPU waits for another rank"},
};

// A tile of the pattern, with a tint in which thin shapes show how far it goes.
std::string pattern(const char* id, int size, const char* turn, const char* shapes) {
  return fmt::format(
      "<pattern id=\"{}\" width=\"{}\" height=\"{}\" patternUnits=\"userSpaceOnUse\"{}><g class=\"p-waiting\" "
      "fill=\"#c2501a\"><rect width=\"{}\" height=\"{}\" fill-opacity=\".2\"/>{}</g></pattern>",
      id, size, size, turn, size, size, shapes);
}

}  // namespace

const char* wait_fill(Class event_class) {
  for (const WaitLook& look : kWaits) {
    if (look.event_class == event_class) return look.fill;
  }
  return "";
}

std::string pattern_definitions() {
  constexpr const char* kTurned = " patternTransform=\"rotate(-45)\"";
  return "<svg class=\"sr\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>" +
         pattern("tp-wait", 6, kTurned, "<rect width=\"6\" height=\"3\"/>") +
         pattern("tp-sync", 6, "", "<rect width=\"6\" height=\"2.5\"/>") +
         pattern("tp-input", 6, "",
                 "<rect width=\"2\" height=\"2\"/><rect x=\"3\" y=\"3\" width=\"2\" height=\"2\"/>") +
         pattern("tp-launch", 5, kTurned, "<rect width=\"5\" height=\"1.2\"/>") +
         pattern("tp-unknown", 8, "", "<rect x=\"3\" y=\"3\" width=\"2\" height=\"2\"/>") +
         pattern("tp-allocation", 8, "", "<rect width=\"8\" height=\"1.2\"/><rect width=\"1.2\" height=\"8\"/>") +
         pattern("tp-between", 8, "", "<rect y=\"3\" width=\"8\" height=\"1\"/>") +
         pattern("tp-unrecorded", 8, kTurned, "<rect width=\"4\" height=\"1.2\"/>") +
         pattern("tp-other", 8, "", "<rect x=\"3\" width=\"1\" height=\"8\"/>") +
         pattern("tp-rank", 6, "", "<rect width=\"2.5\" height=\"6\"/>") +
         "<pattern id=\"tp-pageable\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
         "patternTransform=\"rotate(45)\"><rect class=\"p-copy\" fill=\"#1e8569\" width=\"6\" height=\"2.5\"/>"
         "</pattern></defs></svg>\n";
}

std::string wait_legend(const std::set<Class>& classes) {
  std::string html;
  for (const WaitLook& look : kWaits) {
    if (!classes.contains(look.event_class)) continue;
    fmt::format_to(std::back_inserter(html),
                   "{}<svg class=\"sample\" width=\"26\" height=\"12\" aria-hidden=\"true\"><rect class=\"p-wait\" "
                   "fill=\"{}\" width=\"26\" height=\"12\"/></svg> {}",
                   html.empty() ? "" : "; ", look.fill, look.words);
  }
  return html;
}

}  // namespace turnpike::report::html
