// The trace format: every structure that stands in a file, byte for byte. docs/format.md draws the same in words.
//
// A trace file is a FileHeader followed by chunks; a chunk is a ChunkHeader followed by `size` bytes. Little-endian,
// every structure a multiple of 8 bytes. Files are only ever appended to. A definition (string, frame, stack) may stand
// after its first use. Versions: a reader accepts every version up to its own; within a version only chunk types,
// record kinds, loss names and metadata keys may be added, and a reader skips those it does not know.
#pragma once

#include <cstdint>
#include <limits>

namespace turnpike::trace {

// A recording that keeps only the last of a program (`turnpike record --last`) has one file of definitions, 4711.tpt,
// and segments of records beside it, 4711.000001.tps and so on: each a trace file, whose FileHeader::reserved[0] holds
// the correlation id from which on the calls are in this segment or a later one. Metadata of the first file says so:
inline constexpr const char* kLastMetadata = "last_ms";
// Why a copy of such a recording was kept, as a sentence.
inline constexpr const char* kKeptMetadata = "kept_because";
// Why a process that uses CUDA could not be recorded, as a sentence.
inline constexpr const char* kUnusableMetadata = "unusable";
// How often and how long threads of the program were in the recorder's own code: "count=12 ns=3456".
inline constexpr const char* kSelfTimeMetadata = "self_time";
// What became of the source files of the program.
inline constexpr const char* kSourceMetadata = "source";
inline constexpr const char* kSegmentExtension = ".tps";
inline constexpr int kSegmentDigits = 6;  // at least

inline constexpr char kFileMagic[8] = {'T', 'P', 'K', 'T', 'R', 'A', 'C', 'E'};
inline constexpr std::uint32_t kFormatVersion = 1;
// Starts every chunk, so that a reader finds the next whole chunk behind a damaged one. The letters TPKC.
inline constexpr std::uint32_t kChunkMagic = 0x434B5054;
// A larger size in a chunk header is damage: writers stay far below, readers need not believe it.
inline constexpr std::uint32_t kMaxChunkBytes = 64u << 20;

inline constexpr std::uint32_t kUnknownId = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t kUnknownTime = std::numeric_limits<std::int64_t>::min();
// 73 years before or after the epoch: an int64 holds the distance of any two such times.
inline constexpr std::int64_t kMaxTimeNs = std::int64_t{1} << 61;
constexpr bool is_possible_time(std::int64_t time_ns) {
  return time_ns == kUnknownTime || (time_ns >= -kMaxTimeNs && time_ns <= kMaxTimeNs);
}
inline constexpr std::uint64_t kUnknownSize = std::numeric_limits<std::uint64_t>::max();
// Ids of strings, frames and stacks start at 1; 0 is "none".
inline constexpr std::uint32_t kNoId = 0;

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;       // sizeof(FileHeader) of the writer: the first chunk stands there
  std::int64_t start_realtime_ns;   // CLOCK_REALTIME when recording started
  std::int64_t start_monotonic_ns;  // CLOCK_MONOTONIC at the same moment
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint64_t reserved[3];
};
static_assert(sizeof(FileHeader) == 64);

enum class ChunkType : std::uint32_t {
  kMetadata = 1,  // MetadataEntry, key, value, padding to 8, repeated. A later value of a key replaces an earlier one
  kStrings = 2,   // StringEntry, bytes, padding to 8, repeated
  kFrames = 3,    // FrameEntry, repeated
  kStacks = 4,    // StackEntry, frame ids (innermost first), padding to 8, repeated
  kRecords = 5,   // records, each starting with a RecordHeader
  kClock = 6,     // ClockSample, repeated
  kLosses = 7,    // LossEntry, repeated: counts since the start; a later chunk replaces an earlier one
  kEnd = 8,       // EndEntry: written last, by a recorder that could close its file
  kSources = 9,   // SourceEntry, repeated
  kSourceText = 10,  // SourceTextEntry, text, padding to 8, repeated
};

struct ChunkHeader {
  std::uint32_t magic;
  ChunkType type;
  std::uint32_t size;  // bytes that follow this header; a multiple of 8
  std::uint32_t crc;   // CRC-32C of the 4 bytes of type, the 4 of size and the payload
};
static_assert(sizeof(ChunkHeader) == 16);

