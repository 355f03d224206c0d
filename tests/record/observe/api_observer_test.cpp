// What the observer makes of callbacks: every field of a call, which calls nest, and what it asks CUPTI for.
#include "record/observe/api_observer.h"

#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "record/handover/thread_buffer.h"
#include "record/observe/observed_calls.h"

namespace turnpike::record {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using trace::CallKind;

std::vector<std::string> g_ranges;

TEST_F(ApiObserverTest, TakesEveryFieldOfACall) {
  ASSERT_TRUE(subscribe()) << error_;
  observer_->set_listening(true);
  const cudaMemcpyAsync_v3020_params copy = {pointer(11), pointer(12), 13, cudaMemcpyDeviceToDevice,
                                             static_cast<cudaStream_t>(pointer(14))};
  const std::int64_t before_ns = realtime_ns();
  make({.id = kCopy, .correlation = 21, .parameters = &copy, .result = 7});
  const std::int64_t after_ns = realtime_ns();
  const auto found = calls();
  ASSERT_THAT(found, SizeIs(1));
  const trace::CallRecord& call = found[0];
  EXPECT_EQ(call.thread, handover_->mine()->thread);
  EXPECT_GE(call.start_ns, before_ns);
  EXPECT_LE(call.start_ns, call.end_ns);
  EXPECT_LE(call.end_ns, after_ns);
  EXPECT_EQ(call.correlation, 21u);
  EXPECT_NE(call.stack, trace::kNoId);
  EXPECT_EQ(call.name, strings_.intern("cudaMemcpyAsync"));
  EXPECT_EQ(call.kind, CallKind::kCopy);
  EXPECT_EQ(call.api, trace::Api::kRuntime);
  EXPECT_EQ(call.autograd_role, trace::AutogradRole::kUnknown);
  EXPECT_EQ(call.is_captured, 0);
  EXPECT_EQ(call.result, 7);
  EXPECT_EQ(call.context, 9u);
  EXPECT_EQ(call.device, 3u);
  EXPECT_EQ(call.stream, trace::kUnknownId) << "the copy's own record has it";
  EXPECT_EQ(call.bytes, 13u);
  EXPECT_EQ(call.dst, 11u);
  EXPECT_EQ(call.src, 12u);
  EXPECT_EQ(call.object, 0u);
  EXPECT_EQ(losses_->total(), 0u);
}

TEST_F(ApiObserverTest, TellsStreamsOfCallsWithoutDeviceWork) {
  ASSERT_TRUE(subscribe());
  observer_->set_listening(true);
  const cudaStreamSynchronize_v3020_params stream = {static_cast<cudaStream_t>(pointer(14))};
  const cudaEventRecord_v3020_params event = {static_cast<cudaEvent_t>(pointer(80)), nullptr};
  make({.id = kSync, .correlation = 1, .parameters = &stream});
  make({.id = kThreadSync, .correlation = 2, .parameters = &stream});
  make({.id = kRecord, .correlation = 3, .parameters = &event});
  make({.id = kSync, .correlation = 4, .parameters = &stream, .context = 0});
  const auto found = calls();
  ASSERT_THAT(found, SizeIs(4));
  EXPECT_EQ(found[0].stream, 21u);
  EXPECT_EQ(found[0].name, strings_.intern("cudaStreamSynchronize"));
  EXPECT_NE(found[0].stack, trace::kNoId);
  EXPECT_EQ(found[1].stream, 1014u) << "asked for as a thread's own";
  EXPECT_EQ(found[1].name, found[0].name);
  EXPECT_EQ(found[2].stream, 7u);
  EXPECT_EQ(found[2].object, 80u);
  EXPECT_EQ(found[2].stack, trace::kNoId) << "of these only the order is asked for";
  EXPECT_EQ(found[3].stream, trace::kUnknownId);
  EXPECT_EQ(found[3].device, trace::kUnknownId);
  EXPECT_EQ(found[3].context, trace::kUnknownId);
}

TEST_F(ApiObserverTest, AsksForTheIdOfAStreamOnce) {
  ASSERT_TRUE(subscribe());
  observer_->set_listening(true);
  const auto questions_of = [&](std::uint32_t id, std::uint64_t handle, std::uint32_t context_id) {
    const int before = g_cupti.stream_questions;
    const cudaStreamSynchronize_v3020_params stream = {static_cast<cudaStream_t>(pointer(handle))};
    make({.id = id, .correlation = ++next_correlation_, .parameters = &stream, .context_id = context_id});
    return g_cupti.stream_questions - before;
  };
  const auto make_stream = [&] {
    const CUpti_ResourceData made{};
    g_cupti.callback(g_cupti.user, CallbackDomain::kResource, CUPTI_CBID_RESOURCE_STREAM_CREATED, &made);
  };
  questions_of(kSync, 14, 9);  // asks for the device's default stream, too
  for (int turn = 0; turn < 3; ++turn) EXPECT_EQ(questions_of(kSync, 14, 9), 0) << turn;
  EXPECT_EQ(questions_of(kThreadSync, 14, 9), 1) << "per-thread default streams have other ids";
  EXPECT_EQ(questions_of(kThreadSync, 14, 9), 0);
  questions_of(kSync, 14, 10);
  EXPECT_EQ(questions_of(kSync, 14, 10), 0);
  EXPECT_EQ(questions_of(kSync, 14, 9), 0) << "both contexts are known";
  for (const auto& call : calls()) EXPECT_TRUE(call.stream == 21u || call.stream == 1014u) << call.stream;
  make_stream();  // it may have the handle of one that is gone
  EXPECT_EQ(questions_of(kSync, 14, 9), 1);
  EXPECT_EQ(questions_of(kSync, 14, 9), 0);
  for (std::uint64_t handle = 20; handle < 29; ++handle) EXPECT_EQ(questions_of(kSync, handle, 9), 1) << handle;
  EXPECT_EQ(questions_of(kSync, 28, 9), 0);
  EXPECT_EQ(questions_of(kSync, 14, 9), 1) << "more streams than a thread remembers";
  int of_other_thread = 0;
  std::thread([&] { of_other_thread = questions_of(kSync, 14, 9); }).join();
  EXPECT_EQ(of_other_thread, 1) << "its per-thread default stream is another one";
  EXPECT_EQ(questions_of(kSync, 14, 9), 0);
  observer_->end_calls();
  ASSERT_TRUE(subscribe());
  EXPECT_EQ(questions_of(kSync, 14, 9), 2) << "streams may have been made in between; and for the default stream";
}

TEST_F(ApiObserverTest, AsksEachTimeWhereNewStreamsAreNotTold) {
  g_cupti.tells_new_streams = false;
  ASSERT_TRUE(subscribe());
  EXPECT_EQ(lost(Loss::kCuptiCallFailed), 0u) << "nothing is lost by it";
  observer_->set_listening(true);
  const cudaStreamSynchronize_v3020_params stream = {static_cast<cudaStream_t>(pointer(14))};
  for (std::uint32_t turn = 1; turn <= 3; ++turn) make({.id = kSync, .correlation = turn, .parameters = &stream});
  EXPECT_EQ(g_cupti.stream_questions, 3 + 1) << "once for the default stream of the device";
}

TEST_F(ApiObserverTest, LeavesOutDriverCallsInsideOfRuntimeCalls) {
  ASSERT_TRUE(subscribe());
  observer_->set_listening(true);
  Call outer{.id = kCopy, .correlation = 5};
  Call inner{.domain = CallbackDomain::kDriverApi, .id = kDriverCopy, .correlation = 5};
  at(CallbackSite::kEnter, outer);
  at(CallbackSite::kEnter, inner);
  EXPECT_EQ(inner.slot, 0u);
  at(CallbackSite::kExit, inner);
  at(CallbackSite::kExit, outer);
  make({.domain = CallbackDomain::kDriverApi, .id = kDriverCopy, .correlation = 6});
  make({.domain = CallbackDomain::kDriverApi, .id = kLaunch, .correlation = 7});
  const auto found = calls();
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].api, trace::Api::kRuntime);
  EXPECT_EQ(found[1].api, trace::Api::kDriver);
  EXPECT_EQ(found[1].name, strings_.intern("cuMemcpyHtoDAsync_v2")) << "the version is part of its name";
  EXPECT_EQ(found[1].correlation, 6u);
  EXPECT_NE(found[1].stack, trace::kNoId);
  EXPECT_EQ(found[2].kind, CallKind::kLaunch);
  EXPECT_EQ(found[2].stack, trace::kNoId);
}

