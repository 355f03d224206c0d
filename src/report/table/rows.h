// The rows of each table: their columns, and how a process or a report fills them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/report.h"
#include "report/table/batch.h"

namespace turnpike::report::table {

// Rows that are there by number, so that a batch can end after any of them.
struct Rows {
  std::size_t count = 0;
  std::function<void(std::size_t row, Batch& batch)> write{};
};

// What is known of one process, for the rows of any table.
class ProcessRows;

struct TableKind {
  std::string_view name;
  std::vector<Column> (*columns)();
  // Rows of a process, valid as long as it; nullptr: the table is made from the report.
  Rows (*rows_of)(ProcessRows& process);
  bool needs_kernels;
};

const std::vector<TableKind>& table_kinds();
// Of the table `sites`. Refers to the report.
Rows rows_of_sites(const analyze::Report& report);

std::shared_ptr<ProcessRows> make_process_rows(analyze::LoadedProcess loaded);
bool are_kernels_known(const ProcessRows& process);

}  // namespace turnpike::report::table