struct MetadataEntry {
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
};
static_assert(sizeof(MetadataEntry) == 8);

struct StringEntry {
  std::uint32_t id;
  std::uint32_t bytes;
};
static_assert(sizeof(StringEntry) == 8);

enum class FrameKind : std::uint32_t { kPython = 1, kNative = 2, kOperator = 3 };

// One place in the code. Python: the qualified function name, the file, the executing line. Native: the symbol as the
// linker knows it (mangled), the path of its module, and where in the module. Operator: PyTorch's name of it
// ("aten::to") as `function`; the recorder writes none, other tools' files name operators and not symbols.
struct FrameEntry {
  std::uint32_t id;
  FrameKind kind;
  std::uint32_t function;       // string id; kNoId when it has no name
  std::uint32_t file;           // string id: source file (Python) or module (native)
  std::uint32_t line;           // 0: unknown
  std::uint32_t first_line;     // Python: the line of the `def`; 0: unknown
  std::uint64_t module_offset;  // native: address of the call in the module, as in its ELF file; else 0
};
static_assert(sizeof(FrameEntry) == 32);

// A line that a compiler made the code of a frame from (torch.compile): the frame's file is one that nobody wrote. The
// entries of a frame follow one another, innermost first: the line, then the one that called its function, and so on.
struct SourceEntry {
  std::uint32_t frame;
  std::uint32_t function;  // string id: the function's name; kNoId when it has none
  std::uint32_t file;      // string id
  std::uint32_t line;
};
static_assert(sizeof(SourceEntry) == 16);

// Whole lines of a source file, as it was when the program ran it; each line ends with '\n'. Entries of one file may
// overlap.
struct SourceTextEntry {
  std::uint32_t file;        // string id
  std::uint32_t first_line;  // 1: the first of the file
  std::uint32_t bytes;       // of the text
  std::uint32_t reserved;
  std::uint8_t sha256[32];  // of the whole file
};
static_assert(sizeof(SourceTextEntry) == 48);

struct StackEntry {
  std::uint32_t id;
  std::uint16_t frame_count;
  std::uint16_t flags;  // kStackIsTruncated
};
static_assert(sizeof(StackEntry) == 8);
inline constexpr std::uint16_t kStackIsTruncated = 1;  // deeper than what was kept, or a frame that could not be walked

// The same moment on each clock. Records use CLOCK_REALTIME, the clock of CUPTI; a step of it shows against the
// monotonic one.
struct ClockSample {
  std::int64_t realtime_ns;
  std::int64_t monotonic_ns;
  std::int64_t cupti_ns;  // cuptiGetTimestamp; kUnknownTime when there is none
  std::uint64_t tsc;      // the processor's counter: TSC, or CNTVCT on aarch64
};
static_assert(sizeof(ClockSample) == 32);

struct LossEntry {
  std::uint32_t loss;  // enum class Loss (trace/losses.h)
  std::uint32_t reserved;
  std::uint64_t count;
};
static_assert(sizeof(LossEntry) == 16);

struct EndEntry {
  std::int64_t end_realtime_ns;
  std::uint64_t call_count;  // what the recorder wrote of each, for the reader to reconcile
  std::uint64_t memcpy_count;
  std::uint64_t memcpy_bytes;
  std::uint64_t memset_count;
  std::uint64_t kernel_count;
  std::uint64_t reserved[2];
};
static_assert(sizeof(EndEntry) == 64);

enum class RecordKind : std::uint16_t {
  kCall = 1,
  kMemcpy = 2,
  kMemset = 3,
  kKernel = 4,
  kRange = 5,
  kDevice = 6,
  kThread = 7,
  kStream = 8,
  kMigration = 9,
  kGraphNode = 10,
  kContent = 11,
  kMemory = 12,
  kSample = 13,
  kLinkTraffic = 14,
};

struct RecordHeader {
  RecordKind kind;
  std::uint16_t bytes;  // of the whole record, header included
};
static_assert(sizeof(RecordHeader) == 4);

