// The engine that moves bytes between host memory and GPUs at the speed of the link: the whole public face of src/move.
//
// An engine belongs to a process and serves all of its GPUs and threads. It works on addresses, sizes and streams, so
// it needs no framework: tensors of PyTorch, buffers of CUDA C++ and NumPy arrays are the same to it. Bytes of pageable
// memory are carried by threads through a bounded ring of page-locked slots; page-locked memory crosses directly.
//
// Whose memory may be touched when, for every call below:
//   - device memory must have been allocated for use on the stream that is given (what PyTorch's caching allocator
//   hands
//     out while that stream is current, or cudaMalloc's); every copy runs after what is in that stream at the call;
//   - host memory that is page-locked must stay as it is until the transfer is done; pageable memory until the call or,
//     for a Transfer, is_staged() says so.
//
// After a fork, an engine of the parent must not be used in the child; CUDA itself cannot be either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

struct CUstream_st;  // what cudaStream_t and CUstream point to

namespace turnpike::cuda {
struct Driver;
}

namespace turnpike::move {

using Stream = CUstream_st*;          // nullptr: the legacy default stream
using DeviceAddress = std::uint64_t;  // CUdeviceptr, or a pointer that the CUDA runtime gave

// How a block that is not dense lies in host memory: sizes[i] items, strides_bytes[i] apart (any sign), the last
// dimension fastest in the dense order of the device's side.
struct Layout {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides_bytes;
  std::uint32_t item_bytes = 1;
};

// One stretch of bytes with a side on the host and a side on a device, dense on the device.
struct Piece {
  void* host = nullptr;  // only read by uploads
  DeviceAddress device = 0;
  std::size_t size_bytes = 0;      // on the device
  bool is_pinned = false;          // the host side is page-locked: no staging. Ignored where there is a layout
  const Layout* layout = nullptr;  // of the host side, nullptr: dense. Must live as long as the transfer. Uploads only
  // The device's side lies right behind that of the piece before, in the same allocation: they may share a copy, which
  // is what makes many small ones fast. (CUDA refuses a copy across the border of two allocations.)
  bool joins_previous = false;
  // Of an upload: no bytes of the host, but a gap between two pieces, whose bytes on the device may become anything.
  bool is_padding = false;
};

// How threads store what they bring into a slot.
enum class Store {
  kPlain,      // memcpy: through the caches, and the line is read before it is written
  kStreaming,  // past the caches, for the first part of a transfer; then plainly
  kString      // rep movsb: whole lines are owned without being read, and stay in the caches
};

// The stretch of device memory that was allocated as one.
struct DeviceRange {
  DeviceAddress begin = 0;
  DeviceAddress end = 0;
};

struct Settings {
  unsigned int threads = 8;                          // that stage, the caller's own not counted; 1 to 64
  std::size_t chunk_bytes = std::size_t{4} << 20;    // of one slot of the ring
  std::size_t pinned_bytes = std::size_t{64} << 20;  // most page-locked memory; at least two slots
  unsigned int gatherers = 12;                       // of the threads, that fill slots of one upload at a time; from 1
  Store store = Store::kStreaming;
};

// What an engine has without calibration: more threads the more cores there are.
Settings default_settings();

// What crossed in one direction since the engine was opened.
struct Traffic {
  std::uint64_t transfers = 0;
  std::uint64_t bytes = 0;
  std::uint64_t staged_bytes = 0;   // through the ring: pageable
  std::uint64_t packed_pieces = 0;  // that shared a copy with others
  std::uint64_t timed_bytes = 0;    // of the transfers of 16 MiB and more, whose rate is worth to be told
  std::uint64_t timed_ns = 0;       // how long these took, first byte to last, waits for the stream included
};

struct Stats {
  Traffic h2d;
  Traffic d2h;
  Traffic p2p;
  std::uint64_t pinned_bytes = 0;  // page-locked by the engine now
  std::uint64_t pending = 0;       // transfers that are not done
};

// A transfer under way. Safe from one thread at a time. Destroying one that is not done abandons it: what has not been
// copied yet stays as it was, and the stream that it was made for waits for what has. Its owner is dropped as soon as
// no copy needs host memory any more, by a thread of the engine where nobody else does.
class Transfer {
 public:
  virtual ~Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Whether pageable host memory of an upload has been read. Never waits.
  virtual bool is_staged() = 0;
  // Whether every byte has arrived, or the transfer failed. Never waits for the device.
  virtual bool is_done() = 0;
  // Makes `stream`, one of `device`, wait until every byte has crossed; the host waits only until all copies have been
  // issued. For a download that means: what follows in the stream may overwrite the device memory.
  virtual Status wait_on(int device, Stream stream) = 0;
  // The host waits until every byte has arrived.
  virtual Status wait() = 0;

 protected:
  Transfer() = default;
};

// The last argument of every call that copies, `label`, says for what: "train.py:71 tp.prefetch", say. The copies are
// issued inside NVTX ranges of that text, of the domain "turnpike". Without a text, or without a tool that listens,
// there are none.
class Engine {
 public:
  // Opens the CUDA driver of this machine, and starts the threads when the first transfer needs them. An Error without
  // a driver or a GPU, or for settings out of range.
  static Result<std::unique_ptr<Engine>> open(const Settings& settings = default_settings());
  // With a driver of the caller's choice (a simulated one).
  static Result<std::unique_ptr<Engine>> open(const cuda::Driver& driver, const Settings& settings);

