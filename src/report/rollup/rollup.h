// A roll-up: what one process did, minute by minute, in a Parquet file of some kilobytes. Those of many processes
// together are one small table for DuckDB and its like. docs/rollup.md describes the columns.
//
// Its sums are those of the report: the same places, the same costs.
#pragma once

#include <string>

#include "analyze/analyze.h"

namespace turnpike::report::rollup {

// The bytes of the file. `run`: the name of the run that the process belongs to. Memory: that of the process.
std::string rollup_of(const analyze::LoadedProcess& loaded, const std::string& run);

}  // namespace turnpike::report::rollup
