// Pairs the starts and ends of NVTX ranges and hands over a record for each that has ended.
#include "record/observe/nvtx_observer.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/self_time.h"
#include "cuda/nvtx.h"
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
  bool is_capture_range;
};

NvtxObserver* g_observer = nullptr;
std::atomic<bool> g_is_listening{false};
// Which recording ranges are noted for; 0: none, nothing is to be noted. Before the first one they are: it may begin in
// the midst of a range.
std::atomic<std::uint32_t> g_noting_for{1};

// Pushes of a thread that were not popped yet. Domains share it: pops of another domain than the last push's are
// matched by domain.
thread_local std::vector<OpenRange> t_pushed;
thread_local std::uint32_t t_pushed_for = 1;

// Forgets what was pushed for a recording that is over. False: nothing is to be noted.
bool notes_pushes() noexcept {
  const std::uint32_t noting_for = g_noting_for.load(std::memory_order_relaxed);
  if (noting_for == 0) return false;
  if (t_pushed_for != noting_for) t_pushed.clear();
  t_pushed_for = noting_for;
  return true;
}

// Ranges by id, which may end on another thread.
std::mutex g_started_mutex;
std::unordered_map<std::uint64_t, OpenRange>& started() {
  static auto& ranges = *new std::unordered_map<std::uint64_t, OpenRange>;
  return ranges;
}

}  // namespace

// What NVTX calls. No exception reaches the program: without memory a range is lost.
struct NvtxEvents {
  static OpenRange describe(const char* domain, const char* text, std::uint32_t color) {
    NvtxObserver& self = *g_observer;
    const ThreadBuffer* buffer = self.handover_.mine();
    return {buffer == nullptr ? trace::kUnknownId : buffer->thread,
            self.strings_.intern_range_name(text),
            *domain == '\0' ? trace::kNoId : self.strings_.intern_range_name(domain),
            color,
            realtime_ns(),
            false};
  }

  static OpenRange open(const char* domain, const char* text, std::uint32_t color) {
    NvtxObserver& self = *g_observer;
    const bool is_capture_range = self.capture_range_ != nullptr && self.capture_name_ == text;
    if (is_capture_range) self.capture_range_(true);
    OpenRange range = describe(domain, text, color);
    range.is_capture_range = is_capture_range;
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
    if (range.is_capture_range) self.capture_range_(false);
  }

  static bool is_idle() noexcept {
    return g_noting_for.load(std::memory_order_relaxed) == 0 ||
           (!g_is_listening.load(std::memory_order_relaxed) && g_observer->capture_range_ == nullptr);
  }

  static void on_push(const char* domain, const char* text, std::uint32_t color) noexcept try {
    if (!notes_pushes()) return;
    // While idle, too: the range may end while listening, and pops must find their push.
    t_pushed.push_back(open(domain, text, color));
  } catch (...) {
  }

  static void on_pop(const char* domain) noexcept try {
    if (!notes_pushes()) return;
    const std::uint32_t id = *domain == '\0' ? trace::kNoId : g_observer->strings_.intern_range_name(domain);
    for (auto range = t_pushed.rbegin(); range != t_pushed.rend(); ++range) {
      if (range->domain != id) continue;
      close(*range);
      t_pushed.erase(std::next(range).base());
      return;
    }
  } catch (...) {
  }

  static void on_start(std::uint64_t range, const char* domain, const char* text, std::uint32_t color) noexcept try {
    if (is_idle()) return;
    const OpenRange opened = open(domain, text, color);
    const std::lock_guard lock(g_started_mutex);
    started().emplace(range, opened);
  } catch (...) {
  }

  static void on_end(std::uint64_t range) noexcept try {
    if (g_noting_for.load(std::memory_order_relaxed) == 0) return;
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

  static void on_mark(const char* domain, const char* text, std::uint32_t color) noexcept try {
    if (!g_is_listening.load(std::memory_order_relaxed)) return;
    const OpenRange mark = describe(domain, text, color);
    close(mark, mark.start_ns);
  } catch (...) {
  }
};

namespace {

constexpr cuda::NvtxListener kListener{NvtxEvents::on_push, NvtxEvents::on_pop, NvtxEvents::on_start,
                                       NvtxEvents::on_end, NvtxEvents::on_mark};

// `function`, whose time is counted.
template <auto function, typename... Arguments>
void timed(Arguments... arguments) noexcept {
  const SelfTimeSpan span;
  function(arguments...);
}

constexpr cuda::NvtxListener kTimedListener{timed<NvtxEvents::on_push>, timed<NvtxEvents::on_pop>,
                                            timed<NvtxEvents::on_start>, timed<NvtxEvents::on_end>,
                                            timed<NvtxEvents::on_mark>};

}  // namespace

void NvtxObserver::set_listening(bool is_listening) noexcept {
  g_is_listening.store(is_listening, std::memory_order_relaxed);
}

void NvtxObserver::begin_recording() noexcept {
  if (g_noting_for.load(std::memory_order_relaxed) != 0) return;  // the first
  {
    const std::lock_guard lock(g_started_mutex);
    started().clear();
  }
  g_noting_for.store(++recordings_, std::memory_order_relaxed);
}

void NvtxObserver::end_recording() noexcept {
  g_is_listening.store(false, std::memory_order_relaxed);
  g_noting_for.store(0, std::memory_order_relaxed);
}

void NvtxObserver::before_fork() noexcept {
  g_started_mutex.lock();
}

void NvtxObserver::after_fork() noexcept {
  g_started_mutex.unlock();
}

void NvtxObserver::set_capture_range(std::string name, CaptureRange function) {
  capture_name_ = std::move(name);
  capture_range_ = function;
}

bool NvtxObserver::install(NvtxObserver& observer, void* get_export_table) noexcept {
  g_observer = &observer;
  const bool is_timed = is_self_time_counted();
  return cuda::install_nvtx_listener(get_export_table, is_timed ? kTimedListener : kListener);
}

}  // namespace turnpike::record