// What a call of the CUDA API is for.
enum class CallKind : std::uint8_t {
  kOther = 0,
  kCopy = 1,         // bytes, dst, src
  kMemset = 2,       // bytes, dst
  kSynchronize = 3,  // device, stream, event or context; object is the event for event synchronisation
  kLaunch = 4,
  kGraphLaunch = 5,
  kEventRecord = 6,    // object: the event
  kStreamWait = 7,     // object: the event
  kDeviceAlloc = 8,    // bytes, dst: the new address; of physical memory (cuMemCreate): its handle
  kDeviceFree = 9,     // dst
  kHostAlloc = 10,     // page-locked memory: bytes, dst
  kHostFree = 11,      // dst
  kHostRegister = 12,  // bytes, dst
  kHostUnregister = 13,
  kManagedAlloc = 14,  // bytes, dst
  kPrefetch = 15,      // managed memory: bytes, dst
};

enum class Api : std::uint8_t { kRuntime = 1, kDriver = 2 };

// Whether `autograd_sequence` holds, and what: the number that the next autograd node of this thread will get (in a
// forward pass), or the number of the node that is being evaluated (in a backward pass).
enum class AutogradRole : std::uint8_t { kUnknown = 0, kForward = 1, kBackward = 2 };

// One call of the CUDA API, on the host. A runtime call that is made of driver calls is one record, the outer one.
struct CallRecord {
  RecordHeader header;
  std::uint32_t thread;  // the system's thread id
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;  // the same in the records of the device work it caused; unique per process
  std::uint32_t stack;        // stack id; kNoId when none was taken
  std::uint32_t name;         // string id, e.g. cudaMemcpyAsync
  CallKind kind;
  Api api;
  AutogradRole autograd_role;
  std::uint8_t is_captured;  // 1: made a node of a CUDA graph instead of device work
  std::int32_t result;       // what the call returned (cudaError_t or CUresult)
  std::uint32_t context;     // CUPTI's context id; kUnknownId
  std::uint32_t stream;      // CUPTI's stream id; kUnknownId where the call names none or it was not asked for
  std::uint32_t device;      // kUnknownId where not known
  std::uint64_t bytes;       // kUnknownSize where the call has none
  std::uint64_t dst;         // addresses as the call was given them; 0 where it has none
  std::uint64_t src;
  std::uint64_t object;
  std::uint64_t autograd_sequence;
};
static_assert(sizeof(CallRecord) == 96);

// CUPTI's numbers.
enum class CopyKind : std::uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kHostToArray = 3,
  kArrayToHost = 4,
  kArrayToArray = 5,
  kArrayToDevice = 6,
  kDeviceToArray = 7,
  kDeviceToDevice = 8,
  kHostToHost = 9,
  kPeerToPeer = 10,
};
enum class MemoryKind : std::uint8_t {
  kUnknown = 0,
  kPageable = 1,
  kPinned = 2,
  kDevice = 3,
  kArray = 4,
  kManaged = 5,
  kDeviceStatic = 6,
  kManagedStatic = 7,
};

// A copy as the device (or, for host to host, the driver) carried it out.
struct MemcpyRecord {
  RecordHeader header;
  std::uint32_t device;
  std::int64_t start_ns;  // kUnknownTime when CUPTI could not tell
  std::int64_t end_ns;
  std::uint64_t bytes;
  std::uint32_t correlation;
  std::uint32_t context;
  std::uint32_t stream;
  CopyKind copy_kind;
  MemoryKind src_kind;
  MemoryKind dst_kind;
  std::uint8_t is_async;
  std::uint32_t src_device;  // peer copies; kUnknownId elsewhere
  std::uint32_t dst_device;
  std::uint32_t graph;       // CUDA graph id; 0 outside graphs
  std::uint32_t copy_count;  // copies that this record stands for (batched copies); 1 elsewhere
  std::uint64_t graph_node;  // 0 outside graphs
};
static_assert(sizeof(MemcpyRecord) == 72);

struct MemsetRecord {
  RecordHeader header;
  std::uint32_t device;
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint64_t bytes;
  std::uint32_t correlation;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t value;
  std::uint64_t graph_node;
  MemoryKind memory_kind;
  std::uint8_t reserved[7];
};
static_assert(sizeof(MemsetRecord) == 64);

