// Receives the records of one process, in the order of the source, which is not the order of time.
#pragma once

#include "trace/format.h"

namespace turnpike::trace {

// The references are valid during the call only. Ids may be defined later: look them up when reading has ended.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void on(const CallRecord&) {}
  virtual void on(const MemcpyRecord&) {}
  virtual void on(const MemsetRecord&) {}
  virtual void on(const KernelRecord&) {}
  virtual void on(const RangeRecord&) {}
  virtual void on(const DeviceRecord&) {}
  virtual void on(const ThreadRecord&) {}
  virtual void on(const StreamRecord&) {}
  virtual void on(const MigrationRecord&) {}
  virtual void on(const GraphNodeRecord&) {}
  virtual void on(const ContentRecord&) {}
  virtual void on(const MemoryRecord&) {}
  virtual void on(const SampleRecord&) {}
  virtual void on(const LinkTrafficRecord&) {}
};

}  // namespace turnpike::trace