TEST_F(ApiObserverTest, BelievesNoStartThatItDidNotSee) {
  ASSERT_TRUE(subscribe());
  observer_->set_listening(true);
  constexpr std::int64_t kDay = 86'400'000'000'000;
  const auto exit_with = [&](std::int64_t slot) {
    Call call{.id = kCopy, .correlation = ++next_correlation_, .slot = static_cast<std::uint64_t>(slot)};
    at(CallbackSite::kExit, call);
    return calls().size();
  };
  EXPECT_EQ(exit_with(0), 0u);
  EXPECT_EQ(exit_with(-5), 0u);
  EXPECT_EQ(exit_with(realtime_ns() + kDay), 0u);
  EXPECT_EQ(exit_with(realtime_ns() - kDay - 1), 0u);
  EXPECT_EQ(exit_with(realtime_ns() - kDay + 60'000'000'000), 1u);
  EXPECT_EQ(exit_with(realtime_ns()), 1u);
}

TEST_F(ApiObserverTest, IsSilentWhileItDoesNotListen) {
  ASSERT_TRUE(subscribe());
  g_ranges.clear();
  observer_->set_profiler_range([](bool is_start) { g_ranges.emplace_back(is_start ? "start" : "stop"); });
  Call call{.id = kCopy, .correlation = 1, .slot = 77};
  at(CallbackSite::kEnter, call);
  EXPECT_EQ(call.slot, 0u);
  observer_->set_listening(true);
  at(CallbackSite::kExit, call);
  EXPECT_THAT(calls(), IsEmpty()) << "it began before";
  observer_->set_listening(false);
  make({.id = kCopy, .correlation = 2});
  EXPECT_THAT(calls(), IsEmpty());
  make({.id = CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000, .correlation = 3});
  make({.domain = CallbackDomain::kDriverApi, .id = CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, .correlation = 4});
  EXPECT_THAT(g_ranges, ElementsAre("start", "stop"));
  observer_->set_profiler_range(nullptr);
  make({.id = CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000, .correlation = 5});
  EXPECT_THAT(g_ranges, SizeIs(2));
}

TEST_F(ApiObserverTest, AsksForTheDeviceOfAContextOnce) {
  ASSERT_TRUE(subscribe());
  observer_->set_listening(true);
  make({.id = kCopy, .correlation = 1, .context = 103, .context_id = 1});
  make({.id = kCopy, .correlation = 2, .context = 103, .context_id = 1});
  make({.id = kCopy, .correlation = 3, .context = 100, .context_id = 2});
  make({.id = kCopy, .correlation = 4, .context = 105, .context_id = 65});  // in the place of context 1
  make({.id = kCopy, .correlation = 5, .context = 103, .context_id = 1});
  std::vector<std::string> seen;
  handover_->drain([&](const std::byte* slot) {
    trace::RecordHeader header;
    std::memcpy(&header, slot, sizeof header);
    if (header.kind == trace::RecordKind::kStream) {
      trace::StreamRecord stream;
      std::memcpy(&stream, slot, sizeof stream);
      EXPECT_EQ(stream.is_default, 1);
      seen.push_back("stream " + std::to_string(stream.stream) + " of " + std::to_string(stream.context) + " on " +
                     std::to_string(stream.device));
    }
    if (header.kind == trace::RecordKind::kCall) {
      trace::CallRecord call;
      std::memcpy(&call, slot, sizeof call);
      seen.push_back(std::to_string(call.device));
    }
  });
  EXPECT_THAT(seen, ElementsAre("stream 7 of 1 on 3", "3", "3", "stream 7 of 2 on 0", "0", "stream 7 of 65 on 5", "5",
                                "stream 7 of 1 on 3", "3"));
  EXPECT_EQ(g_cupti.device_questions, 4);
}

TEST_F(ApiObserverTest, KnowsNoDeviceThatItHasNotAskedFor) {
  ASSERT_TRUE(subscribe());
  observer_->set_listening(true);
  make({.id = kCopy, .correlation = 1, .context = 103, .context_id = 0});
  make({.id = kCopy, .correlation = 2, .context = 103, .context_id = 64});
  const auto found = calls();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].device, 3u);
  EXPECT_EQ(found[1].device, 3u);
}

