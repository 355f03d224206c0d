// In the order of the page: steps, ranges, threads, then device by device what ran on it, then memory.
#include "report/html/process_lanes.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyze/model/activity.h"
#include "analyze/model/direction.h"
#include "analyze/model/memory_use.h"
#include "analyze/model/stacks.h"
#include "analyze/model/steps.h"
#include "analyze/whatif/retimed_step.h"
#include "base/demangle.h"
#include "base/spilled_log.h"
#include "base/spilled_numbers.h"
#include "base/units.h"
#include "report/html/kernel_family.h"
#include "report/html/lost_stretches.h"
#include "report/html/python_lines.h"
#include "report/html/retimed_idle.h"
#include "report/html/selection.h"
#include "report/html/sorted_runs.h"
#include "report/html/thread_titles.h"
#include "report/html/waiting_calls.h"
#include "report/text/cause_words.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report::html {
namespace {

using analyze::Call;
using analyze::Direction;
using analyze::Interval;
using analyze::Kernel;
using analyze::kNone;
using analyze::Transfer;

// Between the arguments of a command line (docs/format.md).
constexpr char kArgumentSeparator = '\x1f';
constexpr std::size_t kMaxTitleWidth = 80;
constexpr std::size_t kMaxFixedSteps = 12;
// A quarter: the times of a page may lie on both sides of the reference.
constexpr std::uint64_t kMaxDistanceNs = kMaxTimeNs / 4;

std::uint64_t distance(std::int64_t a, std::int64_t b) {
  return a < b ? length_ns(a, b) : length_ns(b, a);
}

std::string metadata_of(const trace::Process& process, const char* key) {
  const auto found = process.metadata.find(key);
  return found == process.metadata.end() ? std::string() : found->second;
}

// "rank 0: python3 train.py (process 423)"
std::string group_of(const trace::Process& process) {
  std::string name = metadata_of(process, "program");
  if (name.empty()) name = std::filesystem::path(process.path).stem().string();
  std::replace(name.begin(), name.end(), kArgumentSeparator, ' ');
  const std::string rank = metadata_of(process, "rank");
  const std::string of_rank = rank.empty() ? "" : "rank " + rank + ": ";
  return shortened_middle(cleaned(of_rank + name), kMaxTitleWidth) + " (process " + std::to_string(process.pid) + ")";
}

std::string kind_text(trace::MemoryKind kind) {
  return analyze::name_of(kind).value_or("unknown");
}

std::string name_of_transfer(const Transfer& transfer) {
  if (transfer.is_migration) return std::string("migration ") + analyze::name_of(transfer.direction);
  if (transfer.direction == Direction::kMemset) return "memset (" + kind_text(transfer.dst_kind) + ")";
  return std::string("copy ") + analyze::name_of(transfer.direction) + " (" + kind_text(transfer.src_kind) + " > " +
         kind_text(transfer.dst_kind) + ")";
}

bool is_managed(trace::MemoryKind kind) {
  return kind == trace::MemoryKind::kManaged || kind == trace::MemoryKind::kManagedStatic;
}

// By the kind of the host's memory, where there is one.
Class class_of(const Transfer& transfer) {
  switch (transfer.direction) {
    case Direction::kMemset:
      return Class::kMemset;
    case Direction::kDeviceToDevice:
      return Class::kDeviceCopy;
    case Direction::kPeerToPeer:
      return Class::kPeer;
    default:
      break;
  }
  const auto either = [&](auto is) { return is(transfer.src_kind) || is(transfer.dst_kind); };
  if (either([](auto kind) { return kind == trace::MemoryKind::kPageable; })) return Class::kPageable;
  if (transfer.is_migration || either(is_managed)) return Class::kManaged;
  if (either([](auto kind) { return kind == trace::MemoryKind::kPinned; })) return Class::kPinned;
  return Class::kUnknownMemory;
}

LaneKind lane_of(const Transfer& transfer) {
  switch (transfer.direction) {
    case Direction::kHostToDevice:
      return LaneKind::kCopyUp;
    case Direction::kDeviceToHost:
      return LaneKind::kCopyDown;
    case Direction::kPeerToPeer:
      return LaneKind::kCopyPeer;
    default:
      return LaneKind::kCopyDevice;
  }
}

const char* title_of(LaneKind kind) {
  switch (kind) {
    case LaneKind::kCopyUp:
      return "copies CPU > GPU";
    case LaneKind::kCopyDown:
      return "copies GPU > CPU";
    case LaneKind::kCopyPeer:
      return "copies GPU > GPU";
    default:
      return "memset, copies inside";
  }
}

// Calls that are in the page whatever their number.
bool is_always_kept(const Call& call, bool waits) {
  return waits || call.kind == trace::CallKind::kCopy || call.kind == trace::CallKind::kPrefetch;
}

// Longer gaps than the launch of one kernel takes are in the page whatever their number.
constexpr std::int64_t kLongGapNs = 20'000;

bool is_always_kept(const Interval& gap) {
  return gap.end_ns - gap.start_ns >= kLongGapNs;
}

bool is_within(const std::optional<Interval>& stretch, std::int64_t start_ns) {
  return !stretch || (stretch->start_ns <= start_ns && start_ns < stretch->end_ns);
}

std::string device_text(std::uint32_t device) {
  return device == trace::kUnknownId ? "?" : std::to_string(device);
}

Class class_of(analyze::IdleCause cause) {
  switch (cause) {
    case analyze::IdleCause::kCopiesOnly:
      return Class::kCopiesOnly;
    case analyze::IdleCause::kCopy:
      return Class::kIdleCopy;
    case analyze::IdleCause::kSync:
      return Class::kIdleSync;
    case analyze::IdleCause::kAllocation:
      return Class::kIdleAllocation;
    case analyze::IdleCause::kInput:
      return Class::kIdleInput;
    case analyze::IdleCause::kLaunch:
      return Class::kIdleLaunch;
    case analyze::IdleCause::kBetweenKernels:
      return Class::kIdleBetweenKernels;
    case analyze::IdleCause::kOtherDevice:
      return Class::kIdleOtherDevice;
    case analyze::IdleCause::kUnrecorded:
      return Class::kIdleUnrecorded;
    case analyze::IdleCause::kRank:
      return Class::kIdleRank;
    case analyze::IdleCause::kUnknown:
      break;
  }
  return Class::kIdleUnknown;
}

Class class_of(const Call& call, bool waits) {
  if (waits) return Class::kBlocked;
  if (analyze::is_launch(call)) return Class::kLaunch;
  const bool moves = call.kind == trace::CallKind::kCopy || call.kind == trace::CallKind::kMemset ||
                     call.kind == trace::CallKind::kPrefetch;
  return moves ? Class::kCopyCall : Class::kCall;
}

std::uint32_t clamped(std::int64_t time_ns) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(time_ns, 0, kLongDuration));
}

