// Every copy is issued inside a range that says for what, whichever thread issues it.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda/nvtx.h"
#include "engine_run.h"

namespace turnpike::move {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::IsEmpty;

// What the tool and the driver of this test have heard. Both are tables of plain functions.
struct Heard {
  struct Copy {
    DeviceAddress device;
    std::string label;  // of the ranges that are open in its thread, one behind the other
  };
  std::mutex mutex;
  std::vector<Copy> copies;
  std::set<std::string> domains;
  bool has_overlaps = false;
};
Heard g_heard;
cuda::Driver g_driver;
thread_local std::vector<std::string> t_open;

int on_push(const char* domain, const char* text, std::uint32_t /*color*/) {
  const std::lock_guard lock(g_heard.mutex);
  g_heard.domains.insert(domain);
  g_heard.has_overlaps |= !t_open.empty();
  t_open.emplace_back(text);
  return static_cast<int>(t_open.size()) - 1;
}
int on_pop(const char* /*domain*/) {
  t_open.pop_back();
  return static_cast<int>(t_open.size());
}

int listen(void* get_export_table) {
  cuda::hear_nvtx(true);
  return cuda::install_nvtx_listener(get_export_table, {.on_push = on_push,
                                                        .on_pop = on_pop,
                                                        .on_start = [](auto...) {},
                                                        .on_end = [](auto...) {},
                                                        .on_mark = [](auto...) {}})
             ? 1
             : 0;
}

void note(DeviceAddress device) {
  std::string label;
  for (const std::string& text : t_open) label += text;
  const std::lock_guard lock(g_heard.mutex);
  g_heard.copies.push_back({device, label});
}

cuda::DriverCode memcpy_htod(cuda::DevicePointer to, const void* from, std::size_t size_bytes, CUstream_st* stream) {
  note(to);
  return g_driver.memcpy_htod_async(to, from, size_bytes, stream);
}
cuda::DriverCode memcpy_dtoh(void* to, cuda::DevicePointer from, std::size_t size_bytes, CUstream_st* stream) {
  note(from);
  return g_driver.memcpy_dtoh_async(to, from, size_bytes, stream);
}
cuda::DriverCode memcpy_peer(cuda::DevicePointer to, CUctx_st* to_context, cuda::DevicePointer from,
                             CUctx_st* from_context, std::size_t size_bytes, CUstream_st* stream) {
  note(from);
  return g_driver.memcpy_peer_async(to, to_context, from, from_context, size_bytes, stream);
}

// The engine of the run asks this test's driver, which passes on to the simulated one.
cuda::Driver listen_to(EngineRun& run) {
  g_driver = run.simulation.driver();
  {
    const std::lock_guard lock(g_heard.mutex);
    g_heard.copies.clear();
    g_heard.domains.clear();
  }
  cuda::Driver driver = g_driver;
  driver.memcpy_htod_async = memcpy_htod;
  driver.memcpy_dtoh_async = memcpy_dtoh;
  driver.memcpy_peer_async = memcpy_peer;
  return driver;
}

std::vector<std::string> labels_in(const std::vector<simulated::Range>& ranges) {
  const std::lock_guard lock(g_heard.mutex);
  std::vector<std::string> labels;
  for (const Heard::Copy& copy : g_heard.copies) {
    const bool is_inside = std::any_of(ranges.begin(), ranges.end(), [&](const simulated::Range& range) {
      return copy.device >= range.begin && copy.device < range.end;
    });
    if (is_inside) labels.push_back(copy.label);
  }
  return labels;
}

std::size_t size_of(const Cargo& cargo) {
  std::size_t size_bytes = 0;
  for (const Cargo::Stretch& stretch : cargo.stretches) size_bytes += stretch.bytes.size();
  return size_bytes;
}

void open_again(EngineRun& run, const cuda::Driver& driver) {
  auto opened = Engine::open(driver, run.settings);
  ASSERT_TRUE(opened) << opened.error().message;
  run.engine = std::move(*opened);
}

// Several transfers are under way at once, whose copies any thread of the engine may issue.
TEST(Labels, AreThoseOfTheCallThatEachCopyIsFor) {
  for_each_seed([](EngineRun& run) {
    const cuda::Driver driver = listen_to(run);
    open_again(run, driver);
    const Stream stream = run.simulation.make_stream(0);
    std::map<std::string, std::shared_ptr<Cargo>> cargos;
    std::vector<std::unique_ptr<Transfer>> under_way;
    const auto keep = [&](Result<std::unique_ptr<Transfer>> transfer) {
      ASSERT_TRUE(transfer) << transfer.error().message;
      under_way.push_back(std::move(*transfer));
    };
    for (int turn = 0; turn < 2; ++turn) {
      const std::string at = "train.py:" + std::to_string(turn);
      const auto up = cargos[at + " upload"] = run.some_upload(0, stream);
      ASSERT_TRUE(run.engine->upload(0, up->pieces, stream, up, at + " upload"));
      const auto ahead = cargos[at + " upload_ahead"] = run.some_upload(0, stream);
      keep(run.engine->upload_ahead(0, ahead->pieces, stream, ahead, at + " upload_ahead"));
      const auto down = cargos[at + " download"] = run.some_download(0, stream);
      run.put_on_device(0, stream, down);
      ASSERT_TRUE(run.engine->download(0, down->pieces, stream, false, at + " download"));
      for (const std::size_t most_bytes : {std::size_t{200}, 2 * Engine::kInStreamBytes}) {
        const std::string label = at + " download_behind " + std::to_string(most_bytes);
        const auto behind = cargos[label] = run.some_download(0, stream, most_bytes);
        run.put_on_device(0, stream, behind);
        keep(run.engine->download_behind(0, behind->pieces, stream, behind, false, label));
      }
    }
    for (const auto& transfer : under_way) ASSERT_TRUE(transfer->wait());
    under_way.clear();
    for (const auto& [label, cargo] : cargos) {
      const std::vector<std::string> found = labels_in(cargo->groups);
      EXPECT_THAT(found, Each(label));
      // One of nothing but padding may be copied, too.
      EXPECT_TRUE(size_of(*cargo) == 0 || !found.empty()) << label;
    }
    cargos.clear();
    run.engine.reset();  // before the driver that it asks
    EXPECT_FALSE(g_heard.has_overlaps);
    EXPECT_THAT(t_open, IsEmpty());
    EXPECT_THAT(g_heard.domains, Each("turnpike"));
  });
}

void expect_labels_of_peer_copies(EngineRun& run) {
  const cuda::Driver driver = listen_to(run);
  open_again(run, driver);
  run.more_pinned_bytes = std::size_t{2} << 20;  // of the trial of the pair
  const std::size_t size_bytes = 3 * run.settings.chunk_bytes + 7;
  const Stream from_stream = run.simulation.make_stream(0);
  const Stream to_stream = run.simulation.make_stream(1);
  const DeviceAddress from = run.allocator.allocate(0, from_stream, size_bytes);
  const DeviceAddress to = run.allocator.allocate(1, to_stream, size_bytes);
  const auto source = std::make_shared<Cargo>();
  source->stretches.push_back({from, std::vector<std::byte>(size_bytes)});
  run.put_on_device(0, from_stream, source);
  {
    auto transfer =
        run.engine->copy_peer(1, to, to_stream, 0, from, from_stream, size_bytes, nullptr, "train.py:7 tp.copy_");
    ASSERT_TRUE(transfer) << transfer.error().message;
    ASSERT_TRUE((*transfer)->wait());
  }
  const bool is_staged = !labels_in({simulated::range_of(to, size_bytes)}).empty();
  EXPECT_EQ(is_staged, *run.engine->peer_route(0, 1) == Engine::PeerRoute::kStaged);
  EXPECT_THAT(labels_in({simulated::range_of(from, size_bytes)}), Contains("train.py:7 tp.copy_"));
  EXPECT_THAT(labels_in({simulated::range_of(from, size_bytes), simulated::range_of(to, size_bytes)}),
              Each("train.py:7 tp.copy_"));
  run.allocator.free(from);
  run.allocator.free(to);
  run.engine.reset();
}

TEST(Labels, AreThoseOfPeerCopies) {
  for (const bool has_peer_access : {true, false}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {  // the trial of a pair makes each one slow
      EngineRun run(seed, {.has_peer_access = has_peer_access});
      expect_labels_of_peer_copies(run);
      run.end();
    }
  }
}

TEST(Labels, WithoutATextThereIsNoRange) {
  for_each_seed([](EngineRun& run) {
    const cuda::Driver driver = listen_to(run);
    open_again(run, driver);
    const Stream stream = run.simulation.make_stream(0);
    const auto cargo = run.some_upload(0, stream);
    ASSERT_TRUE(run.engine->upload(0, cargo->pieces, stream, cargo));
    EXPECT_THAT(labels_in(cargo->groups), Each(""));
    EXPECT_THAT(g_heard.domains, IsEmpty());
    run.engine.reset();
  });
}

}  // namespace
}  // namespace turnpike::move

// Where NVTX looks for a tool that is linked into the program.
extern "C" {
int (*InitializeInjectionNvtx2_fnptr)(void*) = turnpike::move::listen;
}