TEST_F(ApiObserverTest, ListensToWhatIsWantedAlone) {
  ASSERT_TRUE(subscribe());
  std::set<std::pair<CallbackDomain, std::uint32_t>> expected;
  for (const auto& [key, name] : kNames) {
    if (name != std::string("cudaGetDevice_v3020")) expected.insert(key);
  }
  expected.insert({CallbackDomain::kResource, 3});
  expected.insert({CallbackDomain::kResource, 13});
  expected.insert({CallbackDomain::kResource, 20});
  EXPECT_EQ(g_cupti.listened, expected);
  observer_->end_calls();
  EXPECT_THAT(g_cupti.listened, IsEmpty());
  ASSERT_TRUE(subscribe());
  EXPECT_EQ(g_cupti.listened, expected);
  EXPECT_EQ(g_cupti.subscribed_count, 1) << "the subscription stays";
  g_cupti.is_finalized = true;
  ASSERT_TRUE(subscribe());
  EXPECT_EQ(g_cupti.subscribed_count, 2);
}

TEST_F(ApiObserverTest, ListensToTransfersAlone) {
  Options options;
  options.detail = Detail::kTransfers;
  options.has_stacks = false;
  ASSERT_TRUE(subscribe(options));
  EXPECT_FALSE(g_cupti.listened.contains({CallbackDomain::kDriverApi, kLaunch}));
  EXPECT_FALSE(g_cupti.listened.contains({CallbackDomain::kRuntimeApi, kRecord}));
  EXPECT_TRUE(g_cupti.listened.contains({CallbackDomain::kRuntimeApi, kSync}));
  observer_->set_listening(true);
  make({.id = kCopy, .correlation = 1});
  const auto found = calls();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].stack, trace::kNoId);
}

