// See move.h.
#include "python/move.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "move/join.h"
#include "move/move.h"
#include "python/error.h"
#include "python/gil.h"
#include "python/move_allocate.h"
#include "python/move_calibrate.h"
#include "python/move_owner.h"
#include "python/move_scan.h"

namespace nb = nanobind;

namespace turnpike::python {
namespace {

using Address = std::uintptr_t;

move::Stream to_stream(Address stream) {
  return reinterpret_cast<move::Stream>(stream);
}

// In a forked child what the parent opened must not even be destroyed: it is put where nobody looks.
template <typename Owner>
void leave_alone(Owner owner) {
  static auto* const left = new std::vector<Owner>;
  left->push_back(std::move(owner));
}

// What one call of the engine copies. The layouts stay where they are: the engine refers to them.
class Pieces {
 public:
  void add(Address host, move::DeviceAddress device, std::size_t size_bytes, bool is_pinned) {
    pieces_.push_back({.host = reinterpret_cast<void*>(host),
                       .device = device,
                       .size_bytes = size_bytes,
                       .is_pinned = is_pinned,
                       .layout = nullptr});
  }

  void add_all(std::span<const move::Piece> pieces) { pieces_.insert(pieces_.end(), pieces.begin(), pieces.end()); }

  void add_strided(Address host, move::DeviceAddress device, std::uint32_t item_bytes, std::vector<std::int64_t> sizes,
                   std::vector<std::int64_t> strides_bytes) {
    if (sizes.size() != strides_bytes.size()) throw nb::value_error("one stride for each size");
    std::size_t size_bytes = item_bytes;
    for (const std::int64_t size : sizes) {
      if (size < 0) throw nb::value_error("a size is negative");
      size_bytes *= static_cast<std::size_t>(size);
    }
    layouts_.push_back(
        {.sizes = std::move(sizes), .strides_bytes = std::move(strides_bytes), .item_bytes = item_bytes});
    add(host, device, size_bytes, false);
    pieces_.back().layout = &layouts_.back();
  }

  std::span<const move::Piece> all() const { return pieces_; }
  std::size_t count() const { return pieces_.size(); }
  std::size_t size_bytes() const {
    return std::accumulate(pieces_.begin(), pieces_.end(), std::size_t{0},
                           [](std::size_t sum, const move::Piece& piece) { return sum + piece.size_bytes; });
  }
  bool has_pinned() const { return std::ranges::any_of(pieces_, &move::Piece::is_pinned); }

 private:
  std::vector<move::Piece> pieces_;
  std::deque<move::Layout> layouts_;
};

// The small tensors of a list.
class Plan {
 public:
  Plan(const nb::list& tensors, nb::tuple types, bool has_grad)
      : types_(std::move(types)), scan_(scan_tensors(tensors, types_, has_grad)) {}

  std::vector<std::int64_t> small() const {
    std::vector<std::int64_t> indices;
    for (const SmallTensor& tensor : scan_.small) indices.push_back(tensor.index);
    return indices;
  }
  const std::vector<std::int64_t>& others() const { return scan_.others; }

  // Tensors like the small ones of `tensors`, which this was made for, on a GPU; negative: on the host. None: this
  // PyTorch needs torch.empty_like() for that.
  nb::object empty_likes(const nb::list& tensors, int device) const {
    return python::empty_likes(tensors, small(), types_, device);
  }

  // One copy for each small tensor, to `targets`: dense tensors of one device, in the same order.
  std::vector<move::Piece> copies_to(const nb::list& targets) const {
    const std::vector<std::uintptr_t> addresses = addresses_of(targets, types_);
    if (addresses.size() != scan_.small.size()) throw nb::value_error("one target for each small tensor");
    std::vector<move::Piece> copies;
    copies.reserve(addresses.size());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      // The engine only reads the host's side of what it is asked to upload.
      copies.push_back({.host = const_cast<void*>(scan_.small[i].data),
                        .device = addresses[i],
                        .size_bytes = scan_.small[i].size_bytes});
    }
    return copies;
  }

 private:
  nb::tuple types_;
  Scan scan_;
};

// A transfer, and the engine that must outlive it.
class Transfer {
 public:
  Transfer(std::shared_ptr<move::Engine> engine, std::unique_ptr<move::Transfer> transfer)
      : engine_(std::move(engine)), transfer_(std::move(transfer)) {}
  Transfer(Transfer&&) = default;
  Transfer& operator=(Transfer&&) = delete;
  ~Transfer() {
    if (is_forked_child()) {
      leave_alone(std::move(transfer_));
      leave_alone(std::move(engine_));
    } else if (transfer_) {
      // Abandoning one may wait.
      const WithoutGil without_gil;
      transfer_.reset();
      engine_.reset();
    }
  }

