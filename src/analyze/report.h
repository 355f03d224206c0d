// What Turnpike says about a run: the figures behind every output, in the words of `report --json` (schema 1).
// std::nullopt is "the source cannot tell"; it becomes null, never 0.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_text.h"

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

// What limits a program. In the order of their names: outputs list them so.
enum class Bound : std::uint8_t {
  kCommunication,  // collectives with no computing beside them, and waits for other devices
  kGpu,
  kHost,  // work on the CPU that issues nothing, and allocations
  kInput,
  kLaunch,
  kMixed,  // in files of earlier versions and in budgets; no verdict is it any more
  kSync,
  kTransfer,
  kUnrecorded  // work of the GPU that is not in the recording
};
// In the order of the report.
inline constexpr std::array kBounds = {Bound::kGpu,           Bound::kTransfer,   Bound::kSync,
                                       Bound::kLaunch,        Bound::kInput,      Bound::kHost,
                                       Bound::kCommunication, Bound::kUnrecorded, Bound::kMixed};
const char* name_of(Bound bound);  // communication, gpu, host, input, launch, mixed, sync, transfer, unrecorded
std::optional<Bound> bound_named(std::string_view name);

// How serious a finding is.
enum class Severity : std::uint8_t {
  kInfo,     // good to know
  kWarning,  // costs time
  kError     // results may be wrong
};
const char* name_of(Severity severity);  // info, warning, error

// What a thread that issues work is for.
enum class ThreadRole : std::uint8_t { kMain, kAutograd, kOther };
const char* name_of(ThreadRole role);  // main, autograd, other

// Memory that a program allocates from CUDA.
enum class AllocationKind : std::uint8_t { kDevice, kPinned, kManaged };
const char* name_of(AllocationKind kind);  // device, pinned, managed

// Why no kernel computes on a device.
enum class IdleCause : std::uint8_t {
  kCopiesOnly,      // a copy runs meanwhile; the device is not idle
  kCopy,            // the host is held by a copy, or refills the device after that
  kSync,            // by another synchronisation, likewise
  kAllocation,      // by a call that allocates or frees memory
  kInput,           // it gets the next batch ready
  kLaunch,          // it issues work, too slowly
  kUnknown,         // it makes no call to CUDA: other work on the CPU
  kBetweenKernels,  // the next work was issued before: what the device takes between two pieces of work
  kOtherDevice,     // the same for longer, and another device of the program is at work: this one waits for it
  kUnrecorded,      // the same for longer: the device waits for work that is not in the recording
  kRank             // the only kernel is a collective that waits for another rank; the device is not idle
};
inline constexpr std::array kIdleCauses = {
    IdleCause::kCopiesOnly,  IdleCause::kCopy,       IdleCause::kSync,    IdleCause::kAllocation,
    IdleCause::kInput,       IdleCause::kLaunch,     IdleCause::kUnknown, IdleCause::kBetweenKernels,
    IdleCause::kOtherDevice, IdleCause::kUnrecorded, IdleCause::kRank};
// copies_only, copy, sync, allocation, input, launch, unknown, between_kernels, other_device, unrecorded, rank
const char* name_of(IdleCause cause);
// Whether the device does nothing meanwhile.
constexpr bool is_idle(IdleCause cause) {
  return cause != IdleCause::kCopiesOnly && cause != IdleCause::kRank;
}

// Where steps can come from, the most trustworthy first.
enum class StepSource : std::uint8_t { kRanges, kBackward, kTransfers };

// Why the call of a transfer is not known.
enum class MissingCall : std::uint8_t {
  kEarlier,  // its id is below that of every call in the file: it was made before them
  kUnknown
};
const char* name_of(MissingCall missing);  // earlier, unknown

