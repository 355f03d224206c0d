// libturnpike_stack_probe.so: the recorder's stacks behind a C interface, for tests that call it from Python.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "record/stacks/autograd.h"
#include "record/stacks/python_end.h"
#include "record/stacks/python_runtime.h"
#include "record/stacks/python_sampler.h"
#include "record/stacks/stack_table.h"
#include "record/stacks/string_table.h"

namespace {

using turnpike::record::StackTable;
using turnpike::record::StringTable;
namespace trace = turnpike::trace;

std::atomic<std::uint64_t> g_reads{0};

// Never destroyed: daemon threads capture until the process is gone.
StringTable& strings() {
  static auto* const table = new StringTable;
  return *table;
}
StackTable& stacks() {
  static auto* const table = new StackTable(strings());
  return *table;
}

// What a reader of the file would know: filled from drained payloads and from nothing else.
struct Definitions {
  std::map<std::uint32_t, std::string> strings;
  std::map<std::uint32_t, trace::FrameEntry> frames;
  std::map<std::uint32_t, std::pair<trace::StackEntry, std::vector<std::uint32_t>>> stacks;
};
Definitions g_read;

template <typename T>
T take(const std::vector<std::byte>& payload, std::size_t& at) {
  T value;
  std::memcpy(&value, payload.data() + at, sizeof value);
  at += sizeof value;
  return value;
}

void read_everything_new() {
  std::vector<std::byte> frames, found, texts;
  static turnpike::record::ModuleSymbols symbols;
  stacks().name_new(symbols);
  stacks().drain(frames, found);
  strings().drain(texts);
  for (std::size_t at = 0; at < texts.size(); at = (at + 7) & ~std::size_t{7}) {
    const auto entry = take<trace::StringEntry>(texts, at);
    g_read.strings[entry.id].assign(reinterpret_cast<const char*>(texts.data() + at), entry.bytes);
    at += entry.bytes;
  }
  for (std::size_t at = 0; at < frames.size();) {
    const auto entry = take<trace::FrameEntry>(frames, at);
    g_read.frames[entry.id] = entry;
  }
  for (std::size_t at = 0; at < found.size(); at = (at + 7) & ~std::size_t{7}) {
    const auto entry = take<trace::StackEntry>(found, at);
    std::vector<std::uint32_t> ids;
    for (int i = 0; i < entry.frame_count; ++i) ids.push_back(take<std::uint32_t>(found, at));
    g_read.stacks[entry.id] = {entry, ids};
  }
}

std::string text_of(const trace::FrameEntry& frame) {
  const char* kind = frame.kind == trace::FrameKind::kPython ? "P" : "N";
  return std::string(kind) + '\t' + g_read.strings[frame.function] + '\t' + g_read.strings[frame.file] + '\t' +
         std::to_string(frame.line) + '\t' + std::to_string(frame.first_line) + '\t' +
         std::to_string(frame.module_offset) + '\n';
}

double time_capture(int count) {
  stacks().capture();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) stacks().capture();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / count;
}

thread_local int t_armed;
thread_local double t_capture_ns;
thread_local std::uint32_t t_at_allocation;

}  // namespace

// The recorder calls this one: what is linked into a library comes before the C library's.
extern "C" ssize_t process_vm_readv(pid_t pid, const iovec* to, unsigned long to_count, const iovec* from,
                                    unsigned long from_count, unsigned long flags) {
  g_reads.fetch_add(1, std::memory_order_relaxed);
  return syscall(SYS_process_vm_readv, pid, to, to_count, from, from_count, flags);
}

#define PROBE extern "C" __attribute__((visibility("default"), noinline))

// As the recorder does where a recording starts, and when libraries were loaded.
PROBE __attribute__((constructor)) void probe_find() {
  turnpike::record::find_python();
  turnpike::record::find_autograd();
}

PROBE std::uint32_t probe_capture() {
  const std::uint32_t id = stacks().capture();
  asm volatile("" ::: "memory");  // keeps this frame: no tail call
  return id;
}

// Calls back, so that Python can be entered from C from Python.
PROBE std::uint32_t probe_call(std::uint32_t (*callback)()) {
  const std::uint32_t id = callback();
  asm volatile("" ::: "memory");
  return id;
}

