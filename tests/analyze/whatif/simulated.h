// A machine that carries out small programs, so that a change can be made in the program itself: what its steps take
// then is the truth that a prediction from the recording must meet.
//
// It knows nothing of graphs. Each thread does one thing after the other; each stream carries out its work in order,
// behind the events that it waits for; a device takes so many launches of a stream and no more before it begins the
// oldest of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyze/rules/step_program.h"
#include "durations.h"

namespace turnpike::analyze {

class Simulation;

// What the threads of a program do. Times are in microseconds.
class SimulatedProgram {
 public:
  // How a source tells of events: by their names and streams, as Turnpike's own recordings, or not, as torch.profiler.
  explicit SimulatedProgram(bool names_events = true) : names_events_(names_events) {}

  struct Copy {
    std::uint32_t line = 30;
    double us = 0;
    trace::CopyKind kind = trace::CopyKind::kHostToDevice;
    trace::MemoryKind host = trace::MemoryKind::kPinned;
    std::uint32_t stream = 7;
    std::uint32_t device = 0;
    bool holds_call = false;
    std::uint64_t bytes = 0;  // 0: as many as the link carries in `us`
  };

  void step();  // the main thread begins one
  void work(double us, std::uint32_t thread = kMainThread);
  void kernel(double us, std::uint32_t stream = 7, std::uint32_t device = 0, const std::string& name = "_Z6kernelv",
              std::uint32_t thread = kMainThread);
  // Its call takes no time and its kernel follows the one before it by so much: as a node of a CUDA graph.
  void node(double us, std::uint32_t stream = 7, double lag_us = 0.33);
  void copy(const Copy& copy, std::uint32_t thread = kMainThread);
  void record(std::uint64_t event, std::uint32_t stream, std::uint32_t device = 0);
  void wait(std::uint64_t event, std::uint32_t stream, std::uint32_t device = 0);
  // The same without calls, as in a CUDA graph.
  void join(std::uint64_t event, std::uint32_t from, std::uint32_t to);
  void synchronize(std::uint32_t stream, std::uint32_t line = 40);
  void synchronize_event(std::uint64_t event, std::uint32_t line = 40);
  void synchronize_device(std::uint32_t device = 0, std::uint32_t line = 40);
  void allocate(double us);  // waits for nothing
  void put(std::uint32_t queue, std::uint32_t thread);
  // `is_sampled`: a sample shows the thread in queue.get() while it waits.
  void take(std::uint32_t queue, std::uint32_t thread, bool is_sampled = false);

 private:
  friend class Simulation;
  // False: the thread cannot go on yet.
  using Act = std::function<bool(Simulation&)>;
  void add(std::uint32_t thread, Act act) { acts_[thread].push_back(std::move(act)); }

  bool names_events_;
  std::map<std::uint32_t, std::vector<Act>> acts_;
};

// Carries a program out, and records it.
class Simulation {
 public:
  static constexpr std::int64_t kCallNs = 5 * kUs;
  static constexpr std::int64_t kLaunchNs = 6 * kUs;  // from the start of a call to the start of its work
  static constexpr std::int64_t kGapNs = kUs;         // between two works of a stream
  static constexpr std::int64_t kEventNs = 2 * kUs;
  static constexpr std::int64_t kReturnNs = 5 * kUs;  // from the end of what a call waits for to its return
  static constexpr std::size_t kQueue = 1024;

  explicit Simulation(const SimulatedProgram& program) : names_events_(program.names_events_) {
    builder_.device(0, "GPU");
    builder_.device(1, "GPU");
    run(program);
  }

  ProcessBuilder& builder() { return builder_; }
  // When everything is done.
  double end_us() const { return static_cast<double>(end_ns_) / kUs; }

 private:
  friend class SimulatedProgram;
  using Stream = std::pair<std::uint32_t, std::uint32_t>;

  void run(const SimulatedProgram& program) {
    std::map<std::uint32_t, std::size_t> next;
    for (bool has_moved = true; std::exchange(has_moved, false);) {
      std::vector<std::pair<std::int64_t, std::uint32_t>> threads;  // the one that is furthest behind goes first
      for (const auto& [thread, acts] : program.acts_) threads.emplace_back(host_ns_[thread], thread);
      std::sort(threads.begin(), threads.end());
      for (const auto& [ns, thread] : threads) {
        const auto& acts = program.acts_.at(thread);
        if (next[thread] == acts.size() || !acts[next[thread]](*this)) continue;
        ++next[thread];
        has_moved = true;
        break;
      }
    }
    if (step_start_ns_) builder_.range("step", *step_start_ns_, host_ns_[kMainThread]);
  }