// The call of one thread may be under way when the recording has ended that heard its beginning, and the next begins.
TEST_F(ApiObserverTest, MayBeginAnewAmidACall) {
  ASSERT_TRUE(subscribe());
  observer_->set_listening(true);
  const auto callback = g_cupti.callback;
  void* const user = g_cupti.user;
  std::vector<char> bytes(4096);
  const cudaMemcpyAsync_v3020_params copy = {pointer(11), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, nullptr};
  std::atomic<int> calls_made{0};
  std::atomic<bool> is_over{false};
  std::thread program([&] {
    for (std::uint32_t number = 1; !is_over; ++number) {
      std::uint64_t slot = 0;
      std::int32_t result = 0;
      cuda::ApiCallback data{};
      data.parameters = &copy;
      data.return_value = &result;
      data.context = pointer(103);
      data.slot = &slot;
      data.correlation = number;
      for (const CallbackSite site : {CallbackSite::kEnter, CallbackSite::kExit}) {
        data.site = site;
        callback(user, CallbackDomain::kRuntimeApi, kCopy, &data);
        callback(user, CallbackDomain::kRuntimeApi, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000, &data);
      }
      ++calls_made;
    }
  });
  for (int i = 0; i < 20; ++i) {
    const int before = calls_made;
    while (calls_made == before) handover_->drain([](const std::byte*) {});
    observer_->set_listening(false);
    observer_->end_calls();
    Options options;
    options.is_content_verified = i % 2 == 0;
    options.has_stacks = i % 2 != 0;
    EXPECT_TRUE(subscribe(options)) << error_;
    observer_->set_profiler_range([](bool) {});
    observer_->set_listening(true);
  }
  is_over = true;
  program.join();
  handover_->drain([](const std::byte*) {});
}

TEST_F(ApiObserverTest, SaysWhyItCannotSubscribe) {
  g_cupti.subscribed = cuda::kCuptiMultipleSubscribers;
  EXPECT_FALSE(subscribe());
  EXPECT_THAT(error_, testing::HasSubstr("another tool"));
  EXPECT_EQ(lost(Loss::kOtherCuptiUser), 1u);
  EXPECT_EQ(lost(Loss::kCuptiCallFailed), 0u);
  EXPECT_THAT(error_, testing::HasSubstr("in this process: Nsight Systems or Compute"));
  cupti_.subscribe_by_name = [](void**, cuda::CallbackFunction, void*, void*) {
    return cuda::kCuptiMultipleSubscribers;
  };
  EXPECT_FALSE(subscribe());
  EXPECT_THAT(error_, testing::HasSubstr("in this process: Nsight Systems or Compute")) << "no name was told";
  cupti_.subscribe_by_name = nullptr;
  losses_->reset();
  losses_->add(Loss::kOtherCuptiUser);
  g_cupti.subscribed = 5;
  EXPECT_FALSE(subscribe());
  EXPECT_EQ(error_, "CUPTI refused to be subscribed to: A REASON");
  EXPECT_EQ(lost(Loss::kOtherCuptiUser), 1u);
  EXPECT_EQ(lost(Loss::kCuptiCallFailed), 1u);
}

