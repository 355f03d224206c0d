// Hands each record to two receivers, so that a file which both need is read once.
#pragma once

#include "trace/record_sink.h"

namespace turnpike::trace {

class TwoSinks final : public RecordSink {
 public:
  // Both outlive this.
  TwoSinks(RecordSink& first, RecordSink& second) : first_(first), second_(second) {}

  void on(const CallRecord& record) override { pass(record); }
  void on(const MemcpyRecord& record) override { pass(record); }
  void on(const MemsetRecord& record) override { pass(record); }
  void on(const KernelRecord& record) override { pass(record); }
  void on(const RangeRecord& record) override { pass(record); }
  void on(const DeviceRecord& record) override { pass(record); }
  void on(const ThreadRecord& record) override { pass(record); }
  void on(const StreamRecord& record) override { pass(record); }
  void on(const MigrationRecord& record) override { pass(record); }
  void on(const GraphNodeRecord& record) override { pass(record); }
  void on(const ContentRecord& record) override { pass(record); }
  void on(const MemoryRecord& record) override { pass(record); }
  void on(const SampleRecord& record) override { pass(record); }
  void on(const LinkTrafficRecord& record) override { pass(record); }

 private:
  template <typename Record>
  void pass(const Record& record) {
    first_.on(record);
    second_.on(record);
  }

  RecordSink& first_;
  RecordSink& second_;
};

}  // namespace turnpike::trace
