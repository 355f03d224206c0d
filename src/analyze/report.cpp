// The words of `report --json` for the enumerations of the report.
#include "analyze/report.h"

#include <algorithm>

namespace turnpike::analyze {

const char* name_of(Direction direction) {
  switch (direction) {
    case Direction::kHostToDevice:
      return "h2d";
    case Direction::kDeviceToHost:
      return "d2h";
    case Direction::kDeviceToDevice:
      return "d2d";
    case Direction::kPeerToPeer:
      return "p2p";
    case Direction::kHostToHost:
      return "h2h";
    case Direction::kMemset:
      return "memset";
  }
  return "unknown";
}

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kLoader:
      return "loader";
    case Phase::kOther:
      return "other";
  }
  return "unknown";
}

const char* name_of(Bound bound) {
  switch (bound) {
    case Bound::kCommunication:
      return "communication";
    case Bound::kGpu:
      return "gpu";
    case Bound::kHost:
      return "host";
    case Bound::kInput:
      return "input";
    case Bound::kLaunch:
      return "launch";
    case Bound::kMixed:
      return "mixed";
    case Bound::kSync:
      return "sync";
    case Bound::kTransfer:
      return "transfer";
    case Bound::kUnrecorded:
      return "unrecorded";
  }
  return "unknown";
}

std::optional<Bound> bound_named(std::string_view name) {
  const auto found = std::find_if(kBounds.begin(), kBounds.end(), [=](Bound bound) { return name == name_of(bound); });
  return found == kBounds.end() ? std::nullopt : std::optional(*found);
}

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "unknown";
}

const char* name_of(LinkSource source) {
  switch (source) {
    case LinkSource::kMeasured:
      return "measured";
    case LinkSource::kLearnt:
      return "learnt";
    case LinkSource::kGeneration:
      return "generation";
    case LinkSource::kModel:
      return "model";
  }
  return "unknown";
}

const char* name_of(IdleCause cause) {
  switch (cause) {
    case IdleCause::kCopiesOnly:
      return "copies_only";
    case IdleCause::kCopy:
      return "copy";
    case IdleCause::kSync:
      return "sync";
    case IdleCause::kAllocation:
      return "allocation";
    case IdleCause::kInput:
      return "input";
    case IdleCause::kLaunch:
      return "launch";
    case IdleCause::kUnknown:
      return "unknown";
    case IdleCause::kBetweenKernels:
      return "between_kernels";
    case IdleCause::kOtherDevice:
      return "other_device";
    case IdleCause::kUnrecorded:
      return "unrecorded";
    case IdleCause::kRank:
      return "rank";
  }
  return "unknown";
}

const char* name_of(ThreadRole role) {
  switch (role) {
    case ThreadRole::kMain:
      return "main";
    case ThreadRole::kAutograd:
      return "autograd";
    case ThreadRole::kOther:
      return "other";
  }
  return "unknown";
}

const char* name_of(AllocationKind kind) {
  switch (kind) {
    case AllocationKind::kDevice:
      return "device";
    case AllocationKind::kPinned:
      return "pinned";
    case AllocationKind::kManaged:
      return "managed";
  }
  return "unknown";
}

std::string source_text(const Steps& steps) {
  switch (steps.source) {
    case StepSource::kRanges:
      return "nvtx:" + steps.marker;
    case StepSource::kBackward:
      return "backward pass";
    case StepSource::kTransfers:
      return "transfers of " + steps.marker;
  }
  return "unknown";
}

const char* name_of(MissingCall missing) {
  return missing == MissingCall::kEarlier ? "earlier" : "unknown";
}

bool Steps::is_host_ahead() const {
  constexpr double kFaster = 1.1;
  return device_median_ns && static_cast<double>(*device_median_ns) > kFaster * static_cast<double>(median_ns);
}

std::string how_to_record_kernels(std::string_view kind) {
  if (kind == "kineto") return "Profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]";
  if (kind == "nsys") return "Profile with nsys profile --trace=cuda,nvtx";
  if (kind == "mixed") return "Record the kernels of every process";
  return "Record with --detail full";
}

std::string how_to_record_kernels(const Source& source) {
  if (source.inputs.is_incomplete())
    return "A part of the recording is missing and may hold the kernels. Record it again";
  return how_to_record_kernels(source.kind);
}

bool used_gpu(const Report& report) {
  if (report.span_ns > 0 || !report.sites.empty() || !report.sync_sites.empty()) return true;
  return report.source.detail == kTransfersDetail && !report.source.devices.empty();
}

void PathCost::add(const PathCost& other) {
  count += other.count;
  bytes += other.bytes;
  for (const auto member :
       {&PathCost::device_time_ns, &PathCost::host_blocked_ns, &PathCost::exposed_ns, &PathCost::gpu_idle_ns}) {
    if (other.*member) this->*member = (this->*member).value_or(0) + *(other.*member);
  }
}

std::vector<std::uint32_t> way_to(const CallPaths& paths, std::uint32_t node) {
  std::vector<std::uint32_t> way;
  for (; node != kNoParent; node = paths.nodes[node].parent) way.push_back(node);
  std::reverse(way.begin(), way.end());
  return way;
}

}  // namespace turnpike::analyze
