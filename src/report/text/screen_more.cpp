// What else to ask for.
#include "report/text/screen_parts.h"
#include "report/text/sections.h"

namespace turnpike::report {

void print_screen_more(const analyze::Report&, Page& page) {
  std::string text;
  for (const NamedSection& section : all_sections()) text += std::string("--") + section.name + " ";
  page.paragraph("MORE  ", text + "--all; --html FILE; turnpike whatif RUN", Style::kNote);
}

}  // namespace turnpike::report
