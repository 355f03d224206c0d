// A program in steps, played by hand: the host issues calls, streams carry them out in order, and each wait lasts until
// what it waits for is done.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/process_builder.h"
#include "durations.h"

namespace turnpike::analyze {

// The operators of a `.to` that converts or moves, innermost first.
inline const std::vector<std::string> kTo = {"copy_", "to_dtype_layout"};
inline constexpr std::uint32_t kComputeStream = 0;  // where ProcessBuilder's kernels run
inline constexpr std::uint32_t kSideStream = 20;
inline constexpr std::uint64_t kMiB = 1u << 20;

// What holds the host: nothing, the call of the copy, or a synchronisation behind it.
enum class Wait { kNothing, kInCall, kBehind };

struct StepCopy {
  std::uint32_t stack = trace::kNoId;
  std::uint64_t bytes = 16 * kMiB;
  std::int64_t duration_ns = 300 * kUs;
  trace::MemoryKind host = trace::MemoryKind::kPinned;
  Wait wait = Wait::kNothing;
  std::uint32_t stream = kComputeStream;
  std::string api = "cudaMemcpyAsync";
  std::uint64_t address = 0;       // of the host memory
  std::uint64_t content = 0;       // hash of what stood there; 0: not recorded
  std::uint64_t hashed_bytes = 0;  // 0: all of them
  std::uint32_t device = 0;
};

class StepProgram {
 public:
  StepProgram() {
    builder_.device(0, "GPU");
    builder_.device(1, "GPU");
  }

  ProcessBuilder& builder() { return builder_; }

  // What a line of Python calls an operator by; the operators innermost first.
  std::uint32_t stack(std::uint32_t line, const std::vector<std::string>& operators) {
    std::vector<std::uint32_t> frames;
    for (const std::string& name : operators) frames.push_back(builder_.op(name));
    frames.push_back(builder_.python("step", "/home/me/train.py", line));
    return builder_.stack(frames);
  }

  // kComputeStream is the legacy default stream, and the other streams of GPU 0 are blocking ones.
  void make_streams_blocking() {
    are_streams_blocking_ = true;
    builder_.default_stream(0, kComputeStream);
  }

  template <typename Body>
  void steps(int count, const Body& body) {
    for (int step = 0; step < count; ++step) {
      const std::int64_t start_ns = host_ns_;
      body(step);
      host_ns_ += kUs;
      builder_.range("step", start_ns, host_ns_);
    }
    sync(trace::kNoId, "cudaDeviceSynchronize");
  }

  // The same without marks of steps.
  template <typename Body>
  void repeat(int count, const Body& body) {
    for (int turn = 0; turn < count; ++turn) body(turn);
    sync(trace::kNoId, "cudaDeviceSynchronize");
  }

  std::int64_t now_ns() const { return host_ns_; }

  void work(std::int64_t duration_ns) { host_ns_ += duration_ns; }

  // Where the host is now, until the next call.
  void sample(std::uint32_t stack) { builder_.sample(host_ns_, stack); }

  // A call that waits for nothing.
  void call(trace::CallKind kind, std::uint32_t stack, const std::string& api, std::int64_t duration_ns = 5 * kUs,
            std::uint64_t bytes = 0) {
    const auto id = begin();
    host_ns_ = call_start_ns_ + duration_ns;
    builder_.call({.kind = kind,
                   .start_ns = call_start_ns_,
                   .end_ns = host_ns_,
                   .correlation = id,
                   .stack = stack,
                   .name = api,
                   .device = 0,
                   .bytes = bytes});
  }

  void kernel(std::int64_t duration_ns, std::uint32_t device = 0, const std::string& name = "_Z6kernelv") {
    const auto id = begin();
    const auto [start_ns, end_ns] = run(device, kComputeStream, duration_ns);
    builder_.call({.kind = trace::CallKind::kLaunch,
                   .start_ns = call_start_ns_,
                   .end_ns = host_ns_,
                   .correlation = id,
                   .name = "cudaLaunchKernel",
                   .device = device});
    builder_.kernel({.start_ns = start_ns, .end_ns = end_ns, .correlation = id, .device = device, .name = name});
  }

  void upload(const StepCopy& copy) { cross(copy, trace::CopyKind::kHostToDevice); }
  void download(const StepCopy& copy) { cross(copy, trace::CopyKind::kDeviceToHost); }

