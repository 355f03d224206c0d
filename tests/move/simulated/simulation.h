// A simulated CUDA driver for tests: devices whose streams run in every order that CUDA allows, and that finds misuse.
//
// Device memory is memory of the simulation at addresses that the host cannot follow. What an operation writes holds
// poison from its start (where nothing else uses the bytes, from its issue) to its end, and it reads when it runs. One
// simulation lives at a time, because a driver is a table of plain functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "simulated/machine.h"

namespace turnpike::simulated {

// A kernel of the program under test, in a stream. `body` runs at its end and may follow bytes(), but must not call the
// driver nor the simulation otherwise.
struct Kernel {
  std::string name = "a kernel";
  std::vector<Range> reads = {};
  std::vector<Range> writes = {};   // wholly overwritten: hold poison from the start of the kernel on
  std::vector<Range> updates = {};  // read and written
  std::size_t steps = 0;            // that others may do while it runs
  std::function<void()> body = {};
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed, const Options& options = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  const cuda::Driver& driver() const { return driver_; }

  // What the program around the code under test has: none of it counts as a leak or as pinned bytes.
  void set_device(int device);  // makes its context current to this thread; kHost: none
  int current_device() const;   // kHost: none
  CUstream_st* make_stream(int device, bool is_blocking = false);
  CUevent_st* make_event(int device);
  std::uint64_t device_memory(int device, std::size_t size_bytes);
  std::byte* pinned_memory(std::size_t size_bytes);
  void free_memory(std::uint64_t address);
  void free_memory(std::byte* pinned) { free_memory(reinterpret_cast<std::uint64_t>(pinned)); }
  void launch(int device, CUstream_st* stream, Kernel kernel);

  // Where the bytes of a device are. For kernels, for filling fresh memory, and for looking after finish().
  std::byte* bytes(std::uint64_t address);

  // Puts into the stream what ends only when let_go() is called: a kernel that runs for long.
  std::shared_ptr<Operation> hold(int device, CUstream_st* stream);
  void let_go(const std::shared_ptr<Operation>& hold);

  // This thread captures a stream from now on, in a mode of CUDA's: it may not synchronise, ask, or take memory, and in
  // global mode the other threads may not either, but for those in relaxed mode. One capture at a time.
  void begin_capture(CUstream_st* stream, int device = 0, int mode = cuda::kCaptureModeGlobal);
  void end_capture();
  // What this thread may call while a stream is captured.
  int capture_mode() const;

  // Makes the nth call from now on of a function of the table, by its name there, fail once.
  void fail(const std::string& function, std::size_t nth, cuda::DriverCode code);
  void forget_failures();
  std::size_t calls(const std::string& function) const;
  // Whether the code under test holds the context of this device.
  bool is_opened(int device) const;
  // Every function that was called, with how often.
  std::map<std::string, std::size_t> calls() const;

  // Runs what is in the streams, and looks at all guards.
  void finish();
  std::vector<Violation> violations() const;
  // One line for each violation; empty: there was none.
  std::string violations_text() const;
  bool has_violation(Rule rule) const;
  void forget_violations();  // those so far were meant
  // What was taken through the driver and not given back, one line each; empty: nothing.
  std::string leaks() const;
  std::size_t pinned_bytes() const;       // page-locked through the driver now
  std::size_t most_pinned_bytes() const;  // ... at most, so far

 private:
  cuda::Driver driver_;
  mutable std::unique_ptr<Machine> machine_;
};

inline Range range_of(std::uint64_t begin, std::size_t size_bytes) {
  return {begin, begin + size_bytes};
}

}  // namespace turnpike::simulated