  void begin_step() {
    std::int64_t& now_ns = host_ns_[kMainThread];
    if (step_start_ns_) builder_.range("step", *step_start_ns_, now_ns);
    step_start_ns_ = now_ns;
    now_ns += kUs;
  }

  // When work that is launched now can begin.
  std::int64_t ready_ns(const Stream& stream, std::int64_t call_ns, std::int64_t launch_ns, std::int64_t gap_ns) {
    std::int64_t ready_ns = call_ns + launch_ns;
    if (const auto busy = stream_ns_.find(stream); busy != stream_ns_.end())
      ready_ns = std::max(ready_ns, busy->second + gap_ns);
    if (const auto awaited = awaited_ns_.find(stream); awaited != awaited_ns_.end())
      ready_ns = std::max(ready_ns, awaited->second + kEventNs);
    awaited_ns_.erase(stream);
    return ready_ns;
  }

  std::int64_t done_ns(const Stream& stream) const {
    std::int64_t done_ns = 0;
    if (const auto busy = stream_ns_.find(stream); busy != stream_ns_.end()) done_ns = busy->second;
    if (const auto awaited = awaited_ns_.find(stream); awaited != awaited_ns_.end())
      done_ns = std::max(done_ns, awaited->second);
    return done_ns;
  }

  void finish(const Stream& stream, std::int64_t end_ns) {
    stream_ns_[stream] = end_ns;
    end_ns_ = std::max(end_ns_, end_ns);
  }

  void kernel(std::uint32_t thread, const Stream& stream, std::int64_t ns, const std::string& name) {
    std::int64_t& now_ns = host_ns_[thread];
    const std::int64_t call_ns = now_ns;
    std::vector<std::int64_t>& starts_ns = starts_ns_[stream];
    now_ns += kCallNs;
    if (starts_ns.size() >= kQueue) now_ns = std::max(now_ns, starts_ns[starts_ns.size() - kQueue] + kReturnNs);
    const std::int64_t start_ns = ready_ns(stream, std::max(call_ns, now_ns - kLaunchNs), kLaunchNs, kGapNs);
    starts_ns.push_back(start_ns);
    finish(stream, start_ns + ns);
    const std::uint32_t id = ++correlation_;
    builder_.call({.kind = trace::CallKind::kLaunch,
                   .start_ns = call_ns,
                   .end_ns = now_ns,
                   .correlation = id,
                   .stack = line(20),
                   .name = "cudaLaunchKernel",
                   .thread = thread,
                   .device = stream.first});
    builder_.kernel({.start_ns = start_ns,
                     .end_ns = start_ns + ns,
                     .correlation = id,
                     .device = stream.first,
                     .stream = stream.second,
                     .name = name});
    end_ns_ = std::max(end_ns_, now_ns);
  }

  void copy(std::uint32_t thread, const SimulatedProgram::Copy& copy) {
    std::int64_t& now_ns = host_ns_[thread];
    const Stream stream{copy.device, copy.stream};
    const auto ns = static_cast<std::int64_t>(copy.us * kUs);
    const bool is_peer = copy.kind == trace::CopyKind::kPeerToPeer;
    const bool is_up = copy.kind == trace::CopyKind::kHostToDevice;
    const std::uint64_t bytes = copy.bytes != 0 ? copy.bytes : static_cast<std::uint64_t>(50 * ns);
    const std::int64_t call_ns = now_ns;
    std::int64_t start_ns = ready_ns(stream, call_ns, kLaunchNs, kGapNs);
    std::int64_t& engine_ns = engine_ns_[{copy.device, static_cast<int>(copy.kind)}];
    start_ns = std::max(start_ns, engine_ns + (engine_ns > 0 && !is_peer ? kGapNs : 0));
    if (!is_peer) engine_ns = start_ns + ns;
    finish(stream, start_ns + ns);
    now_ns = copy.holds_call ? start_ns + ns + kReturnNs : call_ns + kCallNs;
    const std::uint32_t id = ++correlation_;
    builder_.call({.start_ns = call_ns,
                   .end_ns = now_ns,
                   .correlation = id,
                   .stack = line(copy.line),
                   .thread = thread,
                   .device = copy.device,
                   .bytes = bytes});
    const auto device = trace::MemoryKind::kDevice;
    builder_.copy({.start_ns = start_ns,
                   .end_ns = start_ns + ns,
                   .correlation = id,
                   .bytes = bytes,
                   .kind = copy.kind,
                   .src = is_up ? copy.host : device,
                   .dst = is_up || is_peer ? device : copy.host,
                   .device = copy.device,
                   .stream = copy.stream,
                   .src_device = is_peer ? copy.device : trace::kUnknownId,
                   .dst_device = is_peer ? 1 - copy.device : trace::kUnknownId,
                   .is_async = !copy.holds_call || copy.host == trace::MemoryKind::kPageable});
    end_ns_ = std::max(end_ns_, now_ns);
  }

