// The engine: it hands each transfer to the part that carries it.
#include <algorithm>
#include <utility>

#include "cuda/driver.h"
#include "cuda/nvtx_label.h"
#include "move/addresses.h"
#include "move/cores.h"
#include "move/fresh_pages.h"
#include "move/move.h"
#include "move/state.h"
#include "move/transfers.h"

namespace turnpike::move {
namespace {

constexpr std::size_t kLargeFreshBytes = std::size_t{4} << 20;

class ThisEngine : public Engine {
 public:
  ThisEngine(const cuda::Driver& driver, int device_count, const Settings& settings)
      : state_(std::make_shared<State>(driver, device_count, settings)) {}
  ~ThisEngine() override { state_->reap(); }

  Status upload(int device, std::span<const Piece> pieces, Stream stream, std::shared_ptr<void> owner,
                const std::string& label) override {
    const auto found = state_->device(device);
    if (!found) return found.error();
    state_->reap();
    const InContext in_context(**found);
    const auto job = start(Direction::kUp, **found, pieces, stream, false, stream, label);
    if (!job) return job.error();
    state_->stager().help_until_issued(**job);
    const auto outcome = state_->stager().outcome(**job);
    state_->tally.h2d.add_time((*job)->plan.staged_bytes, outcome.took_ns);
    // Pageable memory has been read.
    if (outcome.done && !(*job)->plan.direct.empty()) state_->hold(outcome.done, std::move(owner));
    return outcome.status;
  }

  Status download(int device, std::span<const Piece> pieces, Stream stream, bool is_fresh,
                  const std::string& label) override {
    const auto found = state_->device(device);
    if (!found) return found.error();
    state_->reap();
    const InContext in_context(**found);
    const auto job = start(Direction::kDown, **found, pieces, stream, false, stream, label, is_fresh);
    if (!job) return job.error();
    state_->stager().help_until_over(**job);
    const auto outcome = state_->stager().outcome(**job);
    state_->tally.d2h.add_time((*job)->plan.staged_bytes, outcome.took_ns);
    if ((*job)->plan.direct.empty() || !outcome.done) return outcome.status;
    outcome.done->wait_until_passed();
    return outcome.status ? outcome.done->status() : outcome.status;
  }

  Result<std::unique_ptr<Transfer>> upload_ahead(int device, std::span<const Piece> pieces, Stream stream,
                                                 std::shared_ptr<void> owner, const std::string& label) override {
    return beside(Direction::kUp, device, pieces, stream, std::move(owner), label);
  }

  Result<std::unique_ptr<Transfer>> download_behind(int device, std::span<const Piece> pieces, Stream stream,
                                                    std::shared_ptr<void> owner, bool is_fresh,
                                                    const std::string& label) override {
    const auto found = state_->device(device);
    if (!found) return found.error();
    std::size_t bytes = 0;
    for (const Piece& piece : pieces) bytes += piece.size_bytes;
    if (bytes > kInStreamBytes) {
      return beside(Direction::kDown, device, pieces, stream, std::move(owner), label, is_fresh);
    }
    state_->reap();
    const InContext in_context(**found);
    if (const Status status = check_capture(**found, stream); !status) return status.error();
    if (const Status status = check_pieces(pieces, false); !status) return status.error();
    auto fetch = state_->in_stream().start(**found, pieces, stream, owner, label);
    if (!fetch) return fetch.error();
    if (*fetch != nullptr) {
      state_->tally.d2h.add(bytes, bytes, 0);
      return in_stream_transfer(state_, *fetch);
    }
    // Many pieces: through the ring, but issued here and now, so that the stream's next work finds them done.
    const auto job = start(Direction::kDown, **found, pieces, stream, false, stream, label);
    if (!job) return job.error();
    state_->stager().help_until_issued(**job);
    return staged_transfer(state_, *job, stream, std::move(owner));
  }

  Result<std::unique_ptr<Transfer>> copy_peer(int to_device, DeviceAddress to, Stream to_stream, int from_device,
                                              DeviceAddress from, Stream from_stream, std::size_t size_bytes,
                                              std::shared_ptr<void> owner, const std::string& label) override;
  Result<PeerRoute> peer_route(int from_device, int to_device) override {
    const auto from = state_->device(from_device);
    if (!from) return from.error();
    const auto to = state_->device(to_device);
    if (!to) return to.error();
    return state_->peers.route(**from, **to);
  }