// The entries of a map, without a search where the key is that of the last one: neighbours often have the same.
template <typename Key, typename Value>
class Entries {
 public:
  explicit Entries(std::map<Key, Value>& map) : map_(map) {}

  Value& operator[](const Key& key) {
    if (last_ == nullptr || last_->first != key) last_ = &*map_.try_emplace(key).first;
    return last_->second;
  }

 private:
  std::map<Key, Value>& map_;
  std::pair<const Key, Value>* last_ = nullptr;
};

// What is known by id, quick to find for ids that are given out one after the other.
template <typename Value>
class ById {
 public:
  std::optional<Value>& operator[](std::uint32_t id) {
    if (id < near_.size()) return near_[id];
    if (id >= kMaxNear) return far_[id];
    near_.resize(std::min<std::size_t>(2 * std::size_t{id} + 1, kMaxNear));
    return near_[id];
  }

 private:
  static constexpr std::size_t kMaxNear = 65536;
  std::vector<std::optional<Value>> near_;
  std::unordered_map<std::uint32_t, std::optional<Value>> far_;
};

// The records of one lane, by index into those of their kind, with what no record tells of behind them: 4 bytes each,
// where events take 48. They become events a block at a time.
struct LaneItems {
  std::vector<std::uint32_t> indices{};
  std::vector<Event> extra{};  // has the indices from kFirstExtra on

  static constexpr std::uint32_t kFirstExtra = 1u << 31;

  void add(std::uint32_t record) { indices.push_back(record); }
  void add_extra(const Event& event) { insert_extra(indices.size(), event); }
  void insert_extra(std::size_t place, const Event& event) {
    indices.insert(indices.begin() + static_cast<std::ptrdiff_t>(place),
                   kFirstExtra + static_cast<std::uint32_t>(extra.size()));
    extra.push_back(event);
  }
};

class Builder {
 public:
  Builder(const LaneInput& input, Strings& strings, Sites& sites, LaneSink& sink)
      : input_(input),
        sink_(sink),
        cutter_(sink),
        process_(input.view.process),
        timeline_(input.view.timeline),
        strings_(strings),
        sites_(sites),
        stacks_(input.view.stacks != nullptr ? *input.view.stacks : own_stacks_.emplace(process_, timeline_)),
        are_kernels_recorded_(analyze::are_kernels_recorded(timeline_, metadata_of(process_, "detail"))),
        activity_(input.view.activity != nullptr ? *input.view.activity
                                                 : own_activity_.emplace(process_, timeline_, are_kernels_recorded_)),
        lost_(find_lost(process_, timeline_, are_kernels_recorded_)),
        titles_(process_, timeline_),
        span_(timeline_.span),
        waits_(waiting_calls(timeline_)),
        next_number_(input.first_number) {}

  ProcessLanes build() {
    result_.group = group_of(process_);
    number_costly_sites();
    find_idle();
    note_lost();
    find_python();
    add_steps();
    choose_stretch();
    choose_opening();
    add_ranges();
    add_threads();
    add_devices();
    add_memory();
    add_fixed_steps();
    return std::move(result_);
  }

 private:
  // Whether a page can show it.
  template <typename Record>
  bool is_showable(const Record& record) const {
    return analyze::has_times(record.start_ns, record.end_ns) &&
           distance(record.start_ns, input_.reference_ns) <= kMaxDistanceNs &&
           length_ns(record.start_ns, record.end_ns) <= kMaxDistanceNs;
  }

