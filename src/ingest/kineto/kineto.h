// Reads traces of torch.profiler (Kineto): JSON, plain or gzipped, of any PyTorch from 1.13 on.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "ingest/kineto/byte_source.h"
#include "ingest/kineto/event_stream.h"
#include "trace/process.h"
#include "trace/reader.h"
#include "trace/record_sink.h"

namespace turnpike::ingest {

// The one process of a trace. Memory: a window of 1 MiB, or as much as the longest event needs, and what
// KinetoRecords keeps. Damage, and a tail that is cut off, are losses; fails when there is no event of torch.profiler.
Result<trace::Process> read_kineto(const std::filesystem::path& path, trace::RecordSink& sink,
                                   const trace::Progress& progress = {});

// The same from bytes that come from anywhere. `name`: for messages.
Result<trace::Process> read_kineto(ByteSource& source, const std::string& name, trace::RecordSink& sink,
                                   const trace::Progress& progress = {},
                                   std::size_t window_bytes = EventStream::kWindowBytes,
                                   std::size_t max_event_bytes = EventStream::kMaxEventBytes);

}  // namespace turnpike::ingest