  void event_call(trace::CallKind kind, const char* name, std::uint64_t event, const Stream& stream) {
    std::int64_t& now_ns = host_ns_[kMainThread];
    builder_.call({.kind = kind,
                   .start_ns = now_ns,
                   .end_ns = now_ns + kUs,
                   .correlation = ++correlation_,
                   .stack = line(25),
                   .name = name,
                   .device = names_events_ ? stream.first : trace::kUnknownId,
                   .object = names_events_ ? event : 0,
                   .stream = names_events_ ? stream.second : trace::kUnknownId});
    now_ns += kUs;
  }

  void synchronize(const char* name, std::int64_t awaited_ns, std::uint32_t at, std::uint64_t event,
                   std::uint32_t stream, std::uint32_t device) {
    std::int64_t& now_ns = host_ns_[kMainThread];
    const std::int64_t call_ns = now_ns;
    now_ns = std::max(call_ns + 2 * kUs, awaited_ns + kReturnNs);
    builder_.call({.kind = trace::CallKind::kSynchronize,
                   .start_ns = call_ns,
                   .end_ns = now_ns,
                   .correlation = ++correlation_,
                   .stack = line(at),
                   .name = name,
                   .device = device,
                   .object = event,
                   .stream = stream});
    end_ns_ = std::max(end_ns_, now_ns);
  }

  bool take(std::uint32_t queue, std::uint32_t thread, bool is_sampled) {
    auto& items = queues_ns_[queue];
    if (items.empty()) return false;
    std::int64_t& now_ns = host_ns_[thread];
    const std::int64_t put_ns = items.front();
    items.erase(items.begin());
    for (std::int64_t at_ns = now_ns + 10 * kUs; is_sampled && at_ns < put_ns; at_ns += kMs) {
      builder_.sample(at_ns, waiting_stack(), thread);
    }
    now_ns = std::max(now_ns, put_ns + 20 * kUs);
    return true;
  }

  std::uint32_t line(std::uint32_t number) {
    const auto [found, is_new] = lines_.try_emplace(number, 0);
    if (is_new) found->second = builder_.line("/home/me/train.py", number);
    return found->second;
  }
  std::uint32_t waiting_stack() {
    if (waiting_stack_ == 0) {
      waiting_stack_ = builder_.stack({builder_.python("wait", "/usr/lib/python3.12/threading.py", 355),
                                       builder_.python("get", "/usr/lib/python3.12/queue.py", 171),
                                       builder_.python("step", "/home/me/train.py", 10)});
    }
    return waiting_stack_;
  }