  Status pin(void* memory, std::size_t size_bytes, int device) override {
    const auto found = device >= 0 ? state_->device(device) : state_->any_device();
    if (!found) return found.error();
    const InContext in_context(**found);
    return state_->page_lock.lock(**found, memory, size_bytes, state_->settings().threads);
  }

  Status unpin(void* memory) override {
    const auto device = state_->any_device();
    if (!device) return device.error();
    if (const Status status = state_->synchronize(); !status) return status;
    const InContext in_context(**device);
    return state_->page_lock.unlock(**device, memory);
  }

  Status find_pinned(int device, std::span<Piece> pieces) override {
    const auto found = state_->device(device);
    if (!found) return found.error();
    const InContext in_context(**found);
    for (Piece& piece : pieces) {
      if (piece.layout == nullptr && piece.host != nullptr) piece.is_pinned = move::is_pinned(**found, piece.host);
    }
    return {};
  }
  Result<DeviceRange> allocation_at(int device, DeviceAddress address) override {
    const auto found = state_->device(device);
    if (!found) return found.error();
    const InContext in_context(**found);
    return move::allocation_at(**found, address);
  }
  Result<bool> is_capturing(int device, Stream stream) override {
    const auto found = state_->device(device);
    if (!found) return found.error();
    const InContext in_context(**found);
    return move::is_capturing(**found, stream);
  }
  Result<bool> is_idle(int device, Stream stream) override {
    const auto found = state_->device(device);
    if (!found) return found.error();
    const InContext in_context(**found);
    if (const Status status = check_capture(**found, stream); !status) return status.error();
    const cuda::DriverCode code = (*found)->driver().stream_query(stream);
    if (code == cuda::kNotReady) return false;
    if (const Status status = check((*found)->driver(), code, "looking at a stream", device); !status) {
      return status.error();
    }
    return true;
  }

  Stats stats() const override {
    return {state_->tally.h2d.read(), state_->tally.d2h.read(), state_->tally.p2p.read(), state_->pinned_bytes(),
            state_->pending};
  }
  Settings settings() const override { return state_->settings(); }
  Status configure(const Settings& settings) override {
    const Status status = state_->configure(settings);
    state_->reap();
    return status;
  }
  std::size_t release_pinned() override {
    state_->reap();
    return state_->release_pinned();
  }
  void reap() override { state_->reap(); }