TEST_F(ApiObserverTest, CountsFunctionsThatItCannotListenTo) {
  g_cupti.enabled = 5;
  EXPECT_TRUE(subscribe());
  EXPECT_EQ(lost(Loss::kCuptiCallFailed), kNames.size() - 1 + 2) << "all but the one that is not wanted";
  losses_->reset();
  g_cupti.has_names = false;
  g_cupti.enabled = cuda::kCuptiSuccess;
  EXPECT_TRUE(subscribe());
  EXPECT_EQ(lost(Loss::kCuptiCallFailed), 2u) << "one for each domain";
}

TEST_F(ApiObserverTest, WatchesManagedMemoryFromItsFirstAllocation) {
  ASSERT_TRUE(subscribe());
  observer_->set_listening(true);
  make({.id = kCopy, .correlation = 1});
  EXPECT_THAT(g_cupti.activities, IsEmpty());
  make({.id = CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000, .correlation = 2});
  make({.id = CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000, .correlation = 3});
  EXPECT_THAT(g_cupti.activities, ElementsAre(cuda::ActivityKind::kManagedMemory));
  observer_->end_calls();
  EXPECT_THAT(g_cupti.activities, SizeIs(2)) << "and no longer";
  ASSERT_TRUE(subscribe());
  EXPECT_THAT(g_cupti.activities, SizeIs(3)) << "memory of a recording before is still there";
}

TEST_F(ApiObserverTest, TellsWhereNodesOfGraphsWereMade) {
  ASSERT_TRUE(subscribe());
  const auto node = [&](std::uint32_t id, std::uint64_t made, std::uint64_t original) {
    cuda::GraphCallback graph{pointer(1), pointer(2), pointer(made), pointer(original)};
    cuda::ResourceCallback resource{pointer(3), pointer(4), &graph};
    g_cupti.callback(g_cupti.user, CallbackDomain::kResource, id, &resource);
  };
  node(13, 30, 0);
  EXPECT_THAT(drain<trace::GraphNodeRecord>(trace::RecordKind::kGraphNode), IsEmpty()) << "it does not listen";
  observer_->set_listening(true);
  Call captured{.id = kCopy, .correlation = 1};
  at(CallbackSite::kEnter, captured);
  node(13, 31, 0);
  at(CallbackSite::kExit, captured);
  node(20, 32, 31);
  node(20, 33, 0);
  node(20, 34, 13);
  node(13, 13, 0);
  node(13, 0, 0);
  Call other{.id = kCopy, .correlation = 2};
  at(CallbackSite::kEnter, other);
  node(20, 35, 31);
  at(CallbackSite::kExit, other);
  std::vector<std::string> seen;
  handover_->drain([&](const std::byte* slot) {
    trace::RecordHeader header;
    std::memcpy(&header, slot, sizeof header);
    if (header.kind == trace::RecordKind::kGraphNode) {
      trace::GraphNodeRecord made;
      std::memcpy(&made, slot, sizeof made);
      seen.push_back(std::to_string(made.node) + " of " + std::to_string(made.cloned_from) +
                     (made.stack == trace::kNoId ? "" : " with a stack"));
    }
    if (header.kind == trace::RecordKind::kCall) {
      trace::CallRecord call;
      std::memcpy(&call, slot, sizeof call);
      seen.push_back(call.is_captured == 0 ? "made" : call.is_captured == 1 ? "captured" : "neither");
    }
  });
  EXPECT_THAT(seen, ElementsAre("31 of 0 with a stack", "captured", "32 of 31", "35 of 31", "made"));
  cuda::ResourceCallback empty{};
  g_cupti.callback(g_cupti.user, CallbackDomain::kResource, 13, &empty);
}