  ProcessBuilder builder_;
  bool names_events_;
  std::map<std::uint32_t, std::int64_t> host_ns_;  // by thread
  std::map<Stream, std::int64_t> stream_ns_;       // when its work is done
  std::map<Stream, std::int64_t> awaited_ns_;      // what its next work waits for
  std::map<Stream, std::vector<std::int64_t>> starts_ns_;
  std::map<std::pair<std::uint32_t, int>, std::int64_t> engine_ns_;
  std::map<std::uint64_t, std::int64_t> event_ns_;
  std::map<std::uint32_t, std::vector<std::int64_t>> queues_ns_;
  std::map<std::uint32_t, std::uint32_t> lines_;
  std::uint32_t waiting_stack_ = 0;
  std::uint32_t correlation_ = 0;
  std::optional<std::int64_t> step_start_ns_;
  std::int64_t end_ns_ = 0;
};

inline void SimulatedProgram::step() {
  add(kMainThread, [](Simulation& on) {
    on.begin_step();
    return true;
  });
}

inline void SimulatedProgram::work(double us, std::uint32_t thread) {
  add(thread, [=](Simulation& on) {
    on.host_ns_[thread] += static_cast<std::int64_t>(us * kUs);
    return true;
  });
}

inline void SimulatedProgram::kernel(double us, std::uint32_t stream, std::uint32_t device, const std::string& name,
                                     std::uint32_t thread) {
  add(thread, [=](Simulation& on) {
    on.kernel(thread, {device, stream}, static_cast<std::int64_t>(us * kUs), name);
    return true;
  });
}

inline void SimulatedProgram::node(double us, std::uint32_t stream, double lag_us) {
  add(kMainThread, [=](Simulation& on) {
    const auto lag_ns = static_cast<std::int64_t>(lag_us * kUs);
    const std::int64_t start_ns = on.ready_ns({0, stream}, on.host_ns_[kMainThread], 0, lag_ns);
    on.finish({0, stream}, start_ns + static_cast<std::int64_t>(us * kUs));
    return true;
  });
}

inline void SimulatedProgram::copy(const Copy& copy, std::uint32_t thread) {
  add(thread, [=](Simulation& on) {
    on.copy(thread, copy);
    return true;
  });
}

inline void SimulatedProgram::record(std::uint64_t event, std::uint32_t stream, std::uint32_t device) {
  add(kMainThread, [=](Simulation& on) {
    on.event_ns_[event] = on.done_ns({device, stream});
    on.event_call(trace::CallKind::kEventRecord, "cudaEventRecord", event, {device, stream});
    return true;
  });
}

inline void SimulatedProgram::wait(std::uint64_t event, std::uint32_t stream, std::uint32_t device) {
  add(kMainThread, [=](Simulation& on) {
    std::int64_t& awaited_ns = on.awaited_ns_[{device, stream}];
    awaited_ns = std::max(awaited_ns, on.event_ns_[event]);
    on.event_call(trace::CallKind::kStreamWait, "cudaStreamWaitEvent", event, {device, stream});
    return true;
  });
}

inline void SimulatedProgram::join(std::uint64_t event, std::uint32_t from, std::uint32_t to) {
  add(kMainThread, [=](Simulation& on) {
    on.event_ns_[event] = on.done_ns({0, from});
    std::int64_t& awaited_ns = on.awaited_ns_[{0, to}];
    awaited_ns = std::max(awaited_ns, on.event_ns_[event]);
    return true;
  });
}

inline void SimulatedProgram::synchronize(std::uint32_t stream, std::uint32_t line) {
  add(kMainThread, [=](Simulation& on) {
    on.synchronize("cudaStreamSynchronize", on.done_ns({0, stream}), line, 0, stream, 0);
    return true;
  });
}

inline void SimulatedProgram::synchronize_event(std::uint64_t event, std::uint32_t line) {
  add(kMainThread, [=](Simulation& on) {
    on.synchronize("cudaEventSynchronize", on.event_ns_[event], line, on.names_events_ ? event : 0, trace::kUnknownId,
                   on.names_events_ ? 0 : trace::kUnknownId);
    return true;
  });
}

inline void SimulatedProgram::synchronize_device(std::uint32_t device, std::uint32_t line) {
  add(kMainThread, [=](Simulation& on) {
    std::int64_t done_ns = 0;
    for (const auto& [stream, ns] : on.stream_ns_) {
      if (stream.first == device) done_ns = std::max(done_ns, on.done_ns(stream));
    }
    on.synchronize("cudaDeviceSynchronize", done_ns, line, 0, trace::kUnknownId, device);
    return true;
  });
}

inline void SimulatedProgram::allocate(double us) {
  add(kMainThread, [=](Simulation& on) {
    std::int64_t& now_ns = on.host_ns_[kMainThread];
    const std::int64_t call_ns = std::exchange(now_ns, now_ns + static_cast<std::int64_t>(us * kUs));
    on.builder_.call({.kind = trace::CallKind::kDeviceAlloc,
                      .start_ns = call_ns,
                      .end_ns = now_ns,
                      .correlation = ++on.correlation_,
                      .name = "cudaMalloc",
                      .device = 0});
    on.end_ns_ = std::max(on.end_ns_, now_ns);
    return true;
  });
}

inline void SimulatedProgram::put(std::uint32_t queue, std::uint32_t thread) {
  add(thread, [=](Simulation& on) {
    on.queues_ns_[queue].push_back(on.host_ns_[thread]);
    return true;
  });
}

inline void SimulatedProgram::take(std::uint32_t queue, std::uint32_t thread, bool is_sampled) {
  add(thread, [=](Simulation& on) { return on.take(queue, thread, is_sampled); });
}

}  // namespace turnpike::analyze
