// A run as tables: one row for each transfer, synchronisation, kernel and so on. docs/howto/tables.md describes the
// columns.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/analyze.h"
#include "base/result.h"
#include "report/table/batch.h"

namespace turnpike::report::table {

// transfers, syncs, sites, kernels, steps, idle, allocations
const std::vector<std::string_view>& table_names();

// Fails when there is no such table.
Result<std::vector<Column>> columns_of(std::string_view name);

// Rows of several processes behind each other, each with its times.
inline constexpr std::size_t kBatchRows = 65536;

// A table while it is read, process by process: memory is that of a report, and of one batch. Not safe for several
// threads.
class TableStream {
 public:
  // Fails when there is no such table, or an input holds no run.
  static Result<TableStream> open(std::string_view name, const std::vector<std::filesystem::path>& inputs,
                                  analyze::FileReader reader, std::size_t batch_rows = kBatchRows);
  TableStream(TableStream&&) noexcept;
  TableStream& operator=(TableStream&&) noexcept;
  ~TableStream();

  const std::vector<Column>& columns() const;
  // The next rows, valid until the next call; nullptr: there are no more. Fails when a file cannot be read, and when
  // the table is about kernels, which were not recorded: no rows would mean that there were none.
  Result<Batch*> next();
  // Whether next() failed because they were not recorded.
  bool lacks_kernels() const;

 private:
  struct State;
  explicit TableStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace turnpike::report::table
