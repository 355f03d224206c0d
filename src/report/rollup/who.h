// Who a roll-up is of: columns that say the same in each row, so that rows of many processes stand alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "report/rollup/parquet_file.h"
#include "trace/process.h"

namespace turnpike::report::rollup {

void add_who(ParquetFile& file, const trace::Process& process, const std::string& run, std::int64_t schema,
             std::size_t row_count);

// What the launcher said, e.g. the value of `rank`; nullopt: it said nothing, or no number below 10^9.
std::optional<std::int64_t> number_in_metadata(const trace::Process& process, const std::string& key);

}  // namespace turnpike::report::rollup