  bool is_staged() { return transfer_->is_staged(); }
  bool is_done() {
    const bool is_done = transfer_->is_done();
    drop_released();
    return is_done;
  }
  void wait_on(int device, Address stream) {
    Status status;
    {
      const WithoutGil without_gil;
      status = transfer_->wait_on(device, to_stream(stream));
    }
    drop_released();
    throw_unless_ok(status);
  }
  void wait() {
    Status status;
    {
      const WithoutGil without_gil;
      status = transfer_->wait();
    }
    drop_released();
    throw_unless_ok(status);
  }

 private:
  std::shared_ptr<move::Engine> engine_;
  std::unique_ptr<move::Transfer> transfer_;
};

// Called when a storage dies, just before its memory is freed: ends the page lock of that memory. A function of C, so
// that an interrupt of Python cannot come in between.
class Unlocker {
 public:
  Unlocker(std::weak_ptr<move::Engine> engine, Address memory) : engine_(std::move(engine)), memory_(memory) {}

  void operator()(const nb::object& /*weak_reference*/) const {
    if (is_forked_child()) return;
    Status status;
    {
      const WithoutGil without_gil;
      if (const std::shared_ptr<move::Engine> engine = engine_.lock()) {
        status = engine->unpin(reinterpret_cast<void*>(memory_));
      }
    }
    throw_unless_ok(status);
  }

 private:
  std::weak_ptr<move::Engine> engine_;
  Address memory_;
};

nb::dict to_dict(const move::Traffic& traffic) {
  nb::dict dict;
  dict["transfers"] = traffic.transfers;
  dict["bytes"] = traffic.bytes;
  dict["staged_bytes"] = traffic.staged_bytes;
  dict["packed_pieces"] = traffic.packed_pieces;
  dict["timed_bytes"] = traffic.timed_bytes;
  dict["timed_ns"] = traffic.timed_ns;
  return dict;
}

class Engine {
 public:
  static Engine open(const nb::tuple& tuple) {
    watch_forks();
    const move::Settings settings = to_settings(tuple, move::default_settings());
    Result<std::unique_ptr<move::Engine>> engine = [&] {
      const WithoutGil without_gil;
      return move::Engine::open(settings);
    }();
    return Engine(value_or_throw(std::move(engine)));
  }
  Engine(Engine&&) = default;
  Engine& operator=(Engine&&) = delete;
  ~Engine() {
    if (is_forked_child()) {
      leave_alone(std::move(engine_));
    } else if (engine_) {
      const WithoutGil without_gil;
      engine_.reset();
    }
  }

  // `owner` is held until the sources that the link reads have been read.
  void upload(int device, const Pieces& pieces, Address stream, const nb::object& owner, const std::string& label) {
    std::shared_ptr<void> held = owner.is_none() ? nullptr : hold(owner);
    run([&] { return engine_->upload(device, pieces.all(), to_stream(stream), std::move(held), label); });
  }
  void download(int device, const Pieces& pieces, Address stream, bool is_fresh, const std::string& label) {
    run([&] { return engine_->download(device, pieces.all(), to_stream(stream), is_fresh, label); });
  }
  // `owner` holds the layouts of the pieces, too.
  Transfer upload_ahead(int device, const nb::object& pieces, Address stream, const nb::object& owner,
                        const std::string& label) {
    const auto& list = nb::cast<const Pieces&>(pieces);
    std::shared_ptr<void> held = hold(nb::make_tuple(pieces, owner));
    return start([&] { return engine_->upload_ahead(device, list.all(), to_stream(stream), std::move(held), label); });
  }
  Transfer download_behind(int device, const nb::object& pieces, Address stream, const nb::object& owner, bool is_fresh,
                           const std::string& label) {
    const auto& list = nb::cast<const Pieces&>(pieces);
    std::shared_ptr<void> held = hold(nb::make_tuple(pieces, owner));
    return start([&] {
      return engine_->download_behind(device, list.all(), to_stream(stream), std::move(held), is_fresh, label);
    });
  }
  Transfer copy_peer(int to_device, move::DeviceAddress to, Address target_stream, int from_device,
                     move::DeviceAddress from, Address from_stream, std::size_t size_bytes, nb::object owner,
                     const std::string& label) {
    std::shared_ptr<void> held = hold(std::move(owner));
    return start([&] {
      return engine_->copy_peer(to_device, to, to_stream(target_stream), from_device, from, to_stream(from_stream),
                                size_bytes, std::move(held), label);
    });
  }
  // Adds the copies of a plan's small tensors to `targets`, on a device whose allocator takes a multiple of
  // `block_bytes` for each. Returns the indices of those whose source the link has to read in the order of `stream`:
  // pinned memory, to which the GPU may still write. (To ask what is pinned takes a microsecond a tensor; behind an
  // idle stream nobody writes any more.)
  std::vector<std::int64_t> add_small(const Plan& plan, Pieces& pieces, const nb::list& targets, int device,
                                      Address stream, std::size_t block_bytes) {
    if (block_bytes == 0) throw nb::value_error("a block has at least one byte");
    std::vector<move::Piece> copies = plan.copies_to(targets);
    const Result<bool> is_idle = engine_->is_idle(device, to_stream(stream));
    if (!is_idle || !*is_idle) throw_unless_ok(engine_->find_pinned(device, copies));
    std::vector<std::int64_t> pinned = plan.small();
    std::size_t next = 0;
    std::erase_if(pinned, [&](std::int64_t) { return !copies[next++].is_pinned; });
    pieces.add_all(move::joined(std::move(copies), block_bytes, [&](move::DeviceAddress address) {
      const auto range = engine_->allocation_at(device, address);
      return range ? *range : move::DeviceRange{};  // joined to nothing: slower, and right
    }));
    return pinned;
  }
  // Whether the link can read the host memory by itself, as the driver knows it.
  bool is_page_locked(int device, Address memory) {
    std::array<move::Piece, 1> piece{move::Piece{.host = reinterpret_cast<void*>(memory)}};
    throw_unless_ok(engine_->find_pinned(device, piece));
    return piece[0].is_pinned;
  }
  std::string peer_route(int from_device, int to_device) {
    Result<move::Engine::PeerRoute> route = [&] {
      const WithoutGil without_gil;
      return engine_->peer_route(from_device, to_device);
    }();
    return value_or_throw(std::move(route)) == move::Engine::PeerRoute::kDirect ? "direct" : "staged";
  }

