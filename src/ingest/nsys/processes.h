// The processes of an export of Nsight Systems, each with its definitions and the sink of its records.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ingest/nsys/names.h"
#include "ingest/sink_of_process.h"
#include "trace/losses.h"
#include "trace/process.h"

namespace turnpike::ingest {

// A process across all machines of the export: what a global id has above its thread. Bits from the top: machine 8,
// virtual machine 8, process 24, and of a thread 24 more.
using ProcessKey = std::uint64_t;

constexpr ProcessKey process_of(std::int64_t global_id) {
  return static_cast<std::uint64_t>(global_id) >> 24;
}
constexpr std::uint32_t pid_of(ProcessKey process) {
  return static_cast<std::uint32_t>(process & 0xFFFFFF);
}
constexpr std::uint32_t thread_of(std::int64_t global_id) {
  return static_cast<std::uint32_t>(global_id & 0xFFFFFF);
}
// As tables have it that hold the three apart.
constexpr ProcessKey process_of(std::int64_t hardware, std::int64_t virtual_machine, std::int64_t pid) {
  return static_cast<std::uint64_t>(hardware & 0xFF) << 32 | static_cast<std::uint64_t>(virtual_machine & 0xFF) << 24 |
         static_cast<std::uint64_t>(pid & 0xFFFFFF);
}

class NsysProcess {
 public:
  NsysProcess(const NsysNames& names, ProcessKey its_key, trace::RecordSink& its_sink)
      : key(its_key), sink(its_sink), names_(names) {}

  const ProcessKey key;
  trace::RecordSink& sink;
  trace::Process process;
  std::set<std::uint32_t> devices;  // those that worked for it

  // Makes the name one of this process, and returns it.
  std::uint32_t use(std::uint32_t name);
  void count(trace::Loss loss, std::uint64_t count = 1) { process.losses[static_cast<std::uint32_t>(loss)] += count; }

 private:
  const NsysNames& names_;
};

class NsysProcesses {
 public:
  // Keeps references to all three.
  NsysProcesses(const NsysNames& names, const std::string& path, const SinkOfProcess& sink_of_process)
      : names_(names), path_(path), sink_of_process_(sink_of_process) {}

  // Makes the process when it is new: it used CUDA.
  NsysProcess& get(ProcessKey key);
  NsysProcess* find(ProcessKey key);
  std::deque<NsysProcess>& all() { return processes_; }

  // Losses whose process is not known; they are said with the first process.
  void count(trace::Loss loss, std::uint64_t count = 1) { lost_.push_back({loss, count}); }
  // In the order in which the sinks were asked for. Empties this.
  std::vector<trace::Process> take();

 private:
  struct Lost {
    trace::Loss loss;
    std::uint64_t count;
  };

  const NsysNames& names_;
  const std::string& path_;
  const SinkOfProcess& sink_of_process_;
  std::deque<NsysProcess> processes_;
  std::unordered_map<ProcessKey, NsysProcess*> by_key_;
  std::vector<Lost> lost_;
};

}  // namespace turnpike::ingest