  virtual ~Engine() = default;  // waits for every transfer under way, but not for one whose Transfer lives on
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Copies to `device` in the order of `stream`. Returns when every copy has been issued: what is put into the stream
  // from now on finds the bytes. Half of the page-locked memory that the settings allow holds what is staged without a
  // wait for the stream, if others leave it; more waits for slots, which come free as the stream gets to the copies. An
  // Error, here and below, for a piece with bytes and no host address. Pageable memory has been read by then;
  // page-locked memory has not, and `owner` is held until it has.
  virtual Status upload(int device, std::span<const Piece> pieces, Stream stream, std::shared_ptr<void> owner = nullptr,
                        const std::string& label = {}) = 0;
  // Copies from `device` in the order of `stream`, and returns when the bytes are in host memory. `is_fresh`: nobody
  // has written to this host memory since it was allocated, so its pages may be made large and need not be kept.
  virtual Status download(int device, std::span<const Piece> pieces, Stream stream, bool is_fresh = false,
                          const std::string& label = {}) = 0;

  // Copies to `device` beside what runs in `stream`, on a stream of the engine, after what is in `stream` now. The
  // pieces are copied from; `owner` is held until page-locked and pageable sources are no longer needed, and until
  // `stream` waits for the copies.
  virtual Result<std::unique_ptr<Transfer>> upload_ahead(int device, std::span<const Piece> pieces, Stream stream,
                                                         std::shared_ptr<void> owner,
                                                         const std::string& label = {}) = 0;
  // Copies from `device` beside what runs in `stream`, after what is in it now. Up to kInStreamBytes the copy runs in
  // `stream` itself, before whatever is put there next; above, on a stream of the engine, so the device memory must not
  // be changed until it is done: give it a snapshot. One piece of 4 or 8 bytes in the legacy default stream costs one
  // call of the driver; anything else costs an event, too. `is_fresh`: as for download(). `owner` is held until then,
  // and must keep both sides alive.
  virtual Result<std::unique_ptr<Transfer>> download_behind(int device, std::span<const Piece> pieces, Stream stream,
                                                            std::shared_ptr<void> owner, bool is_fresh = false,
                                                            const std::string& label = {}) = 0;
  static constexpr std::size_t kInStreamBytes = std::size_t{64} << 10;

  // Copies between two devices (or within one) on streams of the engine, after what is in both streams now. wait_on()
  // is for either side: the reader of `to`, and who wants to overwrite `from`. A pair of devices is tried once with
  // known bytes; where they arrive wrong, or the devices do not reach each other, copies are staged through the host.
  virtual Result<std::unique_ptr<Transfer>> copy_peer(int to_device, DeviceAddress to, Stream to_stream,
                                                      int from_device, DeviceAddress from, Stream from_stream,
                                                      std::size_t size_bytes, std::shared_ptr<void> owner,
                                                      const std::string& label = {}) = 0;
  enum class PeerRoute { kDirect, kStaged };
  // How copies from one device to the other go; tries the pair when that has not been done.
  virtual Result<PeerRoute> peer_route(int from_device, int to_device) = 0;

  // Page-locks memory in place: no copy, no more memory. Pages that nobody touched yet are brought in by all threads.
  // An Error for memory that is a file's, and where the system's limit (ulimit -l) is reached. Memory is page-locked
  // for every GPU; which one is asked does not matter but for what it costs to open it: `device`, or, where it is -1,
  // one that this thread or this process uses already.
  virtual Status pin(void* memory, std::size_t size_bytes, int device = -1) = 0;
  // Waits for every device that this process uses, by the engine or not, and undoes pin(). The memory must still be
  // there. A device of which a stream is being captured cannot be waited for: the driver refuses, and the capture is
  // lost.
  virtual Status unpin(void* memory) = 0;

  // Sets is_pinned of each dense piece whose host memory the driver knows as page-locked. The GPU may write to such
  // memory: it holds what it will only when the stream has come so far, so the CPU must not read it for an upload.
  virtual Status find_pinned(int device, std::span<Piece> pieces) = 0;
  // The allocation that holds the address. An Error for memory that is not a device's.
  virtual Result<DeviceRange> allocation_at(int device, DeviceAddress address) = 0;
  // Whether a stream is being captured into a CUDA graph.
  virtual Result<bool> is_capturing(int device, Stream stream) = 0;
  // Whether nothing is left to do in a stream. Never waits. An Error while it is being captured.
  virtual Result<bool> is_idle(int device, Stream stream) = 0;

  virtual Stats stats() const = 0;
  virtual Settings settings() const = 0;
  // Waits for what is under way, and goes on with other settings.
  virtual Status configure(const Settings& settings) = 0;
  // The tool that hears the labels where the environment (NVTX_INJECTION64_PATH) names none, by its function
  // InitializeInjectionNvtx2. Too late once a call had a label.
  static void show_labels_to(int (*initialize_injection)(void* get_export_table));

  // Gives back the page-locked memory that is not in use; it is taken again when needed. Returns the bytes given back.
  virtual std::size_t release_pinned() = 0;
  // Brings small downloads that have arrived, and drops the owners of transfers that are done; every call above does so
  // too, and soon after the copies have run a thread of the engine does the latter.
  virtual void reap() = 0;

 protected:
  Engine() = default;
};

}  // namespace turnpike::move
