// Every function of the driver fails once in every call of the engine: an error comes out, nothing is lost or hangs,
// and the next call works.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>

#include "engine_run.h"

namespace turnpike::move {
namespace {

using simulated::Pace;

constexpr std::uint64_t kSeed = 5;
constexpr std::size_t kMostOfAFunction = 4;                // calls that fail, one after the other
constexpr std::size_t kTrialBytes = std::size_t{2} << 20;  // that trying a pair of devices page-locks

struct Scenario {
  std::string name;
  Status (*run)(EngineRun&);
};

// Odd, more than the ring holds, pageable and page-locked.
struct Goods {
  explicit Goods(EngineRun& run, std::size_t size_bytes = 30001)
      : pageable(std::make_shared<HostBlock>(run.simulation, size_bytes, false)),
        pinned(std::make_shared<HostBlock>(run.simulation, 5000, true)),
        device(run.simulation.device_memory(0, size_bytes + 6000)) {
    fill(run.random, pageable->data(), size_bytes);
    fill(run.random, pinned->data(), 5000);
    pieces[0] = {.host = pageable->data(), .device = device, .size_bytes = size_bytes};
    pieces[1] = {.host = pinned->data(), .device = device + size_bytes + 500, .size_bytes = 5000, .is_pinned = true};
  }
  // Whether the device has what the host has.
  bool are_there(EngineRun& run) const {
    return std::all_of(std::begin(pieces), std::end(pieces), [&run](const Piece& piece) {
      const auto* host = static_cast<const std::byte*>(piece.host);
      return std::equal(host, host + piece.size_bytes, run.simulation.bytes(piece.device));
    });
  }