// How the rate of a link is known; the first that there is counts.
enum class LinkSource : std::uint8_t {
  kMeasured,    // on this machine, by `turnpike bench link` or after a recording
  kLearnt,      // the best that large page-locked copies of the run reached
  kGeneration,  // computed from the PCIe generation and width that the recording names
  kModel        // computed from those that GPUs of this model have
};
const char* name_of(LinkSource source);  // measured, learnt, generation, model

// nullopt: unknown.
struct Device {
  std::uint32_t id = 0;
  std::string name;
  std::uint64_t memory_bytes = 0;                      // 0: unknown
  std::optional<std::uint32_t> numa_node{};            // of the host, to which it is attached
  std::optional<std::uint32_t> pcie_generation{};      // the highest at which its link ran
  std::optional<std::uint32_t> pcie_width{};           // in lanes
  std::optional<std::uint32_t> pcie_max_generation{};  // that the card has
  std::optional<std::uint32_t> pcie_max_width{};
};

// What is wrong with what an analysis was given, in sentences.
struct InputRemarks {
  std::vector<std::string> unreadable{};  // files that could not be read beside others that could
  std::vector<std::string> notes{};       // what is doubtful about taking the inputs together
  bool is_input_missing = false;          // of one input nothing at all could be read
  // Why the inputs are incomplete: the losses of parts that are damaged, cut off, gone or unreadable, by name.
  std::map<std::string, std::uint64_t> unread{};

  bool is_incomplete() const { return !unread.empty(); }
};

// The details of Turnpike's own recordings.
inline constexpr std::string_view kFullDetail = "full";
inline constexpr std::string_view kTransfersDetail = "transfers";

// How often and how long threads of a process were in the recorder's own code (TURNPIKE_SELF_TIME=1).
struct SelfTime {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
};

// Who a process is, as its launcher told it. Texts are empty where that is unknown.
struct Identity {
  std::uint64_t pid = 0;
  std::string host;
  std::string node;  // the machine's name in the cluster, which a container's host name is not
  std::string job_id;
  std::string launcher;  // "torchrun slurm": the innermost first
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> local_rank;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> local_world_size;
  std::optional<std::int64_t> node_rank;
  std::optional<std::int64_t> restart_count;
  std::optional<SelfTime> self_time;
};

// Of a recording that keeps only the last of its program (`turnpike record --last`).
struct KeptWindow {
  std::int64_t last_ns = 0;            // what was kept, of the process of which most was
  std::int64_t of_ns = 0;              // what was recorded, likewise
  std::vector<std::string> because{};  // why it was kept before the end, in sentences, each once
};

// How to record kernels as well, as a sentence without its full stop, with the tool whose recordings are of this kind
// (Source::kind).
std::string how_to_record_kernels(std::string_view kind);

struct Source {
  std::string kind;  // turnpike, kineto or nsys, as the reader of the file says; "mixed" where files differ
  std::vector<std::string> paths;
  std::size_t process_count = 0;
  std::vector<Device> devices;
  std::string program;                          // the command line of the first process; empty when unknown
  std::map<std::string, std::string> versions;  // python, torch, cuda_driver, ...
  std::string detail;                           // as the recording says; empty when it says nothing
  // Why processes could not be recorded, in sentences, each once; empty when all could.
  std::vector<std::string> unusable;
  std::vector<std::string> hosts;  // names of the machines it ran on, each once; empty: unknown
  InputRemarks inputs;
  std::optional<KeptWindow> kept{};    // nullopt: everything was
  std::vector<Identity> identities{};  // one for each process, in the order of their files
};
// The same for a source. If a part of it is missing, that part may hold the kernels.
std::string how_to_record_kernels(const Source& source);

struct Total {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> device_time_ns;  // nullopt when no copy of it had times
  std::optional<std::int64_t> host_blocked_ns;
  std::uint64_t pageable_count = 0;
  std::uint64_t pageable_bytes = 0;
  std::optional<double> bandwidth_gbps;     // bytes over device time, 1e9 bytes per second
  std::optional<double> link_gbps;          // what the link of the run's devices can do
  std::optional<LinkSource> link_source{};  // how that is known
  std::string link_basis{};                 // what it was computed from: "PCIe 5 x16"; empty where it was not
};

