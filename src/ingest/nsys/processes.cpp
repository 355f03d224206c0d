// Makes processes as their first event comes.
#include "ingest/nsys/processes.h"

#include <utility>

namespace turnpike::ingest {

std::uint32_t NsysProcess::use(std::uint32_t name) {
  if (name != trace::kNoId) process.strings.try_emplace(name, names_.text(name));
  return name;
}

NsysProcess& NsysProcesses::get(ProcessKey key) {
  NsysProcess*& known = by_key_[key];
  if (known == nullptr) {
    known = &processes_.emplace_back(names_, key, sink_of_process_());
    known->process.path = path_;
    known->process.pid = pid_of(key);
  }
  return *known;
}

NsysProcess* NsysProcesses::find(ProcessKey key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

std::vector<trace::Process> NsysProcesses::take() {
  if (!processes_.empty()) {
    for (const Lost& lost : lost_) processes_.front().count(lost.loss, lost.count);
  }
  std::vector<trace::Process> taken;
  for (NsysProcess& process : processes_) taken.push_back(std::move(process.process));
  processes_.clear();
  by_key_.clear();
  lost_.clear();
  return taken;
}

}  // namespace turnpike::ingest
