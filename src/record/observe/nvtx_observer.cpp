// Pairs the starts and ends of NVTX ranges and hands over a record for each that has ended.
#include "record/observe/nvtx_observer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/self_time.h"
#include "cuda/nvtx.h"
#include "record/handover/loss_counters.h"
#include "record/handover/record_batch.h"
#include "record/handover/thread_handover.h"
#include "record/stacks/string_table.h"

namespace turnpike::record {
namespace {

struct OpenRange {
  std::uint32_t thread;
  std::uint32_t name;
  std::uint32_t domain;
  std::uint32_t color;
  std::int64_t start_ns;
  NvtxObserver::CaptureRange capture_range;  // nullptr: an ordinary range
};

NvtxObserver* g_observer = nullptr;
std::atomic<bool> g_is_listening{false};
// Number of the recording that ranges are noted for. The first has 1.
std::atomic<std::uint32_t> g_recording{0};

// The open pushes of a thread. Domains share them: a pop ends the last push of its own domain.
class PushedRanges {
 public:
  // A deeper range is counted and has no record.
  static constexpr std::uint32_t kMost = 64;

  // Forgets the pushes of another recording.
  void begin(std::uint32_t recording) noexcept {
    if (recording_ != recording) depth_ = 0;
    recording_ = recording;
  }
  std::uint32_t depth() const noexcept { return depth_; }
  bool is_full() const noexcept { return depth_ >= kMost; }
  void push(const OpenRange& range) noexcept { ranges_[depth_++] = range; }
  void push_unkept() noexcept { ++depth_; }
  // False: no such range is open, or it was too deep.
  bool pop(std::uint32_t domain, OpenRange& popped) noexcept {
    if (depth_ > kMost) {
      --depth_;
      return false;
    }
    for (std::uint32_t i = depth_; i-- > 0;) {
      if (ranges_[i].domain != domain) continue;
      popped = ranges_[i];
      std::copy(ranges_.begin() + i + 1, ranges_.begin() + depth_, ranges_.begin() + i);
      --depth_;
      return true;
    }
    return false;
  }

 private:
  std::uint32_t recording_;
  std::uint32_t depth_;
  std::array<OpenRange, kMost> ranges_;
};
// A program may push and pop in a destructor that runs after those of the thread's variables.
static_assert(std::is_trivially_destructible_v<PushedRanges>);
thread_local PushedRanges t_pushed;

PushedRanges& pushed_here() noexcept {
  t_pushed.begin(g_recording.load(std::memory_order_relaxed));
  return t_pushed;
}

// Started ranges by id: they may end on another thread. The limit is for programs that never end them.
constexpr std::size_t kMostStarted = 65'536;
std::mutex g_started_mutex;
std::unordered_map<std::uint64_t, OpenRange>& started() {
  static auto& ranges = *new std::unordered_map<std::uint64_t, OpenRange>;
  return ranges;
}

}  // namespace

// What NVTX calls during a recording. No exception reaches the program: without memory a range is lost.
struct NvtxEvents {
  static OpenRange describe(const char* domain, const char* text, std::uint32_t color) {
    NvtxObserver& self = *g_observer;
    const ThreadBuffer* buffer = self.handover_.mine();
    return {buffer == nullptr ? trace::kUnknownId : buffer->thread,
            self.strings_.intern_range_name(text),
            *domain == '\0' ? trace::kNoId : self.strings_.intern_range_name(domain),
            color,
            realtime_ns(),
            nullptr};
  }

  static OpenRange open(const char* domain, const char* text, std::uint32_t color) {
    const auto* captured = g_observer->captured_.load(std::memory_order_acquire);
    const bool is_captured = captured != nullptr && captured->name == text;
    if (is_captured) captured->function(true);
    OpenRange range = describe(domain, text, color);
    if (is_captured) range.capture_range = captured->function;
    return range;
  }

  static void close(const OpenRange& range, std::int64_t end_ns = realtime_ns()) {
    NvtxObserver& self = *g_observer;
    ThreadBuffer* buffer = self.handover_.mine();
    if (buffer != nullptr && g_is_listening.load(std::memory_order_relaxed)) {
      auto record = make_record<trace::RangeRecord>(trace::RecordKind::kRange);
      record.thread = range.thread;
      record.end_thread = buffer->thread;
      record.name = range.name;
      record.domain = range.domain;
      record.color = range.color;
      record.start_ns = range.start_ns;
      record.end_ns = end_ns;
      self.handover_.push(*buffer, &record, sizeof(record));
    }
    if (range.capture_range != nullptr) range.capture_range(false);
  }