struct KernelRecord {
  RecordHeader header;
  std::uint32_t device;
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t name;  // string id, mangled
  std::uint64_t graph_node;
  std::uint32_t graph;
  std::uint32_t reserved;
};
static_assert(sizeof(KernelRecord) == 56);

// An NVTX range that has ended, or a mark (start_ns == end_ns).
struct RangeRecord {
  RecordHeader header;
  std::uint32_t thread;      // where it started
  std::uint32_t end_thread;  // where it ended: the same for push and pop
  std::uint32_t name;        // string id
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t domain;  // string id; kNoId: the default domain
  std::uint32_t color;   // ARGB; 0 when none was given
};
static_assert(sizeof(RangeRecord) == 40);

inline constexpr std::uint16_t kUnknownNode = 0xFFFF;

struct DeviceRecord {
  RecordHeader header;
  std::uint32_t device;
  std::uint32_t name;  // string id
  std::uint32_t multiprocessors;
  std::uint64_t memory_bytes;
  std::uint32_t pci_domain;
  std::uint8_t pci_bus;
  std::uint8_t pci_device;
  std::uint16_t numa_node;  // of the host; kUnknownNode
};
static_assert(sizeof(DeviceRecord) == 32);

struct ThreadRecord {
  RecordHeader header;
  std::uint32_t thread;
  std::uint32_t name;  // string id
  std::uint32_t reserved;
};
static_assert(sizeof(ThreadRecord) == 16);

struct StreamRecord {
  RecordHeader header;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t name;  // string id; kNoId when it has none
  std::uint8_t is_default;
  std::uint8_t reserved[3];
};
static_assert(sizeof(StreamRecord) == 24);

// Managed memory that moved between host and device, or a fault.
enum class MigrationKind : std::uint8_t { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kFault = 4 };

struct MigrationRecord {
  RecordHeader header;
  std::uint32_t device;
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint64_t bytes;
  std::uint64_t address;
  MigrationKind kind;
  std::uint8_t reserved[7];
};
static_assert(sizeof(MigrationRecord) == 48);

// Where a node of a CUDA graph was made: the line that captured it, to which its copies belong.
struct GraphNodeRecord {
  RecordHeader header;
  std::uint32_t stack;  // kNoId for a clone
  std::uint64_t node;
  std::uint64_t cloned_from;  // the node that an instantiation copied; 0: none
};
static_assert(sizeof(GraphNodeRecord) == 24);

enum class ContentSide : std::uint8_t { kSource = 1, kDestination = 2 };

// What stood in the host memory of a copy: equal hashes of equally many bytes mean equal content, as far as it was
// hashed. An upload is hashed when its call returns, a download when its bytes have arrived.
struct ContentRecord {
  RecordHeader header;
  std::uint32_t correlation;  // of the copy
  std::uint64_t hash;
  std::uint64_t bytes;         // of the copy
  std::uint64_t hashed_bytes;  // fewer than `bytes`: a sample of places spread over it
  std::uint64_t address;       // of the host memory
  ContentSide side;            // which side of the copy the host memory is
  std::uint8_t reserved[7];
};
static_assert(sizeof(ContentRecord) == 48);

// The memory of the process at a moment.
struct MemoryRecord {
  RecordHeader header;
  std::uint32_t reserved;
  std::int64_t time_ns;
  std::uint64_t resident_bytes;  // of the whole process, as the system counts it
  std::uint64_t reserved2;
};
static_assert(sizeof(MemoryRecord) == 32);

// Where a thread was in the code at a moment.
struct SampleRecord {
  RecordHeader header;
  std::uint32_t thread;
  std::int64_t time_ns;
  std::uint32_t stack;
  std::uint32_t reserved;
};
static_assert(sizeof(SampleRecord) == 24);

// What went over the links of a GPU in a stretch of time, as the GPU counts it: for copies, for kernels that read or
// write host memory, for every program that uses it. kUnknownSize: not counted.
struct LinkTrafficRecord {
  RecordHeader header;
  std::uint32_t device;
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint64_t pcie_in_bytes;  // to the GPU
  std::uint64_t pcie_out_bytes;
  std::uint64_t nvlink_in_bytes;
  std::uint64_t nvlink_out_bytes;
};
static_assert(sizeof(LinkTrafficRecord) == 56);

}  // namespace turnpike::trace