  std::shared_ptr<HostBlock> pageable;
  std::shared_ptr<HostBlock> pinned;
  DeviceAddress device;
  Piece pieces[2];
};

Status upload(EngineRun& run) {
  const auto goods = std::make_shared<Goods>(run);
  const Stream stream = run.simulation.make_stream(0);
  const Status status = run.engine->upload(0, goods->pieces, stream, goods);
  if (status) {
    run.simulation.finish();
    EXPECT_TRUE(goods->are_there(run));
  }
  return status;
}

Status download(EngineRun& run) {
  const Goods goods(run);
  const Status status = run.engine->download(0, goods.pieces, run.simulation.make_stream(0));
  if (status) {
    EXPECT_TRUE(goods.are_there(run));
  }
  return status;
}

Status finish(EngineRun& run, Result<std::unique_ptr<Transfer>>& transfer, const Goods& goods) {
  if (!transfer) return transfer.error();
  const Status status = (*transfer)->wait();
  if (status) {
    EXPECT_TRUE(goods.are_there(run));
  }
  return status;
}

Status upload_ahead(EngineRun& run) {
  const auto goods = std::make_shared<Goods>(run);
  auto transfer = run.engine->upload_ahead(0, goods->pieces, run.simulation.make_stream(0), goods);
  return finish(run, transfer, *goods);
}

Status upload_ahead_in_stream(EngineRun& run) {
  const auto goods = std::make_shared<Goods>(run);
  const Stream stream = run.simulation.make_stream(0);
  auto transfer = run.engine->upload_ahead(0, goods->pieces, stream, goods);
  if (!transfer) return transfer.error();
  const Status status = (*transfer)->wait_on(0, stream);
  transfer->reset();
  if (status) {
    run.simulation.finish();
    EXPECT_TRUE(goods->are_there(run));
  }
  return status;
}

Status download_small(EngineRun& run) {
  const auto goods = std::make_shared<Goods>(run, 100);
  const std::span<const Piece> first(goods->pieces, 1);
  auto transfer = run.engine->download_behind(0, first, run.simulation.make_stream(0), goods);
  if (!transfer) return transfer.error();
  return (*transfer)->wait();
}

Status download_large(EngineRun& run) {
  const auto goods = std::make_shared<Goods>(run, Engine::kInStreamBytes + 1);
  auto transfer = run.engine->download_behind(0, goods->pieces, run.simulation.make_stream(0), goods);
  return finish(run, transfer, *goods);
}

// The stream goes on while threads still hand out what has landed, or fail to.
Status download_large_in_stream(EngineRun& run) {
  const auto goods = std::make_shared<Goods>(run, Engine::kInStreamBytes + 1);
  const Stream stream = run.simulation.make_stream(0);
  auto transfer = run.engine->download_behind(0, goods->pieces, stream, goods);
  if (!transfer) return transfer.error();
  if (const Status status = (*transfer)->wait_on(0, stream); !status) return status;
  return finish(run, transfer, *goods);
}

Status copy_peer(EngineRun& run) {
  constexpr std::size_t kBytes = 30001;
  const DeviceAddress from = run.simulation.device_memory(0, kBytes);
  const DeviceAddress to = run.simulation.device_memory(1, kBytes);
  fill(run.random, run.simulation.bytes(from), kBytes);
  auto transfer = run.engine->copy_peer(1, to, run.simulation.make_stream(1), 0, from, run.simulation.make_stream(0),
                                        kBytes, nullptr);
  if (!transfer) return transfer.error();
  const Status status = (*transfer)->wait();
  if (status) {
    EXPECT_TRUE(std::equal(run.simulation.bytes(from), run.simulation.bytes(from) + kBytes, run.simulation.bytes(to)));
  }
  return status;
}

Status pin(EngineRun& run) {
  std::vector<std::byte> memory(10000);
  if (const Status status = run.engine->pin(memory.data(), memory.size()); !status) return status;
  const Status status = run.engine->unpin(memory.data());
  // Refused, it stays page-locked: the caller tries again before the memory goes.
  if (!status) {
    EXPECT_TRUE(run.engine->unpin(memory.data())) << status.error().message;
  }
  return status;
}

Status configure(EngineRun& run) {
  if (const Status status = upload(run); !status) return status;
  if (const Status status = run.engine->configure(run.settings); !status) return status;
  run.engine->release_pinned();
  return upload(run);
}

// What a function that gives something back refuses to take stays there.
bool gives_back(const std::string& function) {
  for (const char* part : {"_destroy", "_free", "_release", "_unregister"}) {
    if (function.find(part) != std::string::npos) return true;
  }
  return false;
}

void run_with_failure(const Scenario& scenario, const simulated::Options& options, const std::string& function,
                      std::size_t nth) {
  SCOPED_TRACE(scenario.name + ", " + function + " fails at call " + std::to_string(nth));
  EngineRun run(kSeed, options, {.threads = 2, .chunk_bytes = 4096, .pinned_bytes = 16384});
  run.more_pinned_bytes = kTrialBytes;
  run.may_leak = gives_back(function);
  run.simulation.fail(function, nth, function.find("alloc") != std::string::npos ? 2 : 719);
  const Status first = scenario.run(run);
  if (!first) {
    EXPECT_THAT(first.error().message, ::testing::HasSubstr("simulation")) << "the driver's words are missing";
  }
  run.simulation.forget_failures();
  const Status second = scenario.run(run);
  EXPECT_TRUE(second) << second.error().message;
  run.end();
}

void fail_everything(const Scenario& scenario, const simulated::Options& options) {
  std::map<std::string, std::size_t> calls;
  {
    EngineRun run(kSeed, options, {.threads = 2, .chunk_bytes = 4096, .pinned_bytes = 16384});
    run.more_pinned_bytes = kTrialBytes;
    const std::map<std::string, std::size_t> before = run.simulation.calls();
    const Status status = scenario.run(run);
    ASSERT_TRUE(status) << status.error().message;
    for (const auto& [function, count] : run.simulation.calls()) {
      const auto found = before.find(function);
      calls[function] = count - (found == before.end() ? 0 : found->second);
    }
    run.end();
  }
  for (const auto& [function, count] : calls) {
    // A context that cannot be made current is a device that is lost, and a thread whose capture mode cannot be put
    // back is no better off: there is nothing to go on with.
    if (function.rfind("ctx_push", 0) == 0 || function.rfind("ctx_pop", 0) == 0 || function == "ctx_set_current" ||
        function == "thread_exchange_stream_capture_mode") {
      continue;
    }
    for (std::size_t nth = 1; nth <= std::min(count, kMostOfAFunction); ++nth) {
      run_with_failure(scenario, options, function, nth);
    }
  }
}

TEST(Failures, OfEveryFunctionInUpload) {
  fail_everything({"upload", upload}, {.pace = Pace::kByChance});
}

TEST(Failures, OfEveryFunctionInDownload) {
  fail_everything({"download", download}, {.pace = Pace::kByChance});
}

TEST(Failures, OfEveryFunctionInUploadAhead) {
  fail_everything({"upload_ahead and wait", upload_ahead}, {.pace = Pace::kOnlyWhenAsked});
  fail_everything({"upload_ahead and wait_on", upload_ahead_in_stream}, {.pace = Pace::kByChance});
}

TEST(Failures, OfEveryFunctionInDownloadBehind) {
  fail_everything({"download_behind of little", download_small}, {.pace = Pace::kByChance});
  fail_everything({"download_behind of much", download_large}, {.pace = Pace::kOnlyWhenAsked});
  fail_everything({"download_behind of much, wait_on", download_large_in_stream}, {.pace = Pace::kThreads});
}

TEST(Failures, OfEveryFunctionInCopyPeer) {
  fail_everything({"copy_peer", copy_peer}, {.pace = Pace::kAtOnce});
  fail_everything({"copy_peer through the host", copy_peer}, {.pace = Pace::kByChance, .has_peer_access = false});
}

TEST(Failures, OfEveryFunctionInPin) {
  fail_everything({"pin", pin}, {.pace = Pace::kByChance});
}

TEST(Failures, OfEveryFunctionInConfigure) {
  fail_everything({"configure", configure}, {.pace = Pace::kByChance});
}

}  // namespace
}  // namespace turnpike::move
