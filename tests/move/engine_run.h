// One engine under a simulated driver and one seed, and what must hold at the end of every such run.
#pragma once

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "cargo.h"
#include "move/move.h"
#include "seeds.h"
#include "simulated/allocator.h"
#include "simulated/simulation.h"
#include "stress.h"

namespace turnpike::move {

// Small: two slots or a few, so that every transfer has to wait for them.
Settings some_settings(simulated::Random& random);

class EngineRun {
 public:
  EngineRun(std::uint64_t its_seed, const simulated::Options& options, const Settings& its_settings);
  explicit EngineRun(std::uint64_t its_seed, const simulated::Options& options = {});
  ~EngineRun();  // every holder of the test is gone, or it says so

  // A stream that device memory is allocated for; now and then the default one.
  Stream some_stream(int device) { return random.one_in(8) ? nullptr : simulation.make_stream(device); }
  // Its device memory goes back to the allocator with the last holder.
  std::shared_ptr<Cargo> some_upload(int device, Stream stream);
  std::shared_ptr<Cargo> some_download(int device, Stream stream, std::size_t most_bytes = 0);
  // Device memory for use in a stream.
  Place place_in(int device, Stream stream);
  // Kernels that write the cargo's bytes, look whether they are there, and overwrite them.
  void put_on_device(int device, Stream stream, const std::shared_ptr<Cargo>& cargo);
  void expect_on_device(int device, Stream stream, const std::shared_ptr<Cargo>& cargo);
  void overwrite_on_device(int device, Stream stream, const std::shared_ptr<Cargo>& cargo);
  // What a transfer from host memory has to hold: not the device memory, which may go at once when it is abandoned.
  std::shared_ptr<void> host_side(const Cargo& cargo) {
    return watched(std::make_shared<std::vector<std::shared_ptr<HostBlock>>>(cargo.blocks));
  }
  // An owner whose end is looked for when the engine is gone.
  std::shared_ptr<void> watched(std::shared_ptr<void> owner);

  // Ends the engine and the devices' work. Violations, leaks, wrong bytes and too much page-locked memory are failures.
  void end();

  std::uint64_t seed;
  simulated::Random random;
  simulated::Simulation simulation;
  simulated::SimulatedAllocator allocator;
  Settings settings;
  std::unique_ptr<Engine> engine;
  Shape shape;
  std::size_t more_pinned_bytes = 0;  // than the settings say, that the test itself page-locked by the engine
  bool may_leak = false;
  std::atomic<int> wrong{0};  // kernels that found other bytes

 private:
  // Of a kernel, drawn without `random`: threads of the test launch kernels, too.
  std::size_t some_steps() { return (seed + 7 * kernels_++) % 6; }

  std::atomic<std::size_t> kernels_{0};
  std::vector<std::weak_ptr<void>> watched_;
  bool has_ended_ = false;
};

// One transfer of a random kind, checked in its stream or on the host. Safe from any thread.
void transfer_something(EngineRun& run, simulated::Random& random, int device, Stream stream);

template <typename Body>
void run_under_seed(std::uint64_t seed, const Body& body, const simulated::Options& options = {}) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  EngineRun run(seed, options);
  body(run);
  run.end();
}

// Runs the body under each seed, and stops at the first that fails.
template <typename Body>
void for_each_seed(const Body& body, const simulated::Options& options = {}) {
  for (std::uint64_t seed = 0; seed < seeds() && !::testing::Test::HasFailure(); ++seed)
    run_under_seed(seed, body, options);
}

// The same, and goes on with other seeds until the time of a stress test is over.
template <typename Body>
void for_many_seeds(const Body& body) {
  const auto end = end_of_stress();
  for (std::uint64_t seed = 0; seed < seeds() || std::chrono::steady_clock::now() < end; ++seed) {
    run_under_seed(seed, body);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace turnpike::move
