// What each line of the program has moved and waited for so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "record/live_page.h"
#include "record/stacks/stack_table.h"
#include "record/stacks/string_table.h"
#include "trace/format.h"

namespace turnpike::record {

// Collector's thread only. A copy is known from two records, the call (its stack and time) and the device's (its
// direction and size), which come in any order.
class LiveSites {
 public:
  LiveSites(StringTable& strings, StackTable& stacks) : strings_(strings), stacks_(stacks) {}

  void restart();
  void count(const trace::CallRecord& call);
  void count(const trace::MemcpyRecord& copy, LiveDirection direction);
  // Writes the top sites into the page. Copies whose frames have no names yet come with a later one.
  void put(LivePage& page);

 private:
  // More lines than this are one with those that are not known.
  static constexpr std::size_t kMostPlaces = 4096;
  static constexpr std::size_t kOpenCopies = std::size_t{1} << 14;

  struct Sums {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t host_time_ns = 0;
    void add(const Sums& more);
  };
  struct OpenCopy {
    std::uint32_t correlation = 0;
    std::uint32_t stack = 0;
    bool has_call = false;
    bool has_copy = false;
    LiveDirection direction = kLiveH2d;
    Sums sums;
  };
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;  // file, line, function, op
  struct Site {
    Place place;
    LiveDirection direction;
    Sums sums;
  };

  OpenCopy& open(std::uint32_t correlation);
  void add(std::uint32_t stack, LiveDirection direction, const Sums& sums);
  // nullopt: its frames have no names yet.
  std::optional<Place> place_of(std::uint32_t stack);
  std::optional<std::size_t> site_of(std::uint32_t stack, LiveDirection direction);
  void describe(const Site& site, LiveSite& shown);

  StringTable& strings_;
  StackTable& stacks_;
  std::vector<OpenCopy> open_;                     // by correlation, modulo
  std::unordered_map<std::uint64_t, Sums> fresh_;  // of no site yet: by stack and direction
  std::unordered_map<std::uint64_t, std::size_t> sites_of_stacks_;
  std::map<std::pair<Place, LiveDirection>, std::size_t> numbers_;
  std::vector<Site> sites_;
  std::vector<std::size_t> order_;
  std::vector<trace::FrameEntry> frames_;
};

}  // namespace turnpike::record
