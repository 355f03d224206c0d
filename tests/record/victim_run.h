// Runs a victim in a process of its own, recorded or not, and reads what was recorded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "record/session.h"
#include "trace/losses.h"
#include "trace/process.h"
#include "trace/record_sink.h"

namespace turnpike::record_tests {

using Variables = std::map<std::string, std::string>;

// A folder that is deleted with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// All that one process wrote.
struct Trace : trace::RecordSink {
  trace::Process process;
  std::vector<trace::CallRecord> calls;
  std::vector<trace::MemcpyRecord> copies;
  std::vector<trace::MemsetRecord> memsets;
  std::vector<trace::KernelRecord> kernels;
  std::vector<trace::RangeRecord> ranges;
  std::vector<trace::DeviceRecord> devices;
  std::vector<trace::ThreadRecord> threads;
  std::vector<trace::StreamRecord> streams;
  std::vector<trace::MigrationRecord> migrations;
  std::vector<trace::GraphNodeRecord> graph_nodes;
  std::vector<trace::ContentRecord> contents;
  std::vector<trace::MemoryRecord> memories;
  std::vector<trace::SampleRecord> samples;

  void on(const trace::CallRecord& record) override { calls.push_back(record); }
  void on(const trace::MemcpyRecord& record) override { copies.push_back(record); }
  void on(const trace::MemsetRecord& record) override { memsets.push_back(record); }
  void on(const trace::KernelRecord& record) override { kernels.push_back(record); }
  void on(const trace::RangeRecord& record) override { ranges.push_back(record); }
  void on(const trace::DeviceRecord& record) override { devices.push_back(record); }
  void on(const trace::ThreadRecord& record) override { threads.push_back(record); }
  void on(const trace::StreamRecord& record) override { streams.push_back(record); }
  void on(const trace::MigrationRecord& record) override { migrations.push_back(record); }
  void on(const trace::GraphNodeRecord& record) override { graph_nodes.push_back(record); }
  void on(const trace::ContentRecord& record) override { contents.push_back(record); }
  void on(const trace::MemoryRecord& record) override { memories.push_back(record); }
  void on(const trace::SampleRecord& record) override { samples.push_back(record); }

  std::uint64_t loss(trace::Loss loss) const;
  // Every loss with its count, for messages: empty when nothing was lost.
  std::string losses() const;
  std::string metadata(const std::string& key) const;
  std::vector<trace::MemcpyRecord> copies_of(std::uint64_t bytes) const;
  std::vector<trace::CallRecord> calls_named(const std::string& name) const;
  const trace::CallRecord* call_of(std::uint32_t correlation) const;
};

// Throws std::runtime_error when the file is no trace.
Trace read_trace(const std::filesystem::path& file);

struct Outcome {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out;
  std::string err;
  std::int64_t peak_memory_bytes = 0;
};

// Options of a run: what the victim's environment and limits are.
struct Setting {
  bool is_recorded = true;
  bool is_settled = true;                     // by estates, as `turnpike record` offers them
  std::string program = {};                   // instead of the victim, e.g. a Python
  Variables variables = {};                   // added to the environment; an empty value removes one
  std::int64_t file_limit_bytes = -1;         // RLIMIT_FSIZE
  std::function<void(pid_t)> meanwhile = {};  // called while the victim runs
};

// A victim and the run that it recorded.
class VictimRun {
 public:
  explicit VictimRun(std::vector<std::string> arguments, Setting setting = {});

  const Outcome& outcome() const { return outcome_; }
  std::filesystem::path run_directory() const { return folder_.path() / "run.tpk"; }
  // The files of the run, by name; empty when there is none.
  std::vector<std::filesystem::path> files() const;
  // The one file of the run. Throws when there is not exactly one.
  Trace trace() const;
  std::vector<Trace> traces() const;
  // What the fake knows to be true (FAKE_CUPTI_REPORT).
  std::map<std::string, std::uint64_t> truth() const;
  // Of the shared status page.
  TurnpikeStatus status() const;

 private:
  ScratchFolder folder_;
  Outcome outcome_;
};

// Paths that CMake knows.
std::string victim_path();
std::string record_library();
std::string fake_libraries();
std::string fake_cupti(bool is_old = false);
// Built with a sanitizer: the memory and the speed of the victim say nothing about the recorder.
bool is_sanitized();

}  // namespace turnpike::record_tests
