// The calls of the CUDA API in an export, with what they waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ingest/nsys/export.h"
#include "ingest/nsys/ranges.h"
#include "ingest/nsys/stacks.h"

namespace turnpike::ingest {

class NsysCalls {
 public:
  // Keeps the references.
  NsysCalls(NsysExport& from, NsysStacks& stacks, const NsysRanges& ranges)
      : export_(from), stacks_(stacks), ranges_(ranges) {}

  void read();
  // Whether the call of a copy was an asynchronous one: files of Nsight Systems do not say it of the copy.
  bool is_async(ProcessKey process, std::uint32_t correlation) const;

 private:
  // What tables besides the calls' own know of a call.
  struct Target {
    std::uint32_t context;
    std::uint32_t stream;
    std::uint64_t event;  // 0: none
  };
  struct Function {
    std::uint32_t name;
    trace::CallKind kind;
    bool is_async_copy;
    bool is_of_driver;
  };

  struct Call {
    NsysProcess* process;
    bool is_async_copy;
    trace::CallRecord record;
  };

  void read_targets(const char* table);
  void read_call(SqliteRow& row);
  void give_driver_calls();
  void give(const Call& call);
  const Function& function(std::int64_t string_id);

  NsysExport& export_;
  NsysStacks& stacks_;
  const NsysRanges& ranges_;
  std::unordered_map<InProcess, Target, InProcessHash> targets_;
  std::unordered_map<std::int64_t, Function> functions_;
  std::unordered_set<InProcess, InProcessHash> async_copies_;
  // Calls of the driver wait until the runtime's are all known: those that the runtime made are not calls of the
  // program.
  std::vector<Call> driver_calls_;
  std::vector<InProcess> runtime_calls_;
};

}  // namespace turnpike::ingest