  bool is_in_stretch(std::int64_t start_ns) const { return is_within(stretch_, start_ns); }

  // The same, counting what is not in the page.
  template <typename Record>
  bool is_usable(const Record& record) {
    const bool is_usable = is_showable(record);
    if (!is_usable) ++result_.untimed;
    return is_usable;
  }
  bool is_taken(bool is_kept) {
    if (!is_kept) ++result_.left_out;
    return is_kept;
  }
  bool is_kept(std::uint32_t call) const {
    return is_always_kept(timeline_.calls[call], waits_[call]) || is_in_stretch(timeline_.calls[call].start_ns);
  }

  template <typename Record>
  Event event_of(const Record& record, Class event_class, std::uint32_t name) const {
    return {.start_ns = record.start_ns,
            .duration_ns = length_ns(record.start_ns, record.end_ns),
            .name = name,
            .event_class = event_class};
  }

  // Adds a lane, and further ones for what overlaps. `records`: what the items index. `event_of_record`: makes the
  // event of one; names and places have their numbers by then, in the order of time.
  template <typename Records, typename EventOfRecord>
  void add_lanes(const Lane& like, LaneItems items, const Records& records, EventOfRecord event_of_record) {
    if (items.indices.empty()) return;
    const auto extra_of = [&](std::uint32_t index) -> const Event& {
      return items.extra[index - LaneItems::kFirstExtra];
    };
    auto depths = spread(std::move(items.indices), [&](std::uint32_t index) {
      if (index >= LaneItems::kFirstExtra) return Extent{extra_of(index).start_ns, extra_of(index).duration_ns};
      const Interval time = time_of(records[index]);
      return Extent{time.start_ns, length_ns(time.start_ns, time.end_ns)};
    });
    result_.too_deep += depths.dropped;
    for (std::uint32_t depth = 0; depth < depths.rows.size(); ++depth) {
      begin_lane(like, depth);
      for (const std::uint32_t index : depths.rows[depth]) {
        if (index >= LaneItems::kFirstExtra) {
          cutter_.add(extra_of(index));
        } else {
          if (like.kind == LaneKind::kHost) number_of_call_.set(index, next_number_);
          cutter_.add(event_of_record(index));
        }
        ++next_number_;
      }
      cutter_.end_lane();
    }
  }

  // Of items that are all extra.
  void add_extra_lanes(const Lane& like, LaneItems items) {
    add_lanes(like, std::move(items), std::vector<Interval>(), [](std::uint32_t) { return Event(); });
  }

  void begin_lane(const Lane& like, std::uint32_t depth) {
    Lane lane = like;
    lane.depth = depth;
    sink_.begin_lane(lane);
  }

  template <typename Record>
  static Interval time_of(const Record& record) {
    return {record.start_ns, record.end_ns};
  }
  static Interval time_of(const PythonStretch& stretch) { return stretch.time; }

  std::uint32_t link_to(std::uint32_t call) { return call == kNone ? kNoLink : number_of_call_[call]; }

  void add_steps() {
    const auto found = input_.view.model != nullptr ? input_.view.model->steps() : find_steps();
    if (!found) return;
    LaneItems steps;
    for (std::size_t i = 0; i < found->starts_ns.size(); ++i) {
      const bool is_last = i + 1 == found->starts_ns.size();
      const Interval step{found->starts_ns[i], is_last ? found->window.end_ns : found->starts_ns[i + 1]};
      if (step.end_ns <= step.start_ns || !is_usable(step)) continue;
      steps.add_extra(event_of(step, Class::kStep, strings_.number_of("step " + std::to_string(i))));
    }
    choose_median_step(steps.extra, found->steps.median_ns);
    // The one whose re-timed form the page has, where there is one.
    const auto shown = shown_step();
    if (shown && shown->time.start_ns < shown->time.end_ns) result_.median_step = shown->time;
    if (result_.median_step) sink_.show_step(*result_.median_step);
    add_extra_lanes({.kind = LaneKind::kSteps, .title = "steps"}, std::move(steps));
  }

  // The findings know it, where there are any.
  std::optional<analyze::ShownStep> shown_step() const {
    if (input_.view.model == nullptr) return std::nullopt;
    if (input_.view.found != nullptr) {
      for (const auto& step : input_.view.found->steps) {
        if (step) return step->recorded;
      }
    }
    return analyze::shown_step(*input_.view.model);
  }