  // From GPU 0, which carries it out, to GPU 1.
  void send(std::uint32_t stack, std::int64_t duration_ns, std::uint32_t stream) {
    const auto id = begin();
    const auto [start_ns, end_ns] = run(0, stream, duration_ns);
    builder_.call({.start_ns = call_start_ns_, .end_ns = host_ns_, .correlation = id, .stack = stack, .device = 0});
    builder_.copy({.start_ns = start_ns,
                   .end_ns = end_ns,
                   .correlation = id,
                   .bytes = 40 * kMiB,
                   .kind = trace::CopyKind::kPeerToPeer,
                   .src = trace::MemoryKind::kDevice,
                   .stream = stream,
                   .src_device = 0,
                   .dst_device = 1,
                   .is_async = true});
  }

  // Until all streams are done.
  void sync(std::uint32_t stack, const std::string& api) {
    call_start_ns_ = host_ns_;
    std::int64_t end_ns = host_ns_ + 2 * kUs;
    for (const auto& [stream, stream_ns] : stream_ns_) end_ns = std::max(end_ns, stream_ns + 5 * kUs);
    host_ns_ = end_ns;
    builder_.call({.kind = trace::CallKind::kSynchronize,
                   .start_ns = call_start_ns_,
                   .end_ns = host_ns_,
                   .correlation = ++correlation_,
                   .stack = stack,
                   .name = api,
                   .device = 0});
  }

  // The findings of one rule.
  std::vector<Finding> findings(const std::string& rule, const LinkRates& rates = {}) {
    const LoadedProcess processes[] = {builder_.take()};
    std::vector<Finding> findings = analyze_processes(processes, rates).findings;
    std::erase_if(findings, [&](const Finding& finding) { return finding.rule != rule; });
    return findings;
  }

 private:
  std::uint32_t begin() {
    call_start_ns_ = host_ns_;
    host_ns_ += 5 * kUs;
    return ++correlation_;
  }

  std::pair<std::int64_t, std::int64_t> run(std::uint32_t device, std::uint32_t stream, std::int64_t duration_ns) {
    std::int64_t& stream_ns = stream_ns_[{device, stream}];
    std::int64_t start_ns = std::max(host_ns_, stream_ns + kUs);
    for (const auto& [other, other_ns] : stream_ns_) {
      const bool is_one_default = (other.second == kComputeStream) != (stream == kComputeStream);
      if (are_streams_blocking_ && other.first == device && is_one_default)
        start_ns = std::max(start_ns, other_ns + kUs);
    }
    stream_ns = start_ns + duration_ns;
    return {start_ns, stream_ns};
  }

  void cross(const StepCopy& copy, trace::CopyKind kind) {
    const auto id = begin();
    const bool is_up = kind == trace::CopyKind::kHostToDevice;
    const auto [start_ns, end_ns] = run(copy.device, copy.stream, copy.duration_ns);
    if (copy.wait == Wait::kInCall) host_ns_ = std::max(host_ns_, end_ns + 3 * kUs);
    builder_.call({.start_ns = call_start_ns_,
                   .end_ns = host_ns_,
                   .correlation = id,
                   .stack = copy.stack,
                   .name = copy.api,
                   .device = copy.device,
                   .bytes = copy.bytes,
                   .dst = is_up ? 0 : copy.address,
                   .src = is_up ? copy.address : 0});
    if (copy.content != 0) {
      const auto side = is_up ? trace::ContentSide::kSource : trace::ContentSide::kDestination;
      builder_.content(id, side, copy.content, copy.bytes, copy.hashed_bytes);
    }
    builder_.copy({.start_ns = start_ns,
                   .end_ns = end_ns,
                   .correlation = id,
                   .bytes = copy.bytes,
                   .kind = kind,
                   .src = is_up ? copy.host : trace::MemoryKind::kDevice,
                   .dst = is_up ? trace::MemoryKind::kDevice : copy.host,
                   .device = copy.device,
                   .stream = copy.stream,
                   .is_async = copy.wait != Wait::kInCall || copy.host == trace::MemoryKind::kPageable});
    if (copy.wait == Wait::kBehind) sync(copy.stack, "cudaStreamSynchronize");
  }

  ProcessBuilder builder_;
  std::int64_t host_ns_ = 0;
  std::int64_t call_start_ns_ = 0;
  std::uint32_t correlation_ = 0;
  bool are_streams_blocking_ = false;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> stream_ns_;  // when it is done, by device and stream
};

// Of a link that was measured.
inline LinkRates link_of(double gbps, std::optional<double> d2h_cached_gbps = std::nullopt) {
  return [=](const std::string&, const std::string&) { return LinkRate{gbps, gbps, d2h_cached_gbps}; };
}

}  // namespace turnpike::analyze
