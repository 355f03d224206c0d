// Exports a run for chrome://tracing and ui.perfetto.dev: threads, streams, copies, NVTX ranges, what each GPU waited
// for, and arrows from each call to the work it caused.
#pragma once

#include <memory>
#include <vector>

#include "report/chrome/index.h"
#include "report/chrome/layout.h"
#include "report/chrome/trace_event_writer.h"

namespace turnpike::report {

// Each file is read twice: into a ChromeIndex, then, with all indexes known, into the sink that second_pass() gives.
class ChromeExporter {
 public:
  // Writes the head of the file. `indexes` are finished, one per file, and outlive this.
  ChromeExporter(const std::vector<ChromeIndex>& indexes, TraceEventWriter::Output output);
  ChromeExporter(const ChromeExporter&) = delete;
  ChromeExporter& operator=(const ChromeExporter&) = delete;

  // For the second reading of file `i`; not longer than this. A record that was appended since the first is left out.
  std::unique_ptr<trace::RecordSink> second_pass(std::size_t i);
  void close() { writer_.close(); }

 private:
  const std::vector<ChromeIndex>& indexes_;
  ChromeLayout layout_;
  TraceEventWriter writer_;
};

}  // namespace turnpike::report
