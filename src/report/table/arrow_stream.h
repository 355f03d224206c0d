// A table as a stream of Arrow's C interface, which pandas, polars, DuckDB, pyarrow and others read without a copy of
// ours in between. Texts are dictionaries, unless their reader knows none: a batch has all texts so far, so a number
// keeps its meaning.
#pragma once

#include "report/table/arrow_abi.h"
#include "report/table/table.h"

namespace turnpike::report::table {

enum class Texts { kDictionary, kPlain };

// Whoever gets a structure releases it by its `release`, as Arrow says. Its functions may be called from any thread, by
// one at a time; they let no exception out.
void export_schema(const std::vector<Column>& columns, Texts texts, ArrowSchema* out);
void export_batch(Batch& batch, Texts texts, ArrowArray* out);
void export_stream(TableStream table, Texts texts, ArrowArrayStream* out);

}  // namespace turnpike::report::table
