// How much memory a page takes beside the analysis, and that more of a trace takes no more.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/model/timeline.h"
#include "bound_to_one_core.h"
#include "report/html/page.h"

namespace {

std::atomic<std::size_t> used_bytes = 0;
std::atomic<std::size_t> most_used_bytes = 0;

void* counted(std::size_t size) {
  void* const memory = std::malloc(std::max<std::size_t>(size, 1));
  if (memory == nullptr) throw std::bad_alloc();
  const std::size_t used = used_bytes += ::malloc_usable_size(memory);
  std::size_t most = most_used_bytes;
  while (most < used && !most_used_bytes.compare_exchange_weak(most, used)) continue;
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) used_bytes -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

// Every allocation of this program.
void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new[](std::size_t size) {
  return counted(size);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory);
}

namespace turnpike::report::html {
namespace {

constexpr std::uint32_t kThread = 100;
constexpr std::int64_t kFirst = 1'700'000'000'000'000'000;
constexpr std::size_t kMaxEvents = 100'000;

std::uint32_t add_text(trace::Process& process, const std::string& text) {
  const auto id = static_cast<std::uint32_t>(process.strings.size() + 1);
  process.strings[id] = text;
  return id;
}

// Steps of a thousand launches, each with a kernel that is late and so ends an idle stretch.
std::vector<analyze::LoadedProcess> launches(int count) {
  std::vector<analyze::LoadedProcess> processes(1);
  trace::Process& process = processes.front().process;
  process.pid = kThread;
  const std::uint32_t launch = add_text(process, "cudaLaunchKernel");
  const std::uint32_t work = add_text(process, "work");
  analyze::TimelineLoader loader;
  constexpr int kOfStep = 1000;
  for (int i = 0; i < count; ++i) {
    // No two distances are the same, as in a recording.
    const std::int64_t at = kFirst + std::int64_t{i} * 10'000 + std::int64_t{i} * 7919 % 1000;
    if (i % kOfStep == 0) {
      trace::RangeRecord step{};
      step.thread = step.end_thread = kThread;
      step.name = add_text(process, "step " + std::to_string(i / kOfStep));
      step.start_ns = at - 1000;
      step.end_ns = at + kOfStep * 10'000 - 3000;
      loader.on(step);
    }
    trace::CallRecord call{};
    call.thread = kThread;
    call.start_ns = at;
    call.end_ns = at + 2000 + i * 13 % 512;
    call.correlation = static_cast<std::uint32_t>(i + 1);
    call.name = launch;
    call.kind = trace::CallKind::kLaunch;
    call.bytes = trace::kUnknownSize;
    call.stream = call.device = trace::kUnknownId;
    loader.on(call);
    trace::KernelRecord kernel{};
    kernel.start_ns = call.end_ns + 500;
    kernel.end_ns = kernel.start_ns + 3000 + i * 31 % 1024;
    kernel.correlation = call.correlation;
    kernel.name = work;
    kernel.stream = 7;
    loader.on(kernel);
  }
  processes.front().timeline = loader.take();
  return processes;
}

struct PageMemory {
  std::size_t adding;   // at most, while the process is added
  std::size_t writing;  // at most, while the page is written
  std::size_t all;      // at most, with the analysis
  std::size_t gaps;     // that the GPU has
};

PageMemory memory_of_page(int launch_count) {
  const auto processes = launches(launch_count);
  const std::size_t before = used_bytes;
  most_used_bytes = before;
  PageMemory memory{};
  Page page({.max_events = kMaxEvents}, 1);
  const analyze::Report report = analyze::analyze_processes(processes, {}, [&](const analyze::ProcessView& view) {
    for (const std::uint32_t device : view.idle->devices()) memory.gaps += view.idle->of(device).size();
    memory.all = most_used_bytes - before;
    const std::size_t without_page = used_bytes;
    most_used_bytes = without_page;
    page.add(view);
    memory.adding = most_used_bytes - without_page;
  });
  const std::size_t without_writing = used_bytes;
  most_used_bytes = without_writing;
  page.write(report, [](std::string_view) {});
  memory.writing = most_used_bytes - without_writing;
  return memory;
}

// A report alone: what the analysis takes where nobody watches.
std::size_t memory_of_report(int launch_count) {
  const auto processes = launches(launch_count);
  const std::size_t before = used_bytes;
  most_used_bytes = before;
  analyze::analyze_processes(processes, {});
  return most_used_bytes - before;
}

TEST(PageMemory, DoesNotGrowWithTheTrace) {
  constexpr int kFew = 200'000;
  constexpr int kMany = 4 * kFew;
  constexpr std::size_t kMuch = 500'000;
  // A page compresses beside its caller as long as it has several cores. How far the caller is ahead then, and so how
  // much waits, depends on what else the machine does.
  const BoundToOneCore alone;
  const PageMemory few = memory_of_page(kFew);
  const PageMemory many = memory_of_page(kMany);
  EXPECT_GT(few.gaps, 150'000u);  // more than stay in memory
  EXPECT_GT(many.gaps, 600'000u);
  EXPECT_LT(many.adding, few.adding + kMuch);
  EXPECT_LT(many.writing, few.writing + kMuch);
  // What is kept of the gaps is there already when the page is told of the process.
  const std::size_t few_beside = few.all - std::min(few.all, memory_of_report(kFew));
  const std::size_t many_beside = many.all - std::min(many.all, memory_of_report(kMany));
  EXPECT_LT(many_beside, few_beside + kMuch);
  RecordProperty("adding", std::to_string(many.adding));
  RecordProperty("beside", std::to_string(many_beside));
  RecordProperty("writing", std::to_string(many.writing));
  RecordProperty("few_adding", std::to_string(few.adding));
  RecordProperty("few_writing", std::to_string(few.writing));
  RecordProperty("few_beside", std::to_string(few_beside));
}

}  // namespace
}  // namespace turnpike::report::html