struct Syncs {
  std::uint64_t count = 0;
  std::optional<std::int64_t> host_blocked_ns;
  // Of these, the ones that the operator of a transfer made to wait for it: their time is also in that transfer's.
  std::uint64_t of_transfers_count = 0;
  std::optional<std::int64_t> of_transfers_host_blocked_ns;
};

// The same pieces of host memory that go up again and again, in the same order: the layers of a model.
struct UploadCycle {
  struct Piece {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool operator==(const Piece&) const = default;
  };
  // A step begins with the first one. The two beside it tell it from the same piece elsewhere in the round, as that of
  // tied weights.
  Piece last;
  Piece first;
  Piece second;
};

struct Steps {
  std::uint64_t count = 0;
  std::int64_t median_ns = 0;
  StepSource source = StepSource::kBackward;
  std::string marker{};  // of kRanges the name of the ranges, of kTransfers the place of the transfers
  // For kTransfers, if a step uploads many pieces: how to recognise where a step begins. Not part of reports.
  std::optional<UploadCycle> cycle{};
  // Of all processes, without warm-up: what every in_steps below is the sum of.
  std::uint64_t whole_count = 0;
  // What the median step did; of each figure its own median, over the whole steps of all processes.
  struct Medians {
    std::array<double, kDirectionCount> counts{};
    std::array<double, kDirectionCount> bytes{};
    double syncs = 0;
    double blocked_ns = 0;  // as far as it is known
  };
  std::optional<Medians> medians{};
  // What a step takes on the devices: the median time from the end of one's work to the end of the next one's.
  std::optional<std::int64_t> device_median_ns{};

  // Whether the host is so much faster that it runs ahead of the devices: then median_ns is not what a step takes.
  bool is_host_ahead() const;
  // The time that a step takes: of the devices where the host runs ahead.
  std::int64_t typical_ns() const { return is_host_ahead() ? *device_median_ns : median_ns; }
};
std::string source_text(const Steps& steps);  // "nvtx:step", "backward pass", "transfers of train.py:23"

// What a place did in the whole steps of its processes; start-up, warm-up and what comes behind the last are no part of
// it. Times are nullopt where they are unknown and where there were none.
struct InSteps {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> device_time_ns;
  std::optional<std::int64_t> host_blocked_ns;
  std::optional<std::int64_t> exposed_ns;
};

// Nine of ten values are above p10_ns, nine of ten below p90_ns.
struct Spread {
  std::int64_t p10_ns = 0;
  std::int64_t median_ns = 0;
  std::int64_t p90_ns = 0;
};

// The time in which a device did nothing, by what the host did meanwhile, in per cent of all time.
struct IdleShares {
  double copies_pct = 0;
  double syncs_pct = 0;
  double allocations_pct = 0;
  double input_pct = 0;
  double launch_pct = 0;
  double quiet_pct = 0;  // other work on the CPU
  double between_kernels_pct = 0;
  double other_devices_pct = 0;
  double unrecorded_pct = 0;
};

// What a thread that issues work did, in per cent of the time of the steps.
struct HostThread {
  std::uint32_t thread = 0;  // the system's id
  std::string name;          // "" when it has none
  ThreadRole role = ThreadRole::kOther;
  std::uint64_t launches = 0;
  double calls_pct = 0;    // in calls of CUDA, without what they waited
  double waits_pct = 0;    // in calls of CUDA, waiting for the device
  double between_pct = 0;  // between its calls while it had the turn: Python, PyTorch's operators, the loader
  // Of the time between its calls, where samples tell; nullopt where there are none.
  std::optional<double> python_pct;
  std::optional<double> operator_pct;
  std::vector<std::string> busiest_lines;  // most samples first, at most three: "train.py:31 (40 %)"
};