  void pin(Address memory, std::size_t size_bytes, int device) {
    run([&] { return engine_->pin(reinterpret_cast<void*>(memory), size_bytes, device); });
  }
  void unpin(Address memory) {
    run([&] { return engine_->unpin(reinterpret_cast<void*>(memory)); });
  }
  Unlocker unlocker(Address memory) const { return {engine_, memory}; }

  bool is_capturing(int device, Address stream) {
    return value_or_throw(engine_->is_capturing(device, to_stream(stream)));
  }
  bool is_idle(int device, Address stream) { return value_or_throw(engine_->is_idle(device, to_stream(stream))); }

  nb::dict stats() const {
    const move::Stats stats = engine_->stats();
    nb::dict dict;
    dict["h2d"] = to_dict(stats.h2d);
    dict["d2h"] = to_dict(stats.d2h);
    dict["p2p"] = to_dict(stats.p2p);
    dict["pinned_bytes"] = stats.pinned_bytes;
    dict["pending"] = stats.pending;
    return dict;
  }
  SettingsTuple settings() const { return to_tuple(engine_->settings()); }
  void configure(const nb::tuple& tuple) {
    const move::Settings settings = to_settings(tuple, engine_->settings());
    run([&] { return engine_->configure(settings); });
  }
  std::size_t release_pinned() {
    const WithoutGil without_gil;
    return engine_->release_pinned();
  }
  void reap() {
    {
      const WithoutGil without_gil;
      engine_->reap();
    }
    drop_released();
  }

  move::Engine& get() { return *engine_; }

 private:
  explicit Engine(std::unique_ptr<move::Engine> engine) : engine_(std::move(engine)) {}

  template <typename Call>
  void run(const Call& call) {
    Status status;
    {
      const WithoutGil without_gil;
      status = call();
    }
    drop_released();
    throw_unless_ok(status);
  }

  template <typename Call>
  Transfer start(const Call& call) {
    Result<std::unique_ptr<move::Transfer>> transfer = [&] {
      const WithoutGil without_gil;
      return call();
    }();
    drop_released();
    return {engine_, value_or_throw(std::move(transfer))};
  }