TEST_F(ApiObserverTest, HashesTheHostMemoryOfCopiesThatSucceeded) {
  ASSERT_TRUE(subscribe({.is_from_the_start = true}));
  observer_->set_listening(true);
  std::vector<unsigned char> memory(200, 5);
  const auto copy = [&](std::size_t bytes, std::int32_t result, cudaMemcpyKind kind, std::uint32_t correlation) {
    const cudaMemcpyAsync_v3020_params parameters = {pointer(11), memory.data(), bytes, kind, nullptr};
    make({.id = kCopy, .correlation = correlation, .parameters = &parameters, .result = result});
  };
  copy(64, 0, cudaMemcpyHostToDevice, 1);
  copy(63, 0, cudaMemcpyHostToDevice, 2);
  copy(100, 1, cudaMemcpyHostToDevice, 3);
  copy(100, 0, cudaMemcpyDefault, 4);
  copy(200, 0, cudaMemcpyHostToDevice, 5);
  const auto contents = drain<trace::ContentRecord>(trace::RecordKind::kContent);
  ASSERT_THAT(contents, SizeIs(2));
  EXPECT_EQ(contents[0].correlation, 1u);
  EXPECT_EQ(contents[0].bytes, 64u);
  EXPECT_EQ(contents[0].hashed_bytes, 64u);
  EXPECT_EQ(contents[0].address, reinterpret_cast<std::uint64_t>(memory.data()));
  EXPECT_EQ(contents[0].side, trace::ContentSide::kSource);
  EXPECT_EQ(contents[1].correlation, 5u);
  EXPECT_EQ(contents[1].bytes, 200u);
  EXPECT_NE(contents[1].hash, contents[0].hash);
  // A call that was not heard may have allocated managed memory, and there is no driver to ask.
  observer_->set_listening(false);
  observer_->set_listening(true);
  copy(64, 0, cudaMemcpyHostToDevice, 6);
  EXPECT_THAT(drain<trace::ContentRecord>(trace::RecordKind::kContent), IsEmpty());
}

// Of which copies the device must have told.
class UntoldCopies : public ApiObserverTest {
 protected:
  UntoldCopies() {
    EXPECT_TRUE(subscribe());
    observer_->set_listening(true);
    handover_->note_delivery();
  }
  void copy(std::size_t bytes, std::uint64_t stream, std::int32_t result = 0) {
    const cudaMemcpyAsync_v3020_params call = {pointer(11), pointer(12), bytes, cudaMemcpyDeviceToDevice,
                                               static_cast<cudaStream_t>(pointer(stream))};
    make({.id = kCopy, .correlation = ++next_correlation_, .parameters = &call, .result = result});
  }
  void wait_for(std::uint64_t stream, std::uint32_t context = 9, std::int32_t result = 0) {
    const cudaStreamSynchronize_v3020_params call = {static_cast<cudaStream_t>(pointer(stream))};
    make({.id = kSync,
          .correlation = ++next_correlation_,
          .parameters = &call,
          .result = result,
          .context_id = context});
  }
};

TEST_F(UntoldCopies, AreThoseOfTheStreamThatWasWaitedFor) {
  copy(13, 14);
  EXPECT_FALSE(handover_->has_untold_copy()) << "it may wait for a long kernel";
  wait_for(15);
  EXPECT_FALSE(handover_->has_untold_copy()) << "another stream";
  wait_for(14, 10);
  EXPECT_FALSE(handover_->has_untold_copy()) << "another context";
  wait_for(14, 9, 7);
  EXPECT_FALSE(handover_->has_untold_copy()) << "a wait that failed";
  wait_for(14);
  EXPECT_TRUE(handover_->has_untold_copy());
  handover_->note_delivery();
  EXPECT_FALSE(handover_->has_untold_copy());
  wait_for(14);
  EXPECT_FALSE(handover_->has_untold_copy()) << "it was waited for already";
}

TEST_F(UntoldCopies, HaveBytesAndSucceeded) {
  copy(0, 14);
  wait_for(14);
  EXPECT_FALSE(handover_->has_untold_copy()) << "the device does nothing for it";
  copy(13, 14, 7);
  wait_for(14);
  EXPECT_FALSE(handover_->has_untold_copy()) << "it failed";
  copy(13, 14);
  handover_->note_delivery();
  copy(13, 14, 7);
  wait_for(14);
  EXPECT_FALSE(handover_->has_untold_copy()) << "the one before was delivered";
}

TEST_F(UntoldCopies, WereCalledSinceTheDeviceToldLast) {
  copy(13, 14);
  handover_->note_delivery();
  wait_for(14);
  EXPECT_FALSE(handover_->has_untold_copy());
}

TEST_F(ApiObserverTest, CountsFunctionsThatItHasNoRoomFor) {
  g_cupti.has_later_names = true;
  ASSERT_TRUE(subscribe());
  EXPECT_EQ(lost(Loss::kFunctionsNotHeard), 1u);
}

}  // namespace
}  // namespace turnpike::record
