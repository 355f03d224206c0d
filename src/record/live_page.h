// The live page of a recorded process: what it has counted so far, in memory that `turnpike top` reads.
//
// It is a memfd of this name, which others of the same user find among the descriptors in /proc/PID/fd. The recorder's
// own thread writes it a few times a second; readers only read. A new layout has a new version.
#pragma once

#include <atomic>
#include <cstdint>

namespace turnpike::record {

inline constexpr char kLivePageName[] = "turnpike-live";
inline constexpr std::uint64_t kLivePageMagic = 0x4556494C4B505455;  // the letters UTPKLIVE
inline constexpr std::uint32_t kLivePageVersion = 1;

enum LiveDirection : std::uint32_t { kLiveH2d, kLiveD2h, kLiveD2d, kLiveP2p, kLiveH2h, kLiveMemset, kLiveSync };
inline constexpr std::uint32_t kLiveTransferDirections = 6;  // all but kLiveSync

enum class LiveState : std::uint32_t { kRecording = 1, kStopped = 2 };

// Texts end with a zero, and are cut to fit.
struct LiveSite {
  char file[160];      // of Python, or a module; "": the line is not known
  char function[120];  // of Python, or a mangled symbol
  char op[64];         // at::_ops::STRUCT (base/operator_name.h); "": none
  std::uint32_t line;  // 0: unknown
  LiveDirection direction;
  std::uint64_t count;
  std::uint64_t bytes;
  std::uint64_t host_time_ns;  // in the calls
};

struct LiveDevice {
  char name[64];
  char link[128];  // as the metadata `link.N` of a trace says it (docs/format.md)
};

struct LivePage {
  static constexpr std::uint32_t kMostSites = 64;
  static constexpr std::uint32_t kMostDevices = 16;

  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t struct_bytes;
  std::uint64_t sequence;  // odd while the rest is being written

  std::uint32_t pid;
  LiveState state;
  std::int64_t start_realtime_ns;
  std::int64_t start_monotonic_ns;
  std::int64_t updated_monotonic_ns;
  std::uint64_t update_ns;  // what all updates of the page have taken

  std::uint64_t transfer_count[kLiveTransferDirections];
  std::uint64_t transfer_bytes[kLiveTransferDirections];
  std::uint64_t device_time_ns[kLiveTransferDirections];
  // Of h2d and d2h, by the kind of host memory; what is neither is managed memory, or CUPTI could not tell.
  std::uint64_t pageable_count[2];
  std::uint64_t pageable_bytes[2];
  std::uint64_t pinned_count[2];
  std::uint64_t pinned_bytes[2];
  std::uint64_t sync_count;
  std::uint64_t host_time_ns;  // in calls that copy or synchronise
  std::uint64_t kernel_count;
  std::uint64_t loss_count;
  std::uint64_t written_bytes;

  char program[256];
  char file[512];  // the trace
  char host[64];
  char rank[16];
  char local_rank[16];
  char world_size[16];
  char job_id[64];

  std::uint32_t device_count;
  std::uint32_t site_count;
  std::uint64_t known_sites;  // of all: more than fit here
  LiveDevice devices[kMostDevices];
  LiveSite sites[kMostSites];  // by host time, most first
};
static_assert(sizeof(LivePage) % sizeof(std::uint64_t) == 0);
static_assert(sizeof(LiveSite) == 376);

// A page is shared between processes word by word: `sequence` before and after tells whether the words are of one
// update.
inline constexpr std::size_t kLivePageWords = sizeof(LivePage) / sizeof(std::uint64_t);
inline constexpr std::size_t kLiveSequenceWord = 2;

}  // namespace turnpike::record
