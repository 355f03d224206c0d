// Paths cut to what tells files apart, for pages that leave the machine.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/compare/compare.h"
#include "analyze/report.h"

namespace turnpike::report::html {

class Redactor {
 public:
  // Cuts nothing.
  Redactor() = default;
  // Files of packages keep what stands behind "site-packages/"; files of the program what differs between them; of all
  // others only the name stays.
  static Redactor for_report(const analyze::Report& report) { return for_reports({&report}); }
  // The same files of several runs keep the same names.
  static Redactor for_reports(std::initializer_list<const analyze::Report*> reports);

  bool is_active() const { return is_active_; }
  std::string path(std::string_view path) const;
  // Cuts every absolute path in a text.
  std::string text(std::string_view given) const;
  // Of "function (file:line)".
  void apply(std::vector<std::string>& stack) const;
  // In all of its texts. Names of machines go too.
  void apply(analyze::Report& report) const;
  void apply(analyze::Comparison& comparison) const;

 private:
  void apply(analyze::Where& where) const;
  void apply(analyze::CallSite& site) const;
  void apply(analyze::Finding& finding) const;

  bool is_active_ = false;
  std::string root_;  // the folder that the program's files share, ending in a slash; "" if they share none
};

}  // namespace turnpike::report::html
