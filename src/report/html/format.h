// The data inside the page, as web/format.json describes it: the page reads that file, and a test compares it with this
// one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace turnpike::report::html {

inline constexpr int kVersion = 1;

// The ids of the page's elements.
inline constexpr const char* kReportId = "tp-report";
inline constexpr const char* kContentsId = "tp-toc";
inline constexpr const char* kBlockId = "tp-b";
inline constexpr const char* kStaticId = "tp-static";
inline constexpr const char* kAppId = "tp-app";
inline constexpr const char* kPathsId = "tp-paths";

inline constexpr std::size_t kMaxBlockEvents = 65536;
inline constexpr std::size_t kMaxLaneNames = 65535;
inline constexpr std::size_t kMaxSites = 65534;
inline constexpr std::uint64_t kMaxTimeNs = 9007199254740991;
inline constexpr std::uint32_t kLongDuration = 4294967295;
inline constexpr std::uint32_t kNoLink = 4294967295;

enum class Column : std::uint8_t { kStart, kDuration, kName, kClass, kLink, kSite, kBytes, kExposed };
inline constexpr std::size_t kColumnCount = 8;
const char* name_of(Column column);
std::size_t width_of(Column column);  // bytes

enum class LaneKind : std::uint8_t {
  kSteps,
  kRanges,
  kHost,
  kPython,
  kState,
  kStream,
  kCopyUp,
  kCopyDown,
  kCopyPeer,
  kCopyDevice,
  kMemory
};
inline constexpr std::size_t kLaneKindCount = 11;
const char* name_of(LaneKind kind);
std::span<const Column> columns_of(LaneKind kind);

enum class Class : std::uint8_t {
  kOther = 0,
  kMatmul = 1,
  kAttention = 2,
  kElementwise = 3,
  kReduction = 4,
  kCollective = 5,
  kCopyKernel = 6,
  kKernel = 7,
  kPinned = 16,
  kPageable = 17,
  kManaged = 18,
  kUnknownMemory = 19,
  kDeviceCopy = 20,
  kPeer = 21,
  kMemset = 22,
  kCall = 32,
  kLaunch = 33,
  kCopyCall = 34,
  kPython = 35,
  kBlocked = 36,
  kIdleCopy = 48,
  kIdleSync = 49,
  kIdleLaunch = 50,
  kIdleInput = 51,
  kIdleRank = 52,
  kIdleUnknown = 53,
  kCopiesOnly = 54,
  kIdleAllocation = 55,
  kIdleBetweenKernels = 56,
  kIdleUnrecorded = 57,
  kIdleOtherDevice = 58,
  kStep = 64,
  kRange = 65,
  kLost = 80,
  kLeftOut = 81
};

struct ClassName {
  const char* name;
  Class value;
};
std::span<const ClassName> all_classes();

}  // namespace turnpike::report::html
