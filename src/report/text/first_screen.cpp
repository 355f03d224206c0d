#include "report/text/first_screen.h"

#include <algorithm>

#include "report/text/screen_parts.h"

namespace turnpike::report {

void print_first_screen(const analyze::Report& report, Page& page) {
  print_screen_head(report, page);
  page.blank();
  print_screen_verdict(report, page);
  print_screen_time(report, page);
  Page end(page.width(), page.has_colour());
  print_screen_transfers(report, end);
  print_screen_more(report, end);
  // The findings have what the others leave.
  const std::size_t taken = page.line_count() + end.line_count();
  print_screen_findings(report, kScreenLines - std::min(taken, kScreenLines), page);
  page.append(end);
}

}  // namespace turnpike::report