  // For where the report looked for none. Steps by transfers go by places: those of one place and kind count as one.
  std::optional<analyze::FoundSteps> find_steps() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> rows;
    std::vector<std::uint32_t> row_of_transfer;
    for (const Transfer& transfer : timeline_.transfers) {
      const std::uint32_t facts = stacks_.of_transfer(transfer);
      const auto kind = static_cast<std::uint32_t>(transfer.direction) |
                        static_cast<std::uint32_t>(transfer.src_kind) << 8 |
                        static_cast<std::uint32_t>(transfer.dst_kind) << 16;
      const auto row = rows.try_emplace({facts, kind}, static_cast<std::uint32_t>(rows.size())).first->second;
      row_of_transfer.push_back(stacks_.facts(facts).is_place_known ? row : kNone);
    }
    return analyze::find_steps(process_, timeline_, stacks_, row_of_transfer);
  }

  void choose_median_step(const std::vector<Event>& steps, std::int64_t median_ns) {
    const auto off_by = [&](const Event& step) {
      return distance(static_cast<std::int64_t>(step.duration_ns), median_ns);
    };
    const auto best = std::min_element(steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end(),
                                       [&](const Event& a, const Event& b) { return off_by(a) < off_by(b); });
    if (best != steps.end()) result_.median_step = Interval{best->start_ns, best->end_ns()};
  }

  // Not fewer events than the process can have in the page.
  std::size_t most_events() const {
    std::size_t most =
        timeline_.ranges.size() + timeline_.transfers.size() + timeline_.kernels.size() + timeline_.calls.size();
    for (const auto& [device, stretches] : idle_) most += stretches->size();
    for (const auto& [thread, stretches] : python_) most += stretches.size();
    return most;
  }

  void choose_stretch() {
    if (most_events() <= input_.max_events) return;
    const std::int64_t middle_ns = result_.median_step
                                       ? (result_.median_step->start_ns / 2 + result_.median_step->end_ns / 2)
                                       : input_.reference_ns;
    Contested others;
    for (const auto& [device, idle] : idle_) {
      for (const analyze::IdleInterval& one : *idle) others.kept += is_always_kept(one.time) ? 1 : 0;
      others.starts_ns.add_run([stretches = idle](std::size_t from, const auto& take) {
        for (auto at = stretches->from(from); at != stretches->end(); ++at, ++from) {
          if (!is_always_kept(at->time) && !take(from, at->time.start_ns)) return;
        }
      });
    }
    for (const auto& [thread, python] : python_) {
      others.starts_ns.add_run([&stretches = python](std::size_t from, const auto& take) {
        for (std::size_t i = from; i < stretches.size() && take(i, stretches[i].time.start_ns); ++i) continue;
      });
    }
    stretch_ = kept_stretch(
        timeline_, [&](std::size_t call) { return is_always_kept(timeline_.calls[call], waits_[call]); },
        std::move(others), input_.max_events, middle_ns);
    result_.stretch = stretch_;
  }

  // From half a step before the median step to one step after it. Where the CPU runs so far ahead that the devices then
  // begin little of what it issues, as far around as it takes them to begin as much.
  void choose_opening() {
    if (!result_.median_step) return;
    const Interval& step = *result_.median_step;
    const std::int64_t step_ns = step.end_ns - step.start_ns;
    Interval opening{step.start_ns - step_ns / 2, step.end_ns + step_ns};
    const std::size_t issued = count_work([&](const auto& work) {
      return work.call != kNone && is_within(opening, timeline_.calls[work.call].start_ns);
    });
    const auto begun = [&] { return count_work([&](const auto& work) { return is_within(opening, work.start_ns); }); };
    if (span_ && begun() < issued / 2) {
      while (begun() < issued && (span_->start_ns < opening.start_ns || opening.end_ns < span_->end_ns)) {
        const std::int64_t half_ns = (opening.end_ns - opening.start_ns) / 2;
        opening = {std::max(span_->start_ns, opening.start_ns - half_ns),
                   std::min(span_->end_ns, opening.end_ns + half_ns)};
      }
    }
    result_.opening = opening;
  }

  template <typename Counts>
  std::size_t count_work(Counts counts) const {
    return static_cast<std::size_t>(std::count_if(timeline_.kernels.begin(), timeline_.kernels.end(), counts) +
                                    std::count_if(timeline_.transfers.begin(), timeline_.transfers.end(), counts));
  }

  void add_ranges() {
    std::map<std::uint32_t, LaneItems> by_thread;
    Entries of_thread(by_thread);
    for (std::uint32_t i = 0; i < timeline_.ranges.size(); ++i) {
      const analyze::Range& range = timeline_.ranges[i];
      if (!is_usable(range)) continue;
      number_of_name(range.name, "");
      of_thread[range.thread].add(i);
    }
    for (auto& [thread, items] : by_thread) {
      add_lanes({.kind = LaneKind::kRanges, .title = "ranges of " + titles_.of(thread)}, std::move(items),
                timeline_.ranges, [&](std::uint32_t i) {
                  const analyze::Range& range = timeline_.ranges[i];
                  return event_of(range, Class::kRange, number_of_name(range.name, ""));
                });
    }
  }

  std::uint32_t number_of_name(std::uint32_t name, const char* otherwise) {
    std::optional<std::uint32_t>& number = numbers_of_names_[name];
    if (!number) {
      const std::string& text = process_.string(name);
      number = strings_.number_of(text.empty() ? otherwise : text);
    }
    return *number;
  }

  void add_threads() {
    std::map<std::uint32_t, LaneItems> by_thread;
    Entries of_thread(by_thread);
    for (std::uint32_t i = 0; i < timeline_.calls.size(); ++i) {
      const Call& call = timeline_.calls[i];
      if (!is_usable(call)) continue;
      if (!is_taken(is_kept(i))) continue;
      number_of_call_name(call);
      site_of_call(i);
      of_thread[call.thread].add(i);
    }
    for (const LostCalls& calls : lost_.calls) add_lost(calls.stretch, "call", by_thread[calls.thread]);
    std::vector<std::uint32_t> order;
    for (const auto& [thread, items] : by_thread) order.push_back(thread);
    // The main thread first, then the busiest.
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const bool is_main = a == process_.pid;
      if (is_main != (b == process_.pid)) return is_main;
      return by_thread[a].indices.size() > by_thread[b].indices.size();
    });
    for (const std::uint32_t thread : order) {
      add_lanes({.kind = LaneKind::kHost, .title = titles_.of(thread)}, std::move(by_thread[thread]), timeline_.calls,
                [&](std::uint32_t i) { return call_event(i); });
      add_python(thread);
    }
  }

  void find_python() {
    if (!span_) return;
    python_ = python_stretches(timeline_, stacks_, *span_);
    if (python_.empty()) return;
    // Other threads have no row.
    std::set<std::uint32_t> calling;
    for (std::size_t i = 0; i < timeline_.calls.size(); ++i) {
      const std::uint32_t thread = timeline_.calls[i].thread;
      if (i == 0 || thread != timeline_.calls[i - 1].thread) calling.insert(thread);
    }
    std::erase_if(python_, [&](const auto& entry) { return !calling.contains(entry.first); });
  }

  void add_python(std::uint32_t thread) {
    const auto found = python_.find(thread);
    if (found == python_.end()) return;
    LaneItems items;
    for (std::uint32_t i = 0; i < found->second.size(); ++i) {
      const PythonStretch& stretch = found->second[i];
      if (is_usable(stretch.time) && is_taken(is_in_stretch(stretch.time.start_ns))) items.add(i);
    }
    add_lanes({.kind = LaneKind::kPython, .title = titles_.of(thread)}, std::move(items), found->second,
              [&](std::uint32_t i) { return python_event(found->second[i]); });
  }

  Event python_event(const PythonStretch& stretch) {
    std::optional<std::uint32_t>& name = line_of_facts_[stretch.facts];
    if (!name) {
      const analyze::Place& place = stacks_.facts(stretch.facts).place;
      name = strings_.number_of(place_words(place.site, place.library_site));
    }
    Event event = event_of(stretch.time, Class::kPython, *name);
    event.site = site_of(stretch.facts, false);
    return event;
  }

  // `is_reported`: whether the report has a row for such events, even where only the name of the call is known.
  std::uint16_t site_of(std::uint32_t facts, bool is_reported) {
    if (!is_reported && !stacks_.facts(facts).is_place_known) return 0;
    std::optional<std::uint16_t>& site = site_of_facts_[facts];
    if (!site) {
      const analyze::Place& place = stacks_.facts(facts).place;
      site = sites_.number_of(place, place.stack);
    }
    return *site;
  }

  // The places of transfers and waits come first, so that these have numbers in any case.
  void number_costly_sites() {
    for (const Transfer& transfer : timeline_.transfers) site_of(stacks_.of_transfer(transfer), true);
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      if (waits_[i]) site_of(stacks_.of_call(timeline_.calls[i]), true);
    }
  }

  void add_devices() {
    using DeviceStream = std::pair<std::uint32_t, std::uint32_t>;
    std::map<DeviceStream, LaneItems> by_stream;
    Entries of_stream(by_stream);
    for (std::uint32_t i = 0; i < timeline_.kernels.size(); ++i) {
      const Kernel& kernel = timeline_.kernels[i];
      if (!is_usable(kernel)) continue;
      LaneItems& items = of_stream[{kernel.device, kernel.stream}];
      if (!is_taken(is_in_stretch(kernel.start_ns))) {
        note_left_out(kernel);
        continue;
      }
      kernel_name(kernel.name);
      items.add(i);
    }
    std::map<std::uint32_t, std::map<LaneKind, LaneItems>> copies;
    for (std::uint32_t i = 0; i < timeline_.transfers.size(); ++i) {
      const Transfer& transfer = timeline_.transfers[i];
      if (!is_usable(transfer)) continue;
      number_of_kind(transfer);
      copies[transfer.device][lane_of(transfer)].add(i);
    }
    std::map<std::uint32_t, std::map<std::uint32_t, LaneItems>> kernels;
    for (auto& [key, items] : by_stream) kernels[key.first][key.second] = std::move(items);
    for (const LostKernels& lost : lost_.kernels) add_lost(lost.stretch, "kernel", kernels[lost.device][lost.stream]);
    auto lost_copies = lost_copies_by_device();
    for (const auto& [device, lanes] : copies) kernels[device];
    for (const auto& [device, items] : lost_copies) kernels[device];
    for (const auto& [device, stretches] : idle_) kernels[device];
    for (auto& [device, streams] : kernels) {
      add_state(device);
      for (auto& [stream, items] : streams) add_stream(device, stream, std::move(items));
      for (auto& [kind, items] : copies[device]) {
        add_lanes({.kind = kind, .title = title_of(kind), .device = device}, std::move(items), timeline_.transfers,
                  [&](std::uint32_t i) { return copy_of(timeline_.transfers[i]); });
      }
      // Their direction is not known either.
      add_extra_lanes({.kind = LaneKind::kCopyDevice, .title = "copies not recorded", .device = device},
                      std::move(lost_copies[device]));
    }
  }

  void note_lost() {
    result_.lost_stretches = lost_.kernels.size() + lost_.copy_calls.size() + lost_.calls.size();
    result_.has_untimed_losses = lost_.has_untimed;
  }

  void add_lost(const LostStretch& lost, const std::string& what, LaneItems& items) {
    if (!is_usable(lost.time)) return;
    const std::string name =
        "at least " + count_text(lost.count) + " " + what + (lost.count == 1 ? "" : "s") + " not recorded";
    items.add_extra(event_of(lost.time, Class::kLost, strings_.number_of(name)));
  }

  // At the time of their calls, because nothing tells when the GPU made them.
  std::map<std::uint32_t, LaneItems> lost_copies_by_device() {
    std::map<std::uint32_t, LaneItems> by_device;
    for (const std::uint32_t index : lost_.copy_calls) {
      const Call& call = timeline_.calls[index];
      if (!is_usable(call)) continue;
      Event event = event_of(call, Class::kLost, strings_.number_of("copy not recorded, at the time of its call"));
      event.link = link_to(index);
      event.site = site_of(stacks_.of_call(call), true);
      event.bytes = call.bytes;
      by_device[call.device].add_extra(event);
    }
    return by_device;
  }

  void find_idle() {
    if (input_.view.idle == nullptr) return;
    for (const std::uint32_t device : input_.view.idle->devices()) {
      idle_[device] = &input_.view.idle->of(device);
    }
    if (input_.view.model != nullptr && input_.view.found != nullptr) {
      retimed_idle_.emplace(timeline_, waits_, input_.view.found->steps);
    }
  }

  void add_state(std::uint32_t device) {
    const auto found = idle_.find(device);
    if (found == idle_.end()) return;
    // They are in order, and none overlaps another.
    bool has_begun = false;
    for (const analyze::IdleInterval& idle : *found->second) {
      if (retimed_idle_) retimed_idle_->note(idle);
      if (!is_usable(idle.time) || !is_taken(is_gap_kept(idle.time, stretch_))) continue;
      if (!std::exchange(has_begun, true)) sink_.begin_lane(state_lane(device));
      Event event = idle_event(idle);
      event.link = link_to(idle.call);
      event.site = site_of_idle(idle.place);
      cutter_.add(event);
      ++next_number_;
    }
    if (has_begun) cutter_.end_lane();
  }

  Event idle_event(const analyze::IdleInterval& idle) {
    const Class event_class = class_of(idle.cause);
    const char* const words = words_of_cause(idle.cause).sentence;
    std::optional<std::uint32_t>& name = name_of_cause_[static_cast<std::uint32_t>(idle.cause)];
    if (!name) name = strings_.number_of(words);
    return event_of(idle.time, event_class, *name);
  }

  std::uint16_t site_of_idle(std::uint32_t place) {
    if (place == kNone) return 0;
    std::optional<std::uint16_t>& number = site_of_idle_[place];
    if (!number) {
      const analyze::CallSite& site = input_.view.idle->places()[place];
      number = sites_.number_of(site, site.stack);
    }
    return *number;
  }

  std::string stream_title(std::uint32_t device, std::uint32_t stream) const {
    const bool is_default = timeline_.default_streams.contains({device, stream});
    const std::string number = stream == trace::kUnknownId ? "?" : std::to_string(stream);
    return "stream " + number + (is_default ? " (default)" : "") + ": kernels";
  }

  Event kernel_event(const Kernel& kernel) {
    const auto [name, family] = kernel_name(kernel.name);
    Event event = event_of(kernel, family, name);
    event.link = link_to(kernel.call);
    return event;
  }

  std::uint32_t number_of_call_name(const Call& call) { return number_of_name(call.name, "call without a name"); }

  std::uint16_t site_of_call(std::uint32_t index) {
    const Call& call = timeline_.calls[index];
    // Launches have no stack, and there are many.
    const bool is_reported = is_always_kept(call, waits_[index]);
    return is_reported || stacks_.has_stack(call) ? site_of(stacks_.of_call(call), is_reported) : std::uint16_t{0};
  }

  Event call_event(std::uint32_t index) {
    const Call& call = timeline_.calls[index];
    Event event = event_of(call, class_of(call, waits_[index]), number_of_call_name(call));
    event.site = site_of_call(index);
    return event;
  }

  // The findings that gain most; each step has as many events as the recorded one.
  void add_fixed_steps() {
    if (input_.view.model == nullptr || input_.view.found == nullptr) return;
    const analyze::FoundFindings& found = *input_.view.found;
    for (std::size_t i = 0; i < std::min(found.changes.size(), kMaxFixedSteps); ++i) {
      const analyze::Finding& finding = found.findings[i];
      const auto& step = found.steps[i];
      if (!step || finding.superseded_by) continue;
      result_.fixed_steps.push_back({.rule = finding.rule,
                                     .site = finding.site,
                                     .library_site = finding.library_site,
                                     .saving_pct = finding.saving_pct.value_or(0),
                                     .lanes = lanes_of(*step)});
    }
  }

  // What links there were is not told: events of one schedule say nothing of those of another.
  std::vector<Lane> lanes_of(const analyze::RetimedStep& step) {
    std::map<std::tuple<std::uint32_t, LaneKind, std::string>, std::vector<Event>> events;  // device, kind, title
    const auto add = [&](std::uint32_t device, LaneKind kind, const std::string& title, Event event,
                         const Interval& time) {
      if (!analyze::has_times(time.start_ns, time.end_ns) ||
          distance(time.start_ns, input_.reference_ns) > kMaxDistanceNs ||
          length_ns(time.start_ns, time.end_ns) > kMaxDistanceNs) {
        return;
      }
      event.start_ns = time.start_ns;
      event.duration_ns = length_ns(time.start_ns, time.end_ns);
      event.link = kNoLink;
      event.exposed_ns = static_cast<std::uint32_t>(std::min<std::uint64_t>(event.exposed_ns, event.duration_ns));
      events[{device, kind, title}].push_back(event);
    };
    for (const auto& item : step.calls) {
      const std::string title = titles_.of(timeline_.calls[item.index].thread);
      add(trace::kUnknownId, LaneKind::kHost, title, call_event(item.index), item.time);
    }
    for (const auto& item : step.kernels) {
      const Kernel& kernel = timeline_.kernels[item.index];
      add(kernel.device, LaneKind::kStream, stream_title(kernel.device, kernel.stream), kernel_event(kernel),
          item.time);
    }
    for (const auto& item : step.transfers) {
      const Transfer& transfer = timeline_.transfers[item.index];
      add(transfer.device, lane_of(transfer), title_of(lane_of(transfer)), copy_of(transfer), item.time);
    }
    for (const auto& [device, stretches] : idle_) {
      for (const analyze::IdleInterval& idle : retimed_idle_->of(step, device)) {
        Event event = idle_event(idle);
        if (idle.call != kNone) event.site = site_of(stacks_.of_call(timeline_.calls[idle.call]), true);
        add(device, LaneKind::kState, state_lane(device).title, event, idle.time);
      }
    }
    std::vector<Lane> lanes;
    for (auto& [key, of_lane] : events) {
      const auto& [device, kind, title] = key;
      Depths<Event> depths = spread(std::move(of_lane));
      for (std::uint32_t depth = 0; depth < depths.rows.size(); ++depth) {
        Lane lane{.kind = kind, .title = title, .depth = depth};
        if (kind != LaneKind::kHost) lane.device = device;
        lane.events = std::move(depths.rows[depth]);
        lanes.push_back(std::move(lane));
      }
    }
    return lanes;
  }

  std::uint32_t number_of_kind(const Transfer& transfer) {
    const auto key =
        static_cast<std::uint32_t>(transfer.is_migration) | static_cast<std::uint32_t>(transfer.direction) << 1 |
        static_cast<std::uint32_t>(transfer.src_kind) << 8 | static_cast<std::uint32_t>(transfer.dst_kind) << 16;
    const auto [name, is_new] = name_of_kind_.try_emplace(key, 0);
    if (is_new) name->second = strings_.number_of(name_of_transfer(transfer));
    return name->second;
  }

  Event copy_of(const Transfer& transfer) {
    Event event = event_of(transfer, class_of(transfer), number_of_kind(transfer));
    event.link = link_to(transfer.call);
    event.site = site_of(stacks_.of_transfer(transfer), true);
    event.bytes = transfer.bytes;
    // Where kernels were not recorded, none is known to have hidden it.
    event.exposed_ns = clamped(activity_.exposed_ns(transfer).value_or(transfer.duration_ns()));
    return event;
  }

  std::pair<std::uint32_t, Class> kernel_name(std::uint32_t name) {
    std::optional<std::pair<std::uint32_t, Class>>& known = kernel_names_[name];
    if (!known) {
      std::string text = demangled(process_.string(name));
      if (text.empty()) text = "kernel without a name";
      known.emplace(strings_.number_of(text), family_of(text));
    }
    return *known;
  }

  void note_left_out(const Kernel& kernel) {
    auto& stretches = left_out_[{kernel.device, kernel.stream}];
    auto& stretch = kernel.start_ns < stretch_->start_ns ? stretches.first : stretches.second;
    if (!stretch) stretch = Interval{kernel.start_ns, kernel.end_ns};
    stretch->end_ns = std::max(stretch->end_ns, kernel.end_ns);
  }

  // What is left out of a stream is drawn as that.
  void add_stream(std::uint32_t device, std::uint32_t stream, LaneItems items) {
    const auto [before, after] = left_out_[{device, stream}];
    const std::uint32_t name = before || after ? strings_.number_of("kernels that are not in this file") : 0;
    const auto extent_of = [&](std::uint32_t index) {
      if (index < LaneItems::kFirstExtra) {
        return Interval{timeline_.kernels[index].start_ns, timeline_.kernels[index].end_ns};
      }
      const Event& event = items.extra[index - LaneItems::kFirstExtra];
      return Interval{event.start_ns, event.end_ns()};
    };
    if (before) {
      Interval stretch = *before;
      if (!items.indices.empty()) stretch.end_ns = std::min(stretch.end_ns, extent_of(items.indices.front()).start_ns);
      items.insert_extra(0, event_of(stretch, Class::kLeftOut, name));
    }
    if (after) {
      Interval stretch = *after;
      if (!items.indices.empty()) stretch.start_ns = std::max(stretch.start_ns, extent_of(items.indices.back()).end_ns);
      items.add_extra(event_of(stretch, Class::kLeftOut, name));
    }
    add_lanes({.kind = LaneKind::kStream, .title = stream_title(device, stream), .device = device}, std::move(items),
              timeline_.kernels, [&](std::uint32_t i) { return kernel_event(timeline_.kernels[i]); });
  }

  void add_memory() {
    if (!span_) return;
    const auto use = input_.view.memory != nullptr ? *input_.view.memory
                                                   : analyze::memory_use_of(timeline_, stacks_, span_->start_ns);
    if (!use || use->peak_device_bytes == 0 || distance(span_->start_ns, input_.reference_ns) > kMaxDistanceNs) return;
    Lane lane{.kind = LaneKind::kMemory, .title = "GPU memory"};
    for (const analyze::MemoryPoint& point : use->points) {
      lane.curve.emplace_back(span_->start_ns + point.time_ns, point.device_bytes);
    }
    sink_.begin_lane(lane);
    sink_.end_lane();
  }

  const LaneInput& input_;
  LaneSink& sink_;
  BlockCutter cutter_;
  const trace::Process& process_;
  const analyze::Timeline& timeline_;
  Strings& strings_;
  Sites& sites_;
  std::optional<analyze::Stacks> own_stacks_;  // where the view has none
  std::optional<analyze::Activity> own_activity_;
  analyze::Stacks& stacks_;
  bool are_kernels_recorded_;
  const analyze::Activity& activity_;
  LostRecords lost_;
  ThreadTitles titles_;
  std::optional<Interval> span_;   // of all records with times
  std::vector<bool> waits_;        // by call
  SpilledNumbers number_of_call_;  // of the call's event
  std::uint32_t next_number_;
  std::map<std::uint32_t, std::vector<PythonStretch>> python_;  // by thread
  std::optional<Interval> stretch_;                             // that is shown in full; nullopt: all
  ById<std::uint32_t> numbers_of_names_;
  ById<std::pair<std::uint32_t, Class>> kernel_names_;
  ById<std::uint16_t> site_of_facts_;
  ById<std::uint32_t> line_of_facts_;
  ById<std::uint16_t> site_of_idle_;                                              // by place
  ById<std::uint32_t> name_of_cause_;                                             // by IdleCause
  std::unordered_map<std::uint32_t, std::uint32_t> name_of_kind_;                 // of transfers
  std::map<std::uint32_t, const SpilledLog<analyze::IdleInterval>*> idle_;        // by device
  std::optional<RetimedIdle> retimed_idle_;                                       // where there are steps with fixes
  using Stretches = std::pair<std::optional<Interval>, std::optional<Interval>>;  // before what is kept, and behind
  std::map<std::pair<std::uint32_t, std::uint32_t>, Stretches> left_out_;         // by device and stream
  ProcessLanes result_;
};

}  // namespace

