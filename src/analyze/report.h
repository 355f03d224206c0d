// What Turnpike says about a run: the figures behind every output, in the words of `report --json` (schema 1).
// std::nullopt is "the source cannot tell"; it becomes null, never 0.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace turnpike::analyze {

enum class Direction : std::uint8_t {
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kPeerToPeer,
  kHostToHost,
  kMemset
};
inline constexpr std::size_t kDirectionCount = 6;
const char* name_of(Direction direction);  // h2d, d2h, d2d, p2p, h2h, memset

enum class Phase { kForward, kBackward, kOptimizer, kLoader, kOther };
const char* name_of(Phase phase);

struct Device {
  std::uint32_t id = 0;
  std::string name;
  std::uint64_t memory_bytes = 0;  // 0: unknown
};

struct Source {
  std::string kind;  // turnpike | kineto | nsys
  std::vector<std::string> paths;
  std::size_t process_count = 0;
  std::vector<Device> devices;
  std::string program;                          // the command line of the first process; empty when unknown
  std::map<std::string, std::string> versions;  // python, torch, cuda_driver, ...
  std::string detail;                           // transfers | full
  // Why processes could not be recorded, in sentences, each once; empty when all could.
  std::vector<std::string> unusable;
  std::vector<std::string> hosts;  // names of the machines it ran on, each once; empty: unknown
};

struct Total {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> device_time_ns;  // nullopt when no copy of it had times
  std::optional<std::int64_t> host_blocked_ns;
  std::uint64_t pageable_count = 0;
  std::uint64_t pageable_bytes = 0;
  std::optional<double> bandwidth_gbps;  // bytes over device time, 1e9 bytes per second
  std::optional<double> link_gbps;       // measured by `turnpike bench link` on this device; unknown otherwise
};

struct Syncs {
  std::uint64_t count = 0;
  std::optional<std::int64_t> host_blocked_ns;
  // Of these, the ones that the operator of a transfer made to wait for it: their time is also in that transfer's.
  std::uint64_t of_transfers_count = 0;
  std::optional<std::int64_t> of_transfers_host_blocked_ns;
};

struct Steps {
  std::uint64_t count = 0;
  std::int64_t median_ns = 0;
  std::string source;  // how they were found, e.g. "backward pass" or "nvtx:step"
  // Of all processes, without warm-up: what every in_steps below is the sum of.
  std::uint64_t whole_count = 0;
};

// What a place did in the whole steps of its processes; start-up, warm-up and what comes behind the last are no part of
// it. Times are nullopt where they are unknown and where there were none.
struct InSteps {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> device_time_ns;
  std::optional<std::int64_t> host_blocked_ns;
  std::optional<std::int64_t> exposed_ns;
};

struct Verdict {
  std::string bound_by;  // gpu|transfer|sync|launch|input|mixed; empty: unknown
  std::optional<double> gpu_busy_pct;
  std::optional<double> gpu_idle_pct;
  std::optional<double> exposed_transfer_pct;
  std::string why;
};

// One place in the program, with one operator, phase, direction and pair of memory kinds: what a row of the report is.
struct Site {
  std::string site;  // its name in one line: "train.py:23", or the native function where there is no Python
  std::optional<std::string> file;
  std::optional<std::uint32_t> line;
  std::optional<std::string> function;
  std::optional<std::string> op;  // as PyTorch names it, e.g. aten::to: the outermost operator that the line called
  std::optional<std::string> inner_op;  // the innermost, e.g. aten::copy_
  std::optional<std::string> api;       // e.g. cudaMemcpyAsync
  std::optional<Phase> phase;
  Direction direction = Direction::kHostToDevice;
  std::optional<std::string> src_kind;  // pageable|pinned|device|array|managed|...
  std::optional<std::string> dst_kind;
  std::optional<std::string> forward_site;  // for a transfer in the backward pass: the forward line that made its node
  std::vector<std::uint32_t> streams;
  std::vector<std::string> stack;  // "function (file:line)", innermost first, Python only
  bool in_graph = false;           // replayed from a CUDA graph: the line is the one that captured it
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t blocked_count = 0;  // how many of them held the host until they were done
  std::optional<std::int64_t> device_time_ns;
  std::optional<std::int64_t> host_blocked_ns;
  std::optional<std::int64_t> exposed_ns;   // device time during which no kernel ran on that device
  std::optional<std::int64_t> gpu_idle_ns;  // device doing nothing while the host was held by this site
  std::optional<double> overlapped_pct;     // of the device time
  std::optional<double> bandwidth_gbps;
  InSteps in_steps;
};

// Synchronisations by line.
struct SyncSite {
  std::string site;
  std::optional<std::string> file;
  std::optional<std::uint32_t> line;
  std::optional<std::string> function;
  std::optional<std::string> op;
  std::optional<std::string> api;  // e.g. cudaStreamSynchronize
  std::optional<Phase> phase;
  std::optional<std::string> forward_site;
  std::vector<std::string> stack;
  std::uint64_t count = 0;
  std::uint64_t of_transfers_count = 0;
  std::optional<std::int64_t> host_blocked_ns;
  std::optional<std::int64_t> of_transfers_host_blocked_ns;
  std::optional<std::int64_t> gpu_idle_ns;
  Syncs in_steps;  // as InSteps
};

// Something that should be done otherwise. Savings are differences between a re-timed run with the change and the run
// as it is; those of several findings overlap and cannot be added up.
struct Finding {
  std::string rule, severity, title, site;     // severity: info|warning|error; site: "" for the step as a whole
  std::optional<std::int64_t> saving_ns;       // over all steps of the process; nullopt: none is claimed, or not known
  std::optional<std::int64_t> saving_step_ns;  // of one step; of the whole run where there are no steps
  std::optional<double> saving_pct;
  std::string evidence, advice, docs;
};

struct Report {
  Source source;
  std::int64_t span_ns = 0;
  std::array<Total, kDirectionCount> totals;
  Syncs syncs;
  std::optional<Steps> steps;
  Verdict verdict;
  std::vector<Site> sites;                      // ranked: host-blocked plus exposed device time, most first
  std::vector<SyncSite> sync_sites;             // ranked by host-blocked time
  std::vector<Finding> findings;                // errors first, then most saving
  std::optional<double> saving_pct_all;         // with all of them done together
  std::map<std::string, std::uint64_t> losses;  // by name; only those that happened
};

}  // namespace turnpike::analyze