  static bool notes_starts() noexcept {
    return g_is_listening.load(std::memory_order_relaxed) ||
           g_observer->captured_.load(std::memory_order_relaxed) != nullptr;
  }

  static void lose_range() noexcept {
    if (g_is_listening.load(std::memory_order_relaxed)) g_observer->losses_.add(trace::Loss::kRangesTooMany);
  }

  static int on_push(const char* domain, const char* text, std::uint32_t color) noexcept {
    PushedRanges& pushed = pushed_here();
    const auto depth = static_cast<int>(pushed.depth());
    if (pushed.is_full()) {
      lose_range();
      pushed.push_unkept();
    } else {
      pushed.push(open(domain, text, color));
    }
    return depth;
  }

  static int on_pop(const char* domain) noexcept {
    PushedRanges& pushed = pushed_here();
    OpenRange range;
    const std::uint32_t id = *domain == '\0' ? trace::kNoId : g_observer->strings_.intern_range_name(domain);
    if (pushed.pop(id, range)) close(range);
    return static_cast<int>(pushed.depth());
  }

  static void on_start(std::uint64_t range, const char* domain, const char* text, std::uint32_t color) noexcept try {
    if (!notes_starts()) return;
    const OpenRange opened = open(domain, text, color);
    const std::lock_guard lock(g_started_mutex);
    if (started().size() < kMostStarted) {
      started().emplace(range, opened);
    } else {
      lose_range();
    }
  } catch (...) {
  }

  static void on_end(std::uint64_t range) noexcept try {
    OpenRange found;
    {
      const std::lock_guard lock(g_started_mutex);
      const auto entry = started().find(range);
      if (entry == started().end()) return;
      found = entry->second;
      started().erase(entry);
    }
    close(found);
  } catch (...) {
  }

  static void on_mark(const char* domain, const char* text, std::uint32_t color) noexcept {
    if (!g_is_listening.load(std::memory_order_relaxed)) return;
    const OpenRange mark = describe(domain, text, color);
    close(mark, mark.start_ns);
  }
};

namespace {

constexpr cuda::NvtxListener kListener{NvtxEvents::on_push, NvtxEvents::on_pop, NvtxEvents::on_start,
                                       NvtxEvents::on_end, NvtxEvents::on_mark};

// `function`, whose time is counted.
template <auto function, typename... Arguments>
auto timed(Arguments... arguments) noexcept {
  const SelfTimeSpan span;
  return function(arguments...);
}

constexpr cuda::NvtxListener kTimedListener{timed<NvtxEvents::on_push>, timed<NvtxEvents::on_pop>,
                                            timed<NvtxEvents::on_start>, timed<NvtxEvents::on_end>,
                                            timed<NvtxEvents::on_mark>};

}  // namespace

void NvtxObserver::set_listening(bool is_listening) noexcept {
  g_is_listening.store(is_listening, std::memory_order_relaxed);
}

void NvtxObserver::begin_recording() noexcept {
  {
    const std::lock_guard lock(g_started_mutex);
    started().clear();
  }
  g_recording.fetch_add(1, std::memory_order_relaxed);
  cuda::hear_nvtx(true);
}

void NvtxObserver::end_recording() noexcept {
  g_is_listening.store(false, std::memory_order_relaxed);
  cuda::hear_nvtx(false);
}

void NvtxObserver::before_fork() noexcept {
  g_started_mutex.lock();
  cuda::before_fork_of_nvtx();
}

void NvtxObserver::after_fork() noexcept {
  cuda::after_fork_of_nvtx();
  g_started_mutex.unlock();
}

void NvtxObserver::set_capture_range(std::string name, CaptureRange function) {
  captured_.store(function == nullptr ? nullptr : new Captured{std::move(name), function}, std::memory_order_release);
}

bool NvtxObserver::install(NvtxObserver& observer, void* get_export_table) noexcept {
  g_observer = &observer;
  const bool is_timed = is_self_time_counted();
  return cuda::install_nvtx_listener(get_export_table, is_timed ? kTimedListener : kListener);
}

}  // namespace turnpike::record