  std::shared_ptr<move::Engine> engine_;
};

void bind_plan(nb::module_& module) {
  nb::class_<Pieces>(module, "MovePieces")
      .def(nb::init<>())
      .def("add", &Pieces::add, nb::arg("host"), nb::arg("device"), nb::arg("size_bytes"), nb::arg("is_pinned") = false)
      .def("add_strided", &Pieces::add_strided, nb::arg("host"), nb::arg("device"), nb::arg("item_bytes"),
           nb::arg("sizes"), nb::arg("strides_bytes"))
      .def_prop_ro("has_pinned", &Pieces::has_pinned)
      .def_prop_ro("size_bytes", &Pieces::size_bytes)
      .def("__len__", &Pieces::count);
  nb::class_<Plan>(module, "MovePlan")
      .def(nb::init<const nb::list&, nb::tuple, bool>(), nb::arg("tensors"), nb::arg("types"), nb::arg("has_grad"))
      .def_prop_ro("small", &Plan::small)
      .def_prop_ro("others", &Plan::others)
      .def("empty_likes", &Plan::empty_likes, nb::arg("tensors"), nb::arg("device"))
      .def(
          "add_to",
          [](const Plan& plan, Pieces& pieces, const nb::list& targets) { pieces.add_all(plan.copies_to(targets)); },
          nb::arg("pieces"), nb::arg("targets"));
  module.def(
      "move_empty_likes",
      [](const nb::list& tensors, const nb::tuple& types, int device, nb::handle typed) {
        std::vector<std::int64_t> all(nb::len(tensors));
        std::iota(all.begin(), all.end(), std::int64_t{0});
        return empty_likes(tensors, all, types, device, typed);
      },
      nb::arg("tensors"), nb::arg("types"), nb::arg("device"), nb::arg("typed"));
  module.def("move_dense_bytes", &dense_bytes, nb::arg("tensor"), nb::arg("types"));
}

}  // namespace

void bind_move(nb::module_& module) {
  // A transfer in a global variable of the user's lives to the end of the process, and that is no fault.
  nb::set_leak_warnings(false);
  bind_plan(module);
  nb::class_<Transfer>(module, "MoveTransfer")
      .def("is_staged", &Transfer::is_staged)
      .def("is_done", &Transfer::is_done)
      .def("wait_on", &Transfer::wait_on, nb::arg("device"), nb::arg("stream"))
      .def("wait", &Transfer::wait);
  nb::class_<Unlocker>(module, "MoveUnlocker").def("__call__", &Unlocker::operator(), nb::arg("weak_reference"));
  nb::class_<Engine>(module, "MoveEngine")
      .def_static("open", &Engine::open, nb::arg("settings"))
      .def("upload", &Engine::upload, nb::arg("device"), nb::arg("pieces"), nb::arg("stream"),
           nb::arg("owner").none() = nb::none(), nb::arg("label") = "")
      .def("download", &Engine::download, nb::arg("device"), nb::arg("pieces"), nb::arg("stream"),
           nb::arg("is_fresh") = false, nb::arg("label") = "")
      .def("upload_ahead", &Engine::upload_ahead, nb::arg("device"), nb::arg("pieces"), nb::arg("stream"),
           nb::arg("owner").none(), nb::arg("label") = "")
      .def("download_behind", &Engine::download_behind, nb::arg("device"), nb::arg("pieces"), nb::arg("stream"),
           nb::arg("owner").none(), nb::arg("is_fresh") = false, nb::arg("label") = "")
      .def("copy_peer", &Engine::copy_peer, nb::arg("to_device"), nb::arg("to"), nb::arg("to_stream"),
           nb::arg("from_device"), nb::arg("from_address"), nb::arg("from_stream"), nb::arg("size_bytes"),
           nb::arg("owner").none(), nb::arg("label") = "")
      .def("add_small", &Engine::add_small, nb::arg("plan"), nb::arg("pieces"), nb::arg("targets"), nb::arg("device"),
           nb::arg("stream"), nb::arg("block_bytes"))
      .def("is_capturing", &Engine::is_capturing, nb::arg("device"), nb::arg("stream"))
      .def("is_idle", &Engine::is_idle, nb::arg("device"), nb::arg("stream"))
      .def("is_page_locked", &Engine::is_page_locked, nb::arg("device"), nb::arg("memory"))
      .def("peer_route", &Engine::peer_route, nb::arg("from_device"), nb::arg("to_device"))
      .def("pin", &Engine::pin, nb::arg("memory"), nb::arg("size_bytes"), nb::arg("device") = -1)
      .def("unpin", &Engine::unpin, nb::arg("memory"))
      .def("unlocker", &Engine::unlocker, nb::arg("memory"))
      .def("stats", &Engine::stats)
      .def("settings", &Engine::settings)
      .def("configure", &Engine::configure, nb::arg("settings"))
      .def("release_pinned", &Engine::release_pinned)
      .def("reap", &Engine::reap)
      .def(
          "calibrate",
          [](Engine& engine, int device, const nb::object& progress) {
            return calibrate(engine.get(), device, progress);
          },
          nb::arg("device"), nb::arg("progress").none());
  module.def("move_default_settings", [] { return to_tuple(move::default_settings()); });
  module.def("move_kept_settings", &kept_settings, nb::arg("device_name"));
}

}  // namespace turnpike::python