// Captures in a thread that Python knows and that runs none of it. Without the GIL.
PROBE std::uint32_t probe_without_frames() {
  const auto enter = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
  const auto leave = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "PyGILState_Release"));
  std::uint32_t id = 0;
  std::thread([&] {
    const int state = enter();
    id = stacks().capture();
    leave(state);
  }).join();
  return id;
}

// Looks at the Python frames of `count` threads (as pthread_self() gives them) and writes the numbers of their stacks,
// 0 where there is none. On a thread without the GIL.
PROBE void probe_sample(const std::uint64_t* handles, std::uint32_t* numbers, int count) {
  using turnpike::record::PythonSampler;
  static PythonSampler sampler(stacks());
  std::vector<PythonSampler::Thread> threads;
  for (int i = 0; i < count; ++i) threads.push_back({handles[i], 0});
  sampler.look_at(threads);
  for (int i = 0; i < count; ++i) numbers[i] = threads[static_cast<std::size_t>(i)].stack;
}

// The same `rounds` times with one thread, which runs on meanwhile if it has the GIL.
PROBE void probe_samples(std::uint64_t handle, std::uint32_t* numbers, int rounds) {
  for (int i = 0; i < rounds; ++i) probe_sample(&handle, numbers + i, 1);
}

// Nanoseconds a look at the threads takes.
PROBE double probe_time_sample(const std::uint64_t* handles, int count, int rounds) {
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(count));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) probe_sample(handles, numbers.data(), count);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / rounds;
}

// How often the recorder read memory through the kernel.
PROBE std::uint64_t probe_reads() {
  return g_reads;
}

// Writes a stack, one frame a line, after a line with its flags; -1 when it is not defined.
PROBE int probe_text(std::uint32_t id, char* text, std::size_t size) {
  read_everything_new();
  const auto found = g_read.stacks.find(id);
  if (found == g_read.stacks.end()) return -1;
  std::string all = std::to_string(found->second.first.flags) + '\n';
  for (const std::uint32_t frame : found->second.second) {
    if (g_read.frames.count(frame) == 0) return -1;
    all += text_of(g_read.frames[frame]);
  }
  return std::snprintf(text, size, "%s", all.c_str());
}

// A new file: everything must come again.
PROBE void probe_restart() {
  g_read = Definitions{};
  stacks().restart();
  strings().restart();
}

PROBE void probe_losses(std::uint64_t* four) {
  const StackTable::Losses losses = stacks().losses();
  four[0] = losses.full;
  four[1] = losses.not_walked;
  four[2] = losses.truncated;
  four[3] = losses.unnamed_library;
}

// Whether a thread without the GIL may read its frames where they stand.
PROBE int probe_python_stays() {
  return turnpike::record::PythonStays(true).holds() ? 1 : 0;
}

PROBE int probe_autograd(std::uint64_t* sequence) {
  turnpike::record::find_autograd();
  const auto mark = turnpike::record::autograd_mark();
  *sequence = mark.sequence;
  return static_cast<int>(mark.role);
}

// Nanoseconds a capture of the same stack takes, and of an autograd mark.
PROBE double probe_time_capture(int count) {
  return time_capture(count);
}
PROBE double probe_time_autograd(int count) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) turnpike::record::autograd_mark();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / count;
}

// With this library preloaded: the stack of the next aligned allocation of this thread, which is how PyTorch makes a
// tensor's memory on the CPU. It stands in for the CUDA call that an operator would make.
PROBE void probe_arm() {
  t_armed = 1;
}
PROBE std::uint32_t probe_at_allocation() {
  t_armed = 0;
  return std::exchange(t_at_allocation, 0);
}
// What a capture costs there.
PROBE double probe_time_at_allocation() {
  return t_capture_ns;
}
PROBE int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  using Function = int (*)(void**, std::size_t, std::size_t);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "posix_memalign"));
  if (t_armed != 0) {
    t_armed = 0;
    t_at_allocation = stacks().capture();
    t_capture_ns = time_capture(1000);
    for (int batch = 0; batch < 20; ++batch) t_capture_ns = std::min(t_capture_ns, time_capture(1000));
  }
  return next(memory, alignment, size);
}
