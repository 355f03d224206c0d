#include "report/html/format.h"

namespace turnpike::report::html {
namespace {

struct ColumnInfo {
  const char* name;
  std::size_t bytes;
};
constexpr std::array<ColumnInfo, kColumnCount> kColumns = {
    {{"start", 4}, {"duration", 4}, {"name", 2}, {"class", 1}, {"link", 4}, {"site", 2}, {"bytes", 8}, {"exposed", 4}}};

constexpr std::array<const char*, kLaneKindCount> kLanes = {"steps",     "ranges",      "host",    "python",
                                                            "state",     "stream",      "copy_up", "copy_down",
                                                            "copy_peer", "copy_device", "memory"};

using enum Column;
constexpr std::array kOfRanges = {kStart, kDuration, kName, Column::kClass};
constexpr std::array kOfHost = {kStart, kDuration, kName, Column::kClass, kSite};
constexpr std::array kOfState = {kStart, kDuration, kName, Column::kClass, kLink, kSite};
constexpr std::array kOfStream = {kStart, kDuration, kName, Column::kClass, kLink};
constexpr std::array kOfCopies = {kStart, kDuration, kName, Column::kClass, kLink, kSite, kBytes, kExposed};

constexpr ClassName kClasses[] = {{"other", Class::kOther},
                                  {"matmul", Class::kMatmul},
                                  {"attention", Class::kAttention},
                                  {"elementwise", Class::kElementwise},
                                  {"reduction", Class::kReduction},
                                  {"collective", Class::kCollective},
                                  {"copy_kernel", Class::kCopyKernel},
                                  {"kernel", Class::kKernel},
                                  {"pinned", Class::kPinned},
                                  {"pageable", Class::kPageable},
                                  {"managed", Class::kManaged},
                                  {"unknown_memory", Class::kUnknownMemory},
                                  {"device_copy", Class::kDeviceCopy},
                                  {"peer", Class::kPeer},
                                  {"memset", Class::kMemset},
                                  {"call", Class::kCall},
                                  {"launch", Class::kLaunch},
                                  {"copy_call", Class::kCopyCall},
                                  {"python", Class::kPython},
                                  {"blocked", Class::kBlocked},
                                  {"idle_copy", Class::kIdleCopy},
                                  {"idle_sync", Class::kIdleSync},
                                  {"idle_launch", Class::kIdleLaunch},
                                  {"idle_input", Class::kIdleInput},
                                  {"idle_rank", Class::kIdleRank},
                                  {"idle_unknown", Class::kIdleUnknown},
                                  {"copies_only", Class::kCopiesOnly},
                                  {"idle_allocation", Class::kIdleAllocation},
                                  {"idle_between_kernels", Class::kIdleBetweenKernels},
                                  {"idle_unrecorded", Class::kIdleUnrecorded},
                                  {"idle_other_device", Class::kIdleOtherDevice},
                                  {"step", Class::kStep},
                                  {"range", Class::kRange},
                                  {"lost", Class::kLost},
                                  {"left_out", Class::kLeftOut}};

}  // namespace

const char* name_of(Column column) {
  return kColumns[static_cast<std::size_t>(column)].name;
}

std::size_t width_of(Column column) {
  return kColumns[static_cast<std::size_t>(column)].bytes;
}

const char* name_of(LaneKind kind) {
  return kLanes[static_cast<std::size_t>(kind)];
}

std::span<const Column> columns_of(LaneKind kind) {
  switch (kind) {
    case LaneKind::kSteps:
    case LaneKind::kRanges:
      return kOfRanges;
    case LaneKind::kHost:
    case LaneKind::kPython:
      return kOfHost;
    case LaneKind::kState:
      return kOfState;
    case LaneKind::kStream:
      return kOfStream;
    case LaneKind::kCopyUp:
    case LaneKind::kCopyDown:
    case LaneKind::kCopyPeer:
    case LaneKind::kCopyDevice:
      return kOfCopies;
    case LaneKind::kMemory:
      break;
  }
  return {};
}

std::span<const ClassName> all_classes() {
  return kClasses;
}

}  // namespace turnpike::report::html
