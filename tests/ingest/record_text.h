// Every field of a record as one line, so that a test compares all of them and names the one that differs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "trace/format.h"
#include "trace/process.h"

namespace turnpike::ingest {

// "name=value ", "?" for what is unknown.
template <typename Value>
std::string field(std::string_view name, Value value) {
  std::string text;
  if constexpr (std::is_enum_v<Value>) {
    text = std::to_string(static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_signed_v<Value>) {
    text = value == trace::kUnknownTime ? "?" : std::to_string(value);
  } else {
    const bool is_unknown = (sizeof value == 4 && value == trace::kUnknownId) || value == trace::kUnknownSize;
    text = is_unknown ? "?" : std::to_string(value);
  }
  return std::string(name) + '=' + text + ' ';
}

template <typename Record>
std::string header_text(const Record& record, trace::RecordKind kind) {
  const bool is_right = record.header.kind == kind && record.header.bytes == sizeof record;
  return is_right ? "" : "WRONG HEADER ";
}

// The device, the times and the call of what a device did.
template <typename Record>
std::string work_text(const Record& record) {
  return field("device", record.device) + field("start", record.start_ns) + field("end", record.end_ns) +
         field("correlation", record.correlation) + field("context", record.context) + field("stream", record.stream) +
         field("node", record.graph_node);
}

inline std::string text_of(const trace::CallRecord& record, const trace::Process& process) {
  return header_text(record, trace::RecordKind::kCall) + process.string(record.name) + ' ' +
         field("thread", record.thread) + field("start", record.start_ns) + field("end", record.end_ns) +
         field("correlation", record.correlation) + field("kind", record.kind) + field("api", record.api) +
         field("role", record.autograd_role) + field("sequence", record.autograd_sequence) +
         field("captured", record.is_captured) + field("result", record.result) + field("context", record.context) +
         field("stream", record.stream) + field("device", record.device) + field("bytes", record.bytes) +
         field("dst", record.dst) + field("src", record.src) + field("object", record.object);
}

inline std::string text_of(const trace::MemcpyRecord& record, const trace::Process&) {
  return header_text(record, trace::RecordKind::kMemcpy) + work_text(record) + field("bytes", record.bytes) +
         field("kind", record.copy_kind) + field("src", record.src_kind) + field("dst", record.dst_kind) +
         field("async", record.is_async) + field("from", record.src_device) + field("to", record.dst_device) +
         field("graph", record.graph) + field("copies", record.copy_count);
}

inline std::string text_of(const trace::MemsetRecord& record, const trace::Process&) {
  return header_text(record, trace::RecordKind::kMemset) + work_text(record) + field("bytes", record.bytes) +
         field("value", record.value) + field("memory", record.memory_kind);
}

inline std::string text_of(const trace::KernelRecord& record, const trace::Process& process) {
  return header_text(record, trace::RecordKind::kKernel) + process.string(record.name) + ' ' + work_text(record) +
         field("graph", record.graph);
}

inline std::string text_of(const trace::RangeRecord& record, const trace::Process& process) {
  return header_text(record, trace::RecordKind::kRange) + process.string(record.name) + ' ' +
         field("thread", record.thread) + field("end_thread", record.end_thread) + field("start", record.start_ns) +
         field("end", record.end_ns) + field("color", record.color) + "domain=" + process.string(record.domain) + ' ';
}

inline std::string text_of(const trace::DeviceRecord& record, const trace::Process& process) {
  return header_text(record, trace::RecordKind::kDevice) + process.string(record.name) + ' ' +
         field("device", record.device) + field("multiprocessors", record.multiprocessors) +
         field("memory", record.memory_bytes) + field("domain", record.pci_domain) + field("bus", record.pci_bus) +
         field("slot", record.pci_device) + field("numa", record.numa_node);
}

inline std::string text_of(const trace::ThreadRecord& record, const trace::Process& process) {
  return header_text(record, trace::RecordKind::kThread) + process.string(record.name) + ' ' +
         field("thread", record.thread);
}

inline std::string text_of(const trace::StreamRecord& record, const trace::Process& process) {
  return header_text(record, trace::RecordKind::kStream) + process.string(record.name) + ' ' +
         field("device", record.device) + field("context", record.context) + field("stream", record.stream) +
         field("default", record.is_default);
}

inline std::string text_of(const trace::MigrationRecord& record, const trace::Process&) {
  return header_text(record, trace::RecordKind::kMigration) + field("device", record.device) +
         field("start", record.start_ns) + field("end", record.end_ns) + field("bytes", record.bytes) +
         field("address", record.address) + field("kind", record.kind);
}

inline std::string text_of(const trace::GraphNodeRecord& record, const trace::Process&) {
  return header_text(record, trace::RecordKind::kGraphNode) + field("node", record.node) +
         field("cloned_from", record.cloned_from) + (record.stack == trace::kNoId ? "no stack " : "stack ");
}

inline std::string text_of(const trace::SampleRecord& record, const trace::Process&) {
  return header_text(record, trace::RecordKind::kSample) + field("thread", record.thread) +
         field("time", record.time_ns) + (record.stack == trace::kNoId ? "no stack " : "stack ");
}

template <typename Record>
std::vector<std::string> texts_of(const std::vector<Record>& records, const trace::Process& process) {
  std::vector<std::string> texts;
  for (const Record& record : records) texts.push_back(text_of(record, process));
  return texts;
}

}  // namespace turnpike::ingest