struct Verdict {
  std::optional<Bound> bound_by;  // nullopt: unknown
  std::optional<double> gpu_busy_pct;
  std::optional<double> gpu_idle_pct;
  std::optional<double> exposed_transfer_pct;    // nothing but copies from or to the device
  std::optional<double> exposed_collective_pct;  // nothing but collectives; part of gpu_busy_pct
  std::string why;
  std::optional<IdleShares> idle;
  std::optional<Spread>
      launch_lead;                  // from the return of a launch to the start of its kernel: how far ahead the host is
  std::vector<HostThread> threads;  // the busiest first: it is the limit where the host is
  std::map<Bound, std::uint64_t> steps_by_bound;  // how many steps are bound by what, each looked at alone
  std::string why_not_compiled{};  // a clause; empty: compiling is advised, or launching is not the matter
};

// NVTX ranges of one name, numbers apart, on the host's clock: what the devices did while they were open.
struct RangeVerdict {
  std::string name;
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;  // of the process with most
  Verdict verdict;
};

// What allocated memory of a kind that was live at its peak.
struct MemorySite {
  std::string site;
  AllocationKind kind = AllocationKind::kDevice;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

struct MemoryPoint {
  std::int64_t time_ns = 0;  // since the start of the recording's span
  std::optional<std::uint64_t> resident_bytes;
  std::uint64_t device_bytes = 0;
  std::uint64_t pinned_bytes = 0;
};

// Memory of the process with most, as far as it was taken while recording.
struct MemoryUse {
  std::optional<std::uint64_t> peak_resident_bytes;  // nullopt: not recorded
  std::uint64_t peak_device_bytes = 0;               // allocated from CUDA and not yet given back
  std::uint64_t peak_pinned_bytes = 0;
  std::vector<MemorySite> sites;    // live at the peak of their kind, most first
  std::vector<MemoryPoint> points;  // at most 256, rising in time
};

// A place in the program: everything that distinguishes it from others.
struct Where {
  std::string site;  // its name in one line: "train.py:23", or the native function where there is no Python
  std::optional<std::string> file;
  std::optional<std::uint32_t> line;
  std::optional<std::string> function;
  std::optional<std::string> op;  // as PyTorch names it, e.g. aten::to: the outermost operator that the line called
  std::optional<Phase> phase;
  std::optional<std::string> forward_site;  // in the backward pass: the forward line that made its node
  // The line of a library that made the call for the line above: "lightning: fabric/utilities/apply_func.py:110".
  std::optional<std::string> library_site{};

  friend auto operator<=>(const Where&, const Where&) = default;
};

// A place at which calls were made. Their names and stacks may differ; these are of the first.
struct CallSite : Where {
  std::optional<std::string> api{};  // e.g. cudaMemcpyAsync
  std::vector<std::string> stack{};  // "function (file:line)", innermost first, Python only
};

// Transfers that differ in any of these have separate rows, even at the same place.
struct TransferKind {
  Direction direction = Direction::kHostToDevice;
  std::optional<std::string> src_kind;  // pageable|pinned|device|array|managed|...
  std::optional<std::string> dst_kind;
  std::optional<std::string> inner_op;      // the innermost operator, e.g. aten::copy_
  std::optional<MissingCall> missing_call;  // nullopt: the call is in the file, or the transfer never had one
  bool in_graph = false;                    // replayed from a CUDA graph: the line is the one that captured it