Lane state_lane(std::uint32_t device) {
  return {.kind = LaneKind::kState, .title = "GPU " + device_text(device) + ": what it waits for", .device = device};
}

std::string waits_for_ranks_title(std::uint32_t device) {
  return "GPU " + device_text(device) + ": waits for other ranks";
}

bool is_gap_kept(const Interval& gap, const std::optional<Interval>& stretch) {
  return is_always_kept(gap) || is_within(stretch, gap.start_ns);
}

ProcessLanes lanes_of(const LaneInput& input, Strings& strings, Sites& sites, LaneSink& sink) {
  return Builder(input, strings, sites, sink).build();
}

std::optional<std::int64_t> typical_time_ns(const analyze::Timeline& timeline) {
  SortedRuns starts_ns;
  const auto add = [&](const auto& records) {
    starts_ns.add_run([&records](std::size_t from, const auto& take) {
      for (std::size_t i = from; i < records.size(); ++i) {
        const auto& record = records[i];
        if (analyze::has_times(record.start_ns, record.end_ns) && !take(i, record.start_ns)) return;
      }
    });
  };
  add(timeline.calls);
  add(timeline.kernels);
  add(timeline.transfers);
  if (starts_ns.size() == 0) add(timeline.ranges);
  if (starts_ns.size() == 0) return std::nullopt;
  return starts_ns.at(starts_ns.size() / 2);
}

}  // namespace turnpike::report::html
