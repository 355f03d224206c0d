// Views of the report by call path: as a tree, and as tables by a key.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analyze/report.h"
#include "report/text/terminal.h"

namespace turnpike::report {

// What rows of a table of paths have in common.
enum class PathKey { kPath, kLine, kLibrary, kOperator, kModule };
struct NamedPathKey {
  PathKey key;
  const char* name;     // as `turnpike report --by` takes it
  const char* meaning;  // of a row
};
std::span<const NamedPathKey> all_path_keys();
std::optional<PathKey> path_key_named(std::string_view name);

// Only the paths through a line ("train.py:44", "rpn.py:277") or a library ("torchvision").
analyze::CallPaths paths_under(analyze::CallPaths paths, std::string_view place);

// The cost of a line is that of all that it led to. Lines of one library that only lead to the next are one line.
std::string to_tree_text(const analyze::CallPaths& paths, const TextOptions& options);
std::string to_table_text(const analyze::CallPaths& paths, PathKey key, const TextOptions& options);

}  // namespace turnpike::report