  friend auto operator<=>(const TransferKind&, const TransferKind&) = default;
};

// Transfers of one kind at one place: a row of the report.
struct Site : CallSite, TransferKind {
  std::vector<std::uint32_t> streams{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t blocked_count = 0;  // how many of them held the host until they were done
  std::optional<std::int64_t> device_time_ns{};
  std::optional<std::int64_t> host_blocked_ns{};
  std::optional<std::int64_t> exposed_ns{};   // device time during which no kernel ran on that device
  std::optional<std::int64_t> gpu_idle_ns{};  // device doing nothing while the host was held by this site
  std::optional<double> overlapped_pct{};     // of the device time
  std::optional<double> bandwidth_gbps{};
  InSteps in_steps{};
};

// Synchronisations at one place.
struct SyncSite : CallSite {
  std::uint64_t count = 0;
  std::uint64_t of_transfers_count = 0;
  std::optional<std::int64_t> host_blocked_ns{};
  std::optional<std::int64_t> of_transfers_host_blocked_ns{};
  std::optional<std::int64_t> gpu_idle_ns{};
  Syncs in_steps{};  // as InSteps
};

// A line on the way to a call.
struct PathFrame {
  std::string site;     // "train.py:44"; of a library "lightning: loops/fit_loop.py:202"
  std::string library;  // the package; empty for the program's own
  std::string file, function;

  friend auto operator<=>(const PathFrame&, const PathFrame&) = default;
};

inline constexpr std::uint32_t kNoParent = 0xFFFFFFFF;

// A line as it was reached through the lines before it.
struct PathNode {
  std::uint32_t parent = kNoParent;  // index into CallPaths::nodes, always a lower one
  std::uint32_t frame = 0;           // index into CallPaths::frames
};

// What came of all calls that were made in one way.
struct PathCost {
  std::uint32_t node = kNoParent;      // of the line that made the calls; kNoParent where no line is known
  std::string what;                    // the operator, or the call if there is no operator
  std::optional<Direction> direction;  // nullopt: synchronisations that waited for no transfer
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> device_time_ns{};
  std::optional<std::int64_t> host_blocked_ns{};
  std::optional<std::int64_t> exposed_ns{};
  std::optional<std::int64_t> gpu_idle_ns{};

