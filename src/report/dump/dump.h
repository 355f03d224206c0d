// The contents of a trace file as text, one fact per line: what tests and people with grep read.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/process.h"
#include "trace/record_sink.h"

namespace turnpike::report {

// The first words of lines: process, metadata, string, frame, stack, clock, loss, end, and the kinds of records.
std::span<const std::string_view> dump_kinds() noexcept;

// Prints the file to `out`: who the process is, definitions by id, losses, then the records in the order of the file.
// Only lines of `kinds`; of all when that is empty. A line is its kind and fields `name=value`: numbers, words, or
// quoted text; `unknown` where the file says so. The file is read twice, because a name may stand behind its use;
// memory is that of the definitions. Fails when the file is no trace, or `out` cannot take it. `read`: reads a
// trace file.
using ReadTrace = std::function<Result<trace::Process>(const std::filesystem::path&, trace::RecordSink&)>;
Result<trace::Process> read_trace(const std::filesystem::path& path, trace::RecordSink& sink);
Status dump_file(const std::filesystem::path& path, const std::set<std::string, std::less<>>& kinds, std::FILE* out,
                 const ReadTrace& read = read_trace);

}  // namespace turnpike::report
