// Joins calls and copies, and finds the line to show.
#include "record/collect/live_sites.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/installed_file.h"
#include "base/operator_name.h"

namespace turnpike::record {
namespace {

// A line of the program rather than of a package.
bool is_of_package(std::string_view file) {
  if (is_installed_file(file)) return true;
  return file.starts_with('<') && !file.starts_with("<ipython") && !file.starts_with("<stdin");
}

// Modules that stand between a program and its copies.
bool is_between(std::string_view module) {
  const std::string_view name = module.substr(module.rfind('/') + 1);
  for (const std::string_view start : {"libcud", "libcupti", "libtorch", "libc10", "libturnpike", "libc.so", "libnccl",
                                       "libstdc++", "libgomp", "libpython"}) {
    if (name.starts_with(start)) return true;
  }
  return module.empty();
}

template <std::size_t kSize>
void put_text(char (&to)[kSize], std::string_view text) {
  std::size_t size = std::min(text.size(), kSize - 1);
  if (size < text.size()) {
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  }
  text.copy(to, size);
  to[size] = '\0';
}

}  // namespace

void LiveSites::Sums::add(const Sums& more) {
  count += more.count;
  bytes += more.bytes;
  host_time_ns += more.host_time_ns;
}

void LiveSites::restart() {
  open_.clear();
  fresh_.clear();
  sites_of_stacks_.clear();
  numbers_.clear();
  sites_.clear();
}

LiveSites::OpenCopy& LiveSites::open(std::uint32_t correlation) {
  if (open_.empty()) open_.resize(kOpenCopies);
  OpenCopy& copy = open_[correlation % kOpenCopies];
  if (copy.correlation != correlation) {
    // A copy whose call was not recorded: it belongs to no line.
    if (copy.has_copy && !copy.has_call) add(trace::kNoId, copy.direction, copy.sums);
    copy = {};
    copy.correlation = correlation;
  }
  return copy;
}

void LiveSites::count(const trace::CallRecord& call) {
  if (call.kind != trace::CallKind::kCopy && call.kind != trace::CallKind::kSynchronize) return;
  const Sums time{0, 0, static_cast<std::uint64_t>(std::max<std::int64_t>(call.end_ns - call.start_ns, 0))};
  if (call.kind == trace::CallKind::kSynchronize) return add(call.stack, kLiveSync, {1, 0, time.host_time_ns});
  OpenCopy& copy = open(call.correlation);
  copy.has_call = true;
  copy.stack = call.stack;
  copy.sums.add(time);
  if (!copy.has_copy) return;
  add(copy.stack, copy.direction, copy.sums);
  copy.sums = {};
}

void LiveSites::count(const trace::MemcpyRecord& record, LiveDirection direction) {
  OpenCopy& copy = open(record.correlation);
  // A graph's launch has copies of several directions, and no call that copies.
  if (copy.has_copy && !copy.has_call && copy.direction != direction) {
    add(trace::kNoId, copy.direction, std::exchange(copy.sums, {}));
  }
  copy.has_copy = true;
  copy.direction = direction;
  copy.sums.add({1, record.bytes, 0});
  if (!copy.has_call) return;
  add(copy.stack, direction, copy.sums);
  copy.sums = {};
}

void LiveSites::add(std::uint32_t stack, LiveDirection direction, const Sums& sums) {
  fresh_[std::uint64_t{stack} << 8 | direction].add(sums);
}

std::optional<LiveSites::Place> LiveSites::place_of(std::uint32_t stack) {
  frames_.clear();
  if (!stacks_.copy_frames(stack, frames_)) return std::nullopt;
  const trace::FrameEntry* python = nullptr;
  const trace::FrameEntry* program = nullptr;
  const trace::FrameEntry* native = nullptr;
  std::uint32_t op = trace::kNoId;
  for (const trace::FrameEntry& frame : frames_) {
    if (frame.kind == trace::FrameKind::kPython) {
      if (python == nullptr) python = &frame;
      if (program == nullptr && !is_of_package(strings_.text(frame.file))) program = &frame;
    } else {
      if (operator_structure(strings_.text(frame.function))) op = frame.function;
      if (native == nullptr && !is_between(strings_.text(frame.file))) native = &frame;
    }
  }
  const trace::FrameEntry* shown = program != nullptr ? program : python != nullptr ? python : native;
  if (shown == nullptr) return Place{trace::kNoId, 0, trace::kNoId, op};
  return Place{shown->file, shown->line, shown->function, op};
}

std::optional<std::size_t> LiveSites::site_of(std::uint32_t stack, LiveDirection direction) {
  const std::uint64_t key = std::uint64_t{stack} << 8 | direction;
  if (const auto known = sites_of_stacks_.find(key); known != sites_of_stacks_.end()) return known->second;
  const std::optional<Place> place = numbers_.size() < kMostPlaces ? place_of(stack) : Place{};
  if (!place) return std::nullopt;
  // What may fail comes before what changes.
  if (sites_.size() == sites_.capacity()) sites_.reserve(2 * sites_.size() + 64);
  const auto [site, is_new_site] = numbers_.try_emplace({*place, direction}, sites_.size());
  if (is_new_site) sites_.push_back({*place, direction, {}});
  return sites_of_stacks_[key] = site->second;
}

void LiveSites::describe(const Site& site, LiveSite& shown) {
  const auto& [file, line, function, op] = site.place;
  put_text(shown.file, strings_.text(file));
  put_text(shown.function, strings_.text(function));
  put_text(shown.op, operator_structure(strings_.text(op)).value_or(""));
  shown.line = line;
  shown.direction = site.direction;
  shown.count = site.sums.count;
  shown.bytes = site.sums.bytes;
  shown.host_time_ns = site.sums.host_time_ns;
}

void LiveSites::put(LivePage& page) {
  std::erase_if(fresh_, [this](const auto& of_stack) {
    const auto& [key, sums] = of_stack;
    const auto site = site_of(static_cast<std::uint32_t>(key >> 8), static_cast<LiveDirection>(key & 0xFF));
    if (site) sites_[*site].sums.add(sums);
    return site.has_value();
  });
  order_.resize(sites_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const std::size_t count = std::min<std::size_t>(order_.size(), LivePage::kMostSites);
  std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count), order_.end(),
                    [this](std::size_t a, std::size_t b) {
                      const std::uint64_t cost_a = sites_[a].sums.host_time_ns, cost_b = sites_[b].sums.host_time_ns;
                      return cost_a != cost_b ? cost_a > cost_b : a < b;
                    });
  for (std::size_t i = 0; i < count; ++i) describe(sites_[order_[i]], page.sites[i]);
  page.site_count = static_cast<std::uint32_t>(count);
  page.known_sites = sites_.size();
}

}  // namespace turnpike::record