  // The figures of another way. Unknown plus something known is what is known.
  void add(const PathCost& other);
  // What paths are ranked by, as Report::sites are.
  std::int64_t cost_ns() const { return host_blocked_ns.value_or(0) + exposed_ns.value_or(0); }
};

// Every way in which the program came to a transfer or a synchronisation. The sums over `costs` are those of the
// report's totals, and of its synchronisations without those of transfers.
struct CallPaths {
  std::vector<PathFrame> frames;
  std::vector<PathNode> nodes;
  std::vector<PathCost> costs;  // most cost first
};

// The nodes from the program's start to `node`; empty for kNoParent.
std::vector<std::uint32_t> way_to(const CallPaths& paths, std::uint32_t node);

// Time in which no kernel ran on a device, for one cause at one place.
struct IdleSite : Where {
  std::uint32_t device = 0;
  IdleCause cause = IdleCause::kUnknown;
  std::uint64_t count = 0;  // stretches
  std::int64_t time_ns = 0;
  std::uint64_t in_steps_count = 0;
  std::int64_t in_steps_ns = 0;  // as InSteps; of a cause the sum of all is the verdict's share of it
};

// A line of source while transfers and synchronisations that it made took time: the CPU waited in them, copies ran, or
// both at once. Of the process in which that was longest; no moment counts twice.
struct LineTime {
  std::string file;
  std::uint32_t line = 0;
  std::int64_t time_ns = 0;
  std::int64_t waits_ns = 0;
  std::int64_t copies_ns = 0;
  std::optional<std::int64_t> gpu_idle_ns{};  // device doing nothing during the waits
};

// Another way to what a finding advises, and what it saves of one step: at least, at most, and as expected; known where
// the saving of the finding is.
struct Alternative {
  std::string advice;
  std::optional<std::int64_t> saving_step_low_ns{};
  std::optional<std::int64_t> saving_step_high_ns{};
  std::optional<std::int64_t> saving_step_expected_ns{};
};

// What the advice of a finding makes of the line at its place, where that is one of a few forms.
struct LineEdit {
  enum class Kind : std::uint8_t {
    kNone,
    kStageUpload,      // x.to(device) becomes tp.to(x, device)
    kReadLater,        // total += loss.item() becomes total += loss.detach()
    kMakeOnDevice,     // torch.ones(n).to(device) becomes torch.ones(n, device=device)
    kConvertOnDevice,  // x.float().to(device) becomes x.to(device).float()
    kLoadInWorkers,    // DataLoader(...) gets num_workers= and pin_memory=True
    kRemove            // the line goes
  };
  Kind kind = Kind::kNone;
  std::uint32_t workers = 0;  // of kLoadInWorkers
};

// The work of the calls that a finding names, per step. Without steps: in the whole run.
struct StepEvidence {
  double calls = 0;
  double bytes = 0;      // that their copies move
  double host_ns = 0;    // in the calls, and in the synchronisations that their operators make
  double device_ns = 0;  // of their copies and kernels
};

// Something that should be done otherwise. Savings are differences between a re-timed run with the change and the run
// as it is; those of several findings overlap and cannot be added up.
struct Finding {
  std::string rule;
  Severity severity = Severity::kWarning;
  std::string title, site;                     // site: "" for the step as a whole
  std::optional<std::int64_t> saving_ns;       // over all steps of the process; nullopt: none is claimed, or not known
  std::optional<std::int64_t> saving_step_ns;  // of one step; of the whole run where there are no steps
  std::optional<double> saving_pct;
  // The rule of the finding at the same site that leads: with its fix, nothing of this one is left to gain.
  std::optional<std::string> superseded_by;
  std::string evidence, advice, docs;
  std::optional<std::string> library_site{};  // as in Where
  // What the advice saves of one step at least and at most; known where the saving is. The reason says why the advice
  // may reach only a part, or why no saving is claimed; empty: the advice is the change that was re-timed.
  std::optional<std::int64_t> saving_step_low_ns{};
  std::optional<std::int64_t> saving_step_high_ns{};
  std::string saving_reason{};
  std::vector<Alternative> alternatives{};
  std::optional<std::int64_t> saving_step_expected_ns{};  // what it is expected to save of one step
  std::optional<std::string> file{}, function{}, op{};    // of the place, as in Where
  std::optional<std::uint32_t> line{};
  LineEdit edit{};
  std::optional<StepEvidence> per_step{};  // nullopt: it is about no calls that a step repeats
};

// The key of InputRemarks::unread, and of Report::losses, for files of a run that could not be read while others could.
inline constexpr const char* kUnreadableFile = "unreadable_file";
// The key of InputRemarks::unread for processes that used CUDA and could not be recorded (Source::unusable).
inline constexpr const char* kUnrecordedProcess = "unrecorded_process";

struct Report {
  Source source;
  std::int64_t span_ns = 0;
  std::array<Total, kDirectionCount> totals;
  Syncs syncs;
  std::optional<Steps> steps;
  Verdict verdict;
  std::vector<IdleSite> idle;        // most in the steps first, ranks last; empty: kernels are not known
  std::vector<RangeVerdict> ranges;  // most time first
  std::optional<MemoryUse> memory;   // nullopt: nothing of it was recorded
  std::vector<Site> sites;           // ranked: host-blocked plus exposed device time, most first
  std::vector<SyncSite> sync_sites;  // ranked by host-blocked time
  std::vector<LineTime> lines{};     // most time first
  CallPaths paths{};
  std::vector<Finding> findings;                // errors first, then most saving
  std::optional<double> saving_pct_all;         // with all of them done together
  std::map<std::string, std::uint64_t> losses;  // by name; only those that happened
  SourceText source_text{};                     // of the program, as far as it was recorded
};

// Whether the run tells what the program did with a GPU: it holds work, a transfer or a wait; or, without kernels, the
// GPUs of a process that had CUDA ready. Otherwise every figure is 0 and none of them says anything.
bool used_gpu(const Report& report);

}  // namespace turnpike::analyze
