// The simulated driver itself: it lets a correct program pass in every order, and finds each kind of misuse.
#include "simulated/simulation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "seeds.h"
#include "simulated/allocator.h"

namespace turnpike::simulated {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kBytes = 1000;
constexpr std::uint64_t kFewSeeds = 20;

// A device with a stream, memory on both sides and the driver's functions at hand. Pulled, unless said otherwise: then
// what is wrong is found always or never.
struct Program {
  explicit Program(std::uint64_t seed = 1, Options options = {.pace = Pace::kOnlyWhenAsked})
      : simulation(seed, options), cuda(simulation.driver()) {
    simulation.set_device(0);
    stream = simulation.make_stream(0);
    other = simulation.make_stream(0);
    event = simulation.make_event(0);
    device = simulation.device_memory(0, kBytes);
    host = simulation.pinned_memory(kBytes);
    back = simulation.pinned_memory(kBytes);
    std::fill(host, host + kBytes, std::byte{7});
  }
  int upload(CUstream_st* into) const { return cuda.memcpy_htod_async(device, host, kBytes, into); }
  int download(CUstream_st* into) const { return cuda.memcpy_dtoh_async(back, device, kBytes, into); }
  std::string found() {
    simulation.finish();
    return simulation.violations_text();
  }

  Simulation simulation;
  const cuda::Driver& cuda;
  CUstream_st* stream;
  CUstream_st* other;
  CUevent_st* event;
  std::uint64_t device;
  std::byte* host;
  std::byte* back;
};

TEST(SimulatedDriver, CopiesInTheOrderOfAStream) {
  for (std::uint64_t seed = 0; seed < move::seeds(); ++seed) {
    Program program(seed, {});
    ASSERT_EQ(program.upload(program.stream), 0);
    ASSERT_EQ(program.download(program.stream), 0);
    ASSERT_EQ(program.cuda.stream_synchronize(program.stream), 0);
    ASSERT_EQ(std::memcmp(program.host, program.back, kBytes), 0);
    ASSERT_THAT(program.found(), IsEmpty()) << "seed " << seed;
  }
}

TEST(SimulatedDriver, OrdersStreamsByEvents) {
  for (std::uint64_t seed = 0; seed < move::seeds(); ++seed) {
    Program program(seed, {});
    program.upload(program.stream);
    program.cuda.event_record(program.event, program.stream);
    program.cuda.stream_wait_event(program.other, program.event, 0);
    program.download(program.other);
    program.cuda.event_record(program.event, program.other);
    while (program.cuda.event_query(program.event) != 0) std::this_thread::yield();
    ASSERT_EQ(std::memcmp(program.host, program.back, kBytes), 0);
    std::fill(program.host, program.host + kBytes, std::byte{8});
    program.upload(program.other);
    program.cuda.ctx_synchronize();
    ASSERT_EQ(program.simulation.bytes(program.device)[0], std::byte{8});
    ASSERT_THAT(program.found(), IsEmpty()) << "seed " << seed;
  }
}

// Device 0 to the host, through one slot again and again, to device 1: no host in between.
TEST(SimulatedDriver, LetsAnOrderedSlotGoFromDeviceToDevice) {
  for (std::uint64_t seed = 0; seed < move::seeds(); ++seed) {
    Program program(seed, {});
    CUstream_st* reader = program.simulation.make_stream(1);
    CUevent_st* read = program.simulation.make_event(1);
    const std::uint64_t target = program.simulation.device_memory(1, kBytes);
    program.upload(program.stream);
    for (int round = 0; round < 3; ++round) {
      program.simulation.set_device(0);
      program.cuda.stream_wait_event(program.stream, read, 0);
      program.download(program.stream);
      program.cuda.event_record(program.event, program.stream);
      program.simulation.set_device(1);
      program.cuda.stream_wait_event(reader, program.event, 0);
      program.cuda.memcpy_htod_async(target, program.back, kBytes, reader);
      program.cuda.event_record(read, reader);
    }
    ASSERT_THAT(program.found(), IsEmpty()) << "seed " << seed;
    ASSERT_EQ(std::memcmp(program.simulation.bytes(target), program.host, kBytes), 0);
  }
}

TEST(SimulatedDriver, LagsBehindTheHostUntilAsked) {
  Program program;
  program.upload(program.stream);
  program.download(program.stream);
  EXPECT_NE(std::memcmp(program.host, program.back, kBytes), 0);
  EXPECT_EQ(program.back[0], program.back[1]);  // poison
  program.cuda.stream_synchronize(program.stream);
  EXPECT_EQ(std::memcmp(program.host, program.back, kBytes), 0);
}

TEST(SimulatedDriver, ShowsAWordAsItWasUntilItsCopyHasRun) {
  for (std::uint64_t seed = 0; seed < kFewSeeds; ++seed) {
    for (const std::size_t size_bytes : {4, 8}) {
      Program program(seed);
      program.upload(program.stream);
      auto* const word = reinterpret_cast<std::uint64_t*>(program.back);
      *word = 0x1111111111111111;
      program.cuda.memcpy_dtoh_async(word, program.device, size_bytes, program.stream);
      std::uint32_t read = 0;
      std::memcpy(&read, word, sizeof read);
      EXPECT_NE(read, 0x11111111U) << "only looks see what was there before";
      EXPECT_NE(read, 0x07070707U);
      const std::uint64_t arrived = size_bytes == 8 ? 0x0707070707070707 : 0x1111111107070707;
      std::uint64_t seen = 0;
      while (seen != arrived) {
        seen = program.cuda.read_word(word);
        ASSERT_TRUE(seen == 0x1111111111111111 || seen == arrived) << std::hex << seen;
      }
      EXPECT_EQ(*word, arrived);
      *word = 5;  // the host knows that it has arrived, and what came before it
      program.upload(program.other);
      EXPECT_THAT(program.found(), IsEmpty());
    }
  }
}

TEST(SimulatedDriver, FindsALookAtWhatIsNotWrittenInOnePiece) {
  struct Copy {
    std::size_t at, size_bytes;
  };
  for (const Copy copy : {Copy{0, 9}, Copy{0, 64}, Copy{4, 8}, Copy{7, 2}}) {
    Program program;
    program.upload(program.stream);
    program.cuda.memcpy_dtoh_async(program.back + copy.at, program.device, copy.size_bytes, program.stream);
    program.cuda.read_word(reinterpret_cast<std::uint64_t*>(program.back));
    EXPECT_THAT(program.found(), HasSubstr("ReadTooEarly")) << copy.at << " " << copy.size_bytes;
  }
  Program program;
  program.upload(program.stream);
  program.cuda.memcpy_dtoh_async(program.back, program.device, 64, program.stream);
  program.cuda.stream_synchronize(program.stream);
  program.cuda.read_word(reinterpret_cast<std::uint64_t*>(program.back));
  EXPECT_THAT(program.found(), IsEmpty());
}

TEST(SimulatedDriver, RunsStreamsInThreadsWithoutBeingAsked) {
  Program program(3, {.pace = Pace::kThreads});
  std::atomic<int> runs{0};
  for (int attempt = 0; attempt < 200 && runs == 0; ++attempt) {
    program.simulation.launch(0, program.simulation.make_stream(0), {.body = [&] { ++runs; }});
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(runs, 0);
}

TEST(SimulatedDriver, OrdersTheDefaultStreamWithBlockingStreamsOnly) {
  Program program;
  CUstream_st* blocking = program.simulation.make_stream(0, true);
  program.upload(nullptr);
  program.download(blocking);
  EXPECT_THAT(program.found(), IsEmpty());
  program.upload(blocking);
  program.download(nullptr);
  EXPECT_THAT(program.found(), IsEmpty());
  program.upload(nullptr);
  program.download(program.stream);
  EXPECT_THAT(program.found(), HasSubstr("Unordered"));
}

TEST(SimulatedDriver, TakesTheRecordThatWasTheLastOneAtTheWait) {
  Program program;
  program.cuda.event_record(program.event, program.stream);
  program.cuda.stream_wait_event(program.other, program.event, 0);  // of the empty stream
  program.upload(program.stream);
  program.cuda.event_record(program.event, program.stream);
  program.download(program.other);
  EXPECT_THAT(program.found(), HasSubstr("Unordered"));
}

TEST(SimulatedDriver, DoesNotWaitForAnEventThatWasNeverRecorded) {
  Program program;
  EXPECT_EQ(program.cuda.event_query(program.event), 0);
  EXPECT_EQ(program.cuda.event_synchronize(program.event), 0);
  EXPECT_EQ(program.cuda.stream_wait_event(program.other, program.event, 0), 0);
  EXPECT_THAT(program.found(), IsEmpty());
}

TEST(SimulatedDriver, FindsTwoStreamsWithoutAnOrder) {
  Program program;
  program.upload(program.stream);
  program.download(program.other);
  EXPECT_TRUE(program.simulation.has_violation(Rule::kUnordered));
}

TEST(SimulatedDriver, LetsTwoStreamsReadTheSameBytes) {
  Program program;
  const std::uint64_t target = program.simulation.device_memory(0, kBytes);
  program.cuda.memcpy_htod_async(program.device, program.host, kBytes, program.stream);
  program.cuda.memcpy_htod_async(target, program.host, kBytes, program.other);
  EXPECT_THAT(program.found(), IsEmpty());
}

TEST(SimulatedDriver, FindsASourceThatChangedBeforeItsCopy) {
  Program program;
  program.upload(program.stream);
  program.host[5] = std::byte{9};
  EXPECT_THAT(program.found(), HasSubstr("SourceChanged"));
}

// The copy has run, but the host could not know.
TEST(SimulatedDriver, FindsASourceThatChangedBeforeTheHostKnew) {
  Program program(1, {.pace = Pace::kAtOnce});
  program.upload(program.stream);
  while (program.simulation.bytes(program.device)[0] != std::byte{7}) {
    int count = 0;
    program.cuda.device_get_count(&count);  // any call lets the stream go on
  }
  program.host[5] = std::byte{9};
  EXPECT_THAT(program.found(), HasSubstr("SourceChanged"));
}

TEST(SimulatedDriver, FindsAHostThatWritesWhereACopyDoes) {
  Program program;
  program.upload(program.stream);
  program.download(program.stream);
  program.back[5] = std::byte{9};
  EXPECT_THAT(program.found(), HasSubstr("DestinationTouched"));
}

TEST(SimulatedDriver, FindsBytesOutsideOfAnAllocation) {
  Program program;
  EXPECT_NE(program.cuda.memcpy_htod_async(program.device + 1, program.host, kBytes, program.stream), 0);
  EXPECT_NE(program.cuda.memcpy_htod_async(program.device, program.host + 1, kBytes, program.stream), 0);
  EXPECT_NE(program.cuda.memcpy_htod_async(0, program.host, kBytes, program.stream), 0);
  EXPECT_EQ(program.simulation.violations().size(), 3U);
  EXPECT_TRUE(program.simulation.has_violation(Rule::kOutOfRange));
}

TEST(SimulatedDriver, FindsAKernelThatLeavesItsMemory) {
  Program program;
  program.simulation.launch(0, program.stream, {.updates = {range_of(program.device, kBytes + 1)}});
  EXPECT_TRUE(program.simulation.has_violation(Rule::kOutOfRange));
}

TEST(SimulatedDriver, FindsMemoryOfTheWrongDevice) {
  Program program;
  const std::uint64_t elsewhere = program.simulation.device_memory(1, kBytes);
  EXPECT_NE(program.cuda.memcpy_htod_async(elsewhere, program.host, kBytes, program.stream), 0);
  EXPECT_TRUE(program.simulation.has_violation(Rule::kWrongDevice));
}

TEST(SimulatedDriver, FindsAHostThatOverrunsPinnedMemory) {
  for (const std::ptrdiff_t where : {std::ptrdiff_t{-1}, static_cast<std::ptrdiff_t>(kBytes)}) {
    Program program;
    program.host[where] = std::byte{9};
    EXPECT_THAT(program.found(), HasSubstr("HostOverrun"));
  }
}

TEST(SimulatedDriver, FindsACopyOfPageableMemory) {
  Program program;
  std::vector<std::byte> pageable(kBytes);
  EXPECT_NE(program.cuda.memcpy_htod_async(program.device, pageable.data(), kBytes, program.stream), 0);
  EXPECT_NE(program.cuda.memcpy_dtoh_async(pageable.data(), program.device, kBytes, program.stream), 0);
  EXPECT_EQ(program.simulation.violations().size(), 2U);
  EXPECT_TRUE(program.simulation.has_violation(Rule::kPageableCopy));
  EXPECT_EQ(program.cuda.mem_host_register(pageable.data(), kBytes, cuda::kHostPortable), 0);
  EXPECT_EQ(program.cuda.memcpy_htod_async(program.device, pageable.data(), kBytes, program.stream), 0);
  program.simulation.finish();
  EXPECT_EQ(program.cuda.mem_host_unregister(pageable.data()), 0);
  EXPECT_EQ(program.simulation.violations().size(), 2U);
}

TEST(SimulatedDriver, FindsAStreamOrEventThatIsGone) {
  Program program;
  CUstream_st* stream = nullptr;
  CUevent_st* event = nullptr;
  program.cuda.stream_create(&stream, cuda::kStreamNonBlocking);
  program.cuda.event_create(&event, cuda::kEventDisableTiming);
  program.cuda.stream_destroy(stream);
  program.cuda.event_destroy(event);
  EXPECT_THAT(program.simulation.leaks(), IsEmpty());
  EXPECT_NE(program.upload(stream), 0);
  EXPECT_NE(program.cuda.event_query(event), 0);
  EXPECT_NE(program.cuda.event_record(event, program.stream), 0);
  EXPECT_EQ(program.simulation.violations().size(), 3U);
  EXPECT_TRUE(program.simulation.has_violation(Rule::kUsedAfterDestroy));
}

TEST(SimulatedDriver, FindsMemoryThatIsFreedInFlight) {
  Program program;
  std::vector<std::byte> registered(kBytes);
  void* taken = nullptr;
  cuda::DevicePointer device = 0;
  program.cuda.mem_host_register(registered.data(), kBytes, cuda::kHostPortable);
  program.cuda.mem_host_alloc(&taken, kBytes, cuda::kHostPortable);
  program.cuda.mem_alloc(&device, kBytes);
  program.cuda.memcpy_htod_async(device, registered.data(), kBytes, program.stream);
  program.cuda.mem_host_unregister(registered.data());
  program.cuda.memcpy_htod_async(device, taken, kBytes, program.stream);
  program.cuda.mem_free_host(taken);
  program.cuda.memcpy_htod_async(device, program.host, kBytes, program.stream);
  program.cuda.mem_free(device);
  program.upload(program.stream);
  program.simulation.free_memory(program.host);
  EXPECT_EQ(program.simulation.violations().size(), 4U);
  EXPECT_TRUE(program.simulation.has_violation(Rule::kFreedInFlight));
  EXPECT_THAT(program.simulation.leaks(), IsEmpty());
}

TEST(SimulatedDriver, FindsMemoryThatIsGivenBackTwice) {
  Program program;
  void* taken = nullptr;
  program.cuda.mem_host_alloc(&taken, kBytes, cuda::kHostPortable);
  program.cuda.mem_free_host(taken);
  EXPECT_NE(program.cuda.mem_free_host(taken), 0);
  EXPECT_NE(program.cuda.mem_free(12345), 0);
  EXPECT_EQ(program.simulation.violations().size(), 2U);
  EXPECT_TRUE(program.simulation.has_violation(Rule::kUnknownMemory));
}

TEST(SimulatedDriver, FindsACallWithoutAContext) {
  Program program;
  program.simulation.set_device(kHost);
  EXPECT_NE(program.upload(program.stream), 0);
  EXPECT_NE(program.cuda.event_record(program.event, program.stream), 0);
  EXPECT_EQ(program.simulation.violations().size(), 2U);
  EXPECT_TRUE(program.simulation.has_violation(Rule::kNoContext));
}

TEST(SimulatedDriver, FindsACallInTheWrongContext) {
  Program program;
  void* taken = nullptr;
  program.cuda.mem_host_alloc(&taken, kBytes, 0);  // for device 0 alone
  program.simulation.set_device(1);
  EXPECT_NE(program.upload(program.stream), 0);
  EXPECT_NE(program.cuda.event_record(program.event, program.simulation.make_stream(1)), 0);
  const std::uint64_t elsewhere = program.simulation.device_memory(1, kBytes);
  program.cuda.memcpy_htod_async(elsewhere, taken, kBytes, nullptr);
  EXPECT_EQ(program.simulation.violations().size(), 3U);
  EXPECT_TRUE(program.simulation.has_violation(Rule::kWrongContext));
}

TEST(SimulatedDriver, FindsMemoryThatIsRegisteredTwice) {
  Program program;
  std::vector<std::byte> memory(kBytes);
  EXPECT_EQ(program.cuda.mem_host_register(memory.data(), kBytes, cuda::kHostPortable), 0);
  EXPECT_EQ(program.cuda.mem_host_register(memory.data() + 10, 20, cuda::kHostPortable),
            cuda::kHostMemoryAlreadyRegistered);
  EXPECT_TRUE(program.simulation.has_violation(Rule::kRegisteredTwice));
}

TEST(SimulatedDriver, FindsWhatIsNotAllowedDuringACapture) {
  Program program;
  program.simulation.begin_capture(program.stream);
  int status = 0;
  EXPECT_EQ(program.cuda.stream_is_capturing(program.stream, &status), 0);
  EXPECT_EQ(status, 1);
  EXPECT_NE(program.cuda.event_query(program.event), 0);
  EXPECT_NE(program.cuda.stream_synchronize(program.other), 0);
  void* taken = nullptr;
  EXPECT_NE(program.cuda.mem_host_alloc(&taken, kBytes, 0), 0);
  program.upload(program.stream);
  EXPECT_EQ(program.simulation.violations().size(), 4U);
  EXPECT_TRUE(program.simulation.has_violation(Rule::kWhileCapturing));
  program.simulation.end_capture();
  EXPECT_EQ(program.cuda.event_query(program.event), 0);
  EXPECT_EQ(program.simulation.violations().size(), 4U);
}

TEST(SimulatedDriver, HoldsOtherThreadsBackWhileOneCapturesInGlobalMode) {
  for (const int mode : {cuda::kCaptureModeGlobal, 1, cuda::kCaptureModeRelaxed}) {
    Program program;
    std::thread([&] { program.simulation.begin_capture(program.stream, 0, mode); }).join();
    const bool is_held_back = mode == cuda::kCaptureModeGlobal;
    EXPECT_EQ(program.cuda.event_query(program.event) != 0, is_held_back);
    EXPECT_EQ(program.cuda.stream_query(program.other) != 0, is_held_back);
    EXPECT_EQ(program.cuda.stream_synchronize(program.other) != 0, is_held_back);
    EXPECT_EQ(program.simulation.has_violation(Rule::kWhileCapturing), is_held_back);
    program.simulation.end_capture();
  }
}

TEST(SimulatedDriver, LetsARelaxedThreadDoWhatTouchesNoCapturedStream) {
  Program program;
  program.simulation.begin_capture(program.stream);
  int exchanged = cuda::kCaptureModeRelaxed;
  EXPECT_EQ(program.cuda.thread_exchange_stream_capture_mode(&exchanged), 0);
  EXPECT_EQ(exchanged, cuda::kCaptureModeGlobal);
  EXPECT_EQ(program.cuda.event_query(program.event), 0);
  EXPECT_EQ(program.cuda.stream_synchronize(program.other), 0);
  EXPECT_THAT(program.simulation.violations_text(), ::testing::IsEmpty());
  EXPECT_NE(program.cuda.stream_query(program.stream), 0);
  EXPECT_NE(program.cuda.stream_synchronize(program.stream), 0);
  EXPECT_NE(program.cuda.ctx_synchronize(), 0);
  EXPECT_EQ(program.simulation.violations().size(), 3U);
  program.simulation.end_capture();
}

TEST(SimulatedDriver, WaitsForAStreamThatIsHeldUntilItIsLetGo) {
  Program program(1, {});
  const auto hold = program.simulation.hold(0, program.stream);
  program.upload(program.stream);
  program.cuda.event_record(program.event, program.stream);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(program.cuda.event_query(program.event), cuda::kNotReady);
  std::thread other([&] { program.simulation.let_go(hold); });
  EXPECT_EQ(program.cuda.event_synchronize(program.event), 0);
  other.join();
  EXPECT_THAT(program.found(), IsEmpty());
}

TEST(SimulatedDriver, FailsTheCallThatItIsToldTo) {
  Program program;
  program.simulation.fail("mem_host_alloc", 2, 2);
  void* taken = nullptr;
  EXPECT_EQ(program.cuda.mem_host_alloc(&taken, kBytes, 0), 0);
  void* refused = nullptr;
  EXPECT_EQ(program.cuda.mem_host_alloc(&refused, kBytes, 0), 2);
  EXPECT_EQ(refused, nullptr);
  EXPECT_EQ(program.cuda.mem_free_host(taken), 0);
  EXPECT_EQ(program.simulation.calls("mem_host_alloc"), 2U);
}

TEST(SimulatedDriver, SaysWhatWasNotGivenBack) {
  Program program;
  void* taken = nullptr;
  program.cuda.mem_host_alloc(&taken, kBytes, 0);
  CUevent_st* event = nullptr;
  program.cuda.event_create(&event, 0);
  EXPECT_THAT(program.simulation.leaks(), HasSubstr("1000 bytes of the host"));
  EXPECT_THAT(program.simulation.leaks(), HasSubstr("an event"));
  EXPECT_EQ(program.simulation.pinned_bytes(), kBytes);
}

TEST(SimulatedDriver, BreaksPeerCopiesWhereItIsToldTo) {
  for (const bool breaks : {false, true}) {
    Program program(1, {.breaks_peer_copies = breaks});
    const std::uint64_t target = program.simulation.device_memory(1, kBytes);
    CUctx_st* contexts[2] = {};
    program.cuda.device_primary_ctx_retain(&contexts[0], 0);
    program.cuda.device_primary_ctx_retain(&contexts[1], 1);
    program.upload(program.stream);
    program.cuda.memcpy_peer_async(target, contexts[1], program.device, contexts[0], kBytes, program.stream);
    EXPECT_THAT(program.found(), IsEmpty());
    EXPECT_EQ(std::memcmp(program.simulation.bytes(target), program.host, kBytes) != 0, breaks);
  }
}

TEST(SimulatedAllocator, HandsAFreedBlockToTheSameStreamAtOnce) {
  Program program;
  SimulatedAllocator allocator(program.simulation);
  const std::uint64_t first = allocator.allocate(0, program.stream, kBytes);
  allocator.free(first);
  EXPECT_NE(allocator.allocate(0, program.other, kBytes), first);
  EXPECT_EQ(allocator.allocate(0, program.stream, kBytes), first);
  EXPECT_THAT(program.found(), IsEmpty());
}

TEST(SimulatedAllocator, ShowsABlockThatAnotherStreamStillUses) {
  for (std::uint64_t seed = 0; seed < kFewSeeds; ++seed) {
    Program program(seed, {});
    SimulatedAllocator allocator(program.simulation);
    const std::uint64_t block = allocator.allocate(0, program.stream, kBytes);
    program.cuda.event_record(program.event, program.stream);
    program.cuda.stream_wait_event(program.other, program.event, 0);
    program.simulation.launch(0, program.other, {.reads = {range_of(block, kBytes)}});
    allocator.free(block);
    EXPECT_THAT(program.simulation.violations_text(), IsEmpty());
    allocator.allocate(0, program.stream, kBytes);
    EXPECT_THAT(program.found(), HasSubstr("Unordered")) << "seed " << seed;
  }
}

}  // namespace
}  // namespace turnpike::simulated