 private:
  // Issues the direct copies and submits the rest, on `stream`, behind what `after` holds now. The context is current.
  Result<std::shared_ptr<Job>> start(Direction direction, Device& device, std::span<const Piece> pieces, Stream stream,
                                     bool is_ahead, Stream after, const std::string& label, bool is_fresh = false);
  Result<std::unique_ptr<Transfer>> beside(Direction direction, int device, std::span<const Piece> pieces,
                                           Stream stream, std::shared_ptr<void> owner, const std::string& label,
                                           bool is_fresh = false);
  Result<std::shared_ptr<Mark>> copy_directly(Device& to, DeviceAddress to_address, Device& from,
                                              DeviceAddress from_address, std::size_t size_bytes, Stream stream,
                                              const std::string& label);
  Result<std::shared_ptr<Mark>> copy_staged(Device& to, DeviceAddress to_address, Device& from,
                                            DeviceAddress from_address, std::size_t size_bytes, Stream up, Stream down,
                                            const std::string& label);
  std::shared_ptr<State> state_;
};

Result<std::shared_ptr<Job>> ThisEngine::start(Direction direction, Device& device, std::span<const Piece> pieces,
                                               Stream stream, bool is_ahead, Stream after, const std::string& label,
                                               bool is_fresh) {
  if (const Status status = check_capture(device, after); !status) return status.error();
  if (const Status status = check_pieces(pieces, direction == Direction::kUp); !status) return status.error();
  if (is_fresh) {
    for (const Piece& piece : pieces) {
      if (piece.size_bytes >= kLargeFreshBytes && !piece.is_pinned) advise_large_pages(piece.host, piece.size_bytes);
    }
  }
  Cut cut = is_fresh ? Cut::kForFreshPages : Cut::kForItself;
  // Where the link has others to serve, or the stream has not come so far, an early start gains nothing; fewer copies
  // do, and fewer slots: what is staged need not be waited for.
  if (direction == Direction::kUp) {
    const bool is_behind = is_ahead ? state_->stager().is_at_work(direction, device)
                                    : device.driver().stream_query(stream) == cuda::kNotReady;
    if (is_behind) cut = Cut::kBehindOthers;
  }
  Plan plan = make_plan(pieces, state_->settings().chunk_bytes, cut);
  if (stream != after) {
    const auto reached = Mark::after(device, after);
    if (!reached) return reached.error();
    if (const Status status = (*reached)->hold_up(stream); !status) return status.error();
  }
  const cuda::Driver& driver = device.driver();
  for (const std::uint32_t index : plan.direct) {
    const cuda::NvtxLabel named(label);
    const Piece& piece = plan.pieces[index];
    const cuda::DriverCode code = direction == Direction::kUp
                                      ? driver.memcpy_htod_async(piece.device, piece.host, piece.size_bytes, stream)
                                      : driver.memcpy_dtoh_async(piece.host, piece.device, piece.size_bytes, stream);
    const char* what = direction == Direction::kUp ? "copying to the GPU" : "copying from the GPU";
    if (const Status status = check(driver, code, what, device.ordinal()); !status) {
      // Those before it are on their way, and nobody will wait for them.
      driver.stream_synchronize(stream);
      return status.error();
    }
  }
  TrafficTally& tally = direction == Direction::kUp ? state_->tally.h2d : state_->tally.d2h;
  tally.add(plan.bytes, plan.staged_bytes, plan.packed_pieces);
  auto job = std::make_shared<Job>(direction, device, stream, std::move(plan), is_ahead, label);
  while (!state_->stager().submit(job)) {
    plan = make_plan(pieces, state_->settings().chunk_bytes, cut);
    job = std::make_shared<Job>(direction, device, stream, std::move(plan), is_ahead, label);
  }
  return job;
}

Result<std::unique_ptr<Transfer>> ThisEngine::beside(Direction direction, int device, std::span<const Piece> pieces,
                                                     Stream stream, std::shared_ptr<void> owner,
                                                     const std::string& label, bool is_fresh) {
  const auto found = state_->device(device);
  if (!found) return found.error();
  state_->reap();
  const InContext in_context(**found);
  CUstream_st* const own = (*found)->next_stream(direction == Direction::kUp ? Device::Lane::kUp : Device::Lane::kDown);
  const auto job = start(direction, **found, pieces, own, true, stream, label, is_fresh);
  if (!job) return job.error();
  return staged_transfer(state_, *job, stream, std::move(owner));
}

Result<std::unique_ptr<Transfer>> ThisEngine::copy_peer(int to_device, DeviceAddress to, Stream to_stream,
                                                        int from_device, DeviceAddress from, Stream from_stream,
                                                        std::size_t size_bytes, std::shared_ptr<void> owner,
                                                        const std::string& label) {
  const auto source = state_->device(from_device);
  if (!source) return source.error();
  const auto target = state_->device(to_device);
  if (!target) return target.error();
  state_->reap();
  const auto route = state_->peers.route(**source, **target);
  if (!route) return route.error();
  const bool is_direct = *route == PeerRoute::kDirect;
  CUstream_st* const own = (*source)->next_stream(is_direct ? Device::Lane::kPeer : Device::Lane::kDown);
  std::shared_ptr<Mark> target_ready;
  {
    const InContext in_context(**target);
    if (const Status status = check_capture(**target, to_stream); !status) return status.error();
    const auto mark = Mark::after(**target, to_stream);
    if (!mark) return mark.error();
    target_ready = *mark;
  }
  const InContext in_context(**source);
  if (const Status status = check_capture(**source, from_stream); !status) return status.error();
  const auto source_ready = Mark::after(**source, from_stream);
  if (!source_ready) return source_ready.error();
  for (const auto& ready : {target_ready, *source_ready}) {
    if (const Status status = ready->hold_up(own); !status) return status.error();
  }
  CUstream_st* const up = is_direct ? own : (*target)->next_stream(Device::Lane::kUp);
  auto done = is_direct ? copy_directly(**target, to, **source, from, size_bytes, own, label)
                        : copy_staged(**target, to, **source, from, size_bytes, up, own, label);
  if (!done) return done.error();
  state_->tally.p2p.add(size_bytes, is_direct ? 0 : size_bytes, 0);
  return peer_transfer(state_, **source, from_stream, **target, to_stream, *done, std::move(owner));
}

Result<std::shared_ptr<Mark>> ThisEngine::copy_directly(Device& to, DeviceAddress to_address, Device& from,
                                                        DeviceAddress from_address, std::size_t size_bytes,
                                                        Stream stream, const std::string& label) {
  const cuda::Driver& driver = from.driver();
  if (size_bytes > 0) {
    const cuda::NvtxLabel named(label);
    const Status status = check(
        driver, driver.memcpy_peer_async(to_address, to.context(), from_address, from.context(), size_bytes, stream),
        "copying to another GPU", from.ordinal());
    if (!status) return status.error();
  }
  auto done = Mark::after(from, stream);
  if (!done) driver.stream_synchronize(stream);
  return done;
}

// Chunk by chunk down on one stream and up on the other. The up stream's first copy waits for a down copy, which waits
// for both devices.
Result<std::shared_ptr<Mark>> ThisEngine::copy_staged(Device& to, DeviceAddress to_address, Device& from,
                                                      DeviceAddress from_address, std::size_t size_bytes, Stream up,
                                                      Stream down, const std::string& label) {
  const cuda::Driver& driver = from.driver();
  Status status;
  std::size_t size = 0;
  for (std::size_t at = 0; at < size_bytes && status; at += size) {
    const auto taken = state_->stager().take_slot(from, down);
    if (!taken) {
      status = taken.error();
      break;
    }
    Slot* slot = *taken;
    size = std::min(slot->size_bytes, size_bytes - at);
    {
      const cuda::NvtxLabel named(label);
      status = check(driver, driver.memcpy_dtoh_async(slot->memory, from_address + at, size, down),
                     "copying from the GPU", from.ordinal());
    }
    const auto down_mark = status ? Mark::after(from, down) : Result<std::shared_ptr<Mark>>(status.error());
    if (!down_mark) {
      status = down_mark.error();
      driver.stream_synchronize(down);
      state_->stager().give_back(slot, nullptr);
      break;
    }
    const InContext in_context(to);
    status = (*down_mark)->hold_up(up);
    if (status) {
      const cuda::NvtxLabel named(label);
      status = check(driver, driver.memcpy_htod_async(to_address + at, slot->memory, size, up), "copying to the GPU",
                     to.ordinal());
    }
    const auto up_mark = status ? Mark::after(to, up) : Result<std::shared_ptr<Mark>>(*down_mark);
    if (!up_mark) {
      status = up_mark.error();
      driver.stream_synchronize(up);
    }
    state_->stager().give_back(slot, up_mark ? *up_mark : nullptr);
  }
  if (!status) {
    driver.stream_synchronize(down);
    const InContext in_context(to);
    driver.stream_synchronize(up);
    return status.error();
  }
  const InContext in_context(to);
  auto done = Mark::after(to, up);
  if (!done) driver.stream_synchronize(up);
  return done;
}

}  // namespace

Settings default_settings() {
  Settings settings;
  // Fresh pages are cleared by twelve a third faster than by eight; the program keeps the rest.
  settings.threads = std::clamp(usable_cores() * 3 / 4, 2U, 12U);
  return settings;
}

void Engine::show_labels_to(int (*initialize_injection)(void* get_export_table)) {
  cuda::use_nvtx_tool(initialize_injection);
}

Result<std::unique_ptr<Engine>> Engine::open(const Settings& settings) {
  const auto driver = cuda::load_driver();
  if (!driver) return driver.error();
  return open(*driver, settings);
}

Result<std::unique_ptr<Engine>> Engine::open(const cuda::Driver& driver, const Settings& settings) {
  if (const Status status = check_settings(settings); !status) return status.error();
  if (const auto code = driver.init(0); code != 0) {
    return Error{"the CUDA driver does not start: " + driver.describe(code)};
  }
  int count = 0;
  if (const auto code = driver.device_get_count(&count); code != 0) {
    return Error{"the CUDA driver does not count its devices: " + driver.describe(code)};
  }
  if (count == 0) return Error{"the CUDA driver sees no GPU (is CUDA_VISIBLE_DEVICES set to none?)"};
  return std::unique_ptr<Engine>(std::make_unique<ThisEngine>(driver, count, settings));
}

}  // namespace turnpike::move
