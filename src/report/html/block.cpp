#include "report/html/block.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/base64.h"

namespace turnpike::report::html {
namespace {

// Of libdeflate's levels the first that stays below 5.5 bytes an event in the page that
// web/tests/browser/budget.test.ts measures (2: 5.56, 3: 5.52). From 6 on, more time gains less than 1 %.
constexpr int kLevel = 4;
// Small pages consist of small blocks, among which those of the steps with fixes weigh most; a large page has few.
constexpr int kSmallBlockLevel = 7;
constexpr std::size_t kSmallBlockBytes = 16 * 1024;
// In the page of 40 MB of trace an event takes 5.41 bytes with these, and 5.33 with the above. Level 1 for other rows
// than kernels' would take more than 5.5.
constexpr int kLargePageLevel = 3;
constexpr int kLargePageKernelLevel = 1;
constexpr std::uint64_t kSmallPageBytes = 512 * 1024;

struct FreeCompressor {
  void operator()(libdeflate_compressor* compressor) const { libdeflate_free_compressor(compressor); }
};

// It is large, and many blocks are small.
template <int kLevel>
libdeflate_compressor* compressor_of_thread() {
  thread_local const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(
      libdeflate_alloc_compressor(kLevel));
  if (compressor == nullptr) throw std::bad_alloc();
  return compressor.get();
}

libdeflate_compressor* compressor_for(std::string_view planes, Effort effort) {
  switch (effort) {
    case Effort::kLargePage:
      return compressor_of_thread<kLargePageLevel>();
    case Effort::kKernelsOfLargePage:
      return compressor_of_thread<kLargePageKernelLevel>();
    case Effort::kSmallPage:
      break;
  }
  return planes.size() <= kSmallBlockBytes ? compressor_of_thread<kSmallBlockLevel>() : compressor_of_thread<kLevel>();
}

std::uint64_t difference(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<std::uint64_t>(to_ns) - static_cast<std::uint64_t>(from_ns);
}

// The values of one column as planes: the lowest bytes of all, then the next ones. Loops over a known number of values
// become instructions that take several at a time: that halves the time.
template <typename Value, typename ValueOf>
char* add_planes(char* plane, std::span<const Event> events, ValueOf value_of) {
  constexpr std::size_t kWidth = sizeof(Value);
  constexpr std::uint32_t kAtOnce = 16;
  const std::size_t count = events.size();
  std::uint32_t first = 0;
  for (; first + kAtOnce <= count; first += kAtOnce) {
    std::array<Value, kAtOnce> values;
    for (std::uint32_t i = 0; i < kAtOnce; ++i) {
      values[i] = static_cast<Value>(value_of(events[first + i], first + i));
    }
    for (std::size_t byte = 0; byte < kWidth; ++byte) {
      std::array<std::uint8_t, kAtOnce> bytes;
      for (std::uint32_t i = 0; i < kAtOnce; ++i) bytes[i] = static_cast<std::uint8_t>(values[i] >> 8 * byte);
      std::memcpy(plane + byte * count + first, bytes.data(), kAtOnce);
    }
  }
  for (; first < count; ++first) {
    const auto value = static_cast<Value>(value_of(events[first], first));
    for (std::size_t byte = 0; byte < kWidth; ++byte) {
      plane[byte * count + first] = static_cast<char>(value >> 8 * byte);
    }
  }
  return plane + kWidth * count;
}

// The widths of columns (format.cpp), each with a loop of its own: that takes a third of the time.
template <typename ValueOf>
char* add_planes(char* plane, std::size_t width, std::span<const Event> events, ValueOf value_of) {
  switch (width) {
    case 1:
      return add_planes<std::uint8_t>(plane, events, value_of);
    case 2:
      return add_planes<std::uint16_t>(plane, events, value_of);
    case 4:
      return add_planes<std::uint32_t>(plane, events, value_of);
    case 8:
      return add_planes<std::uint64_t>(plane, events, value_of);
    default:
      throw std::logic_error("a column of the page has a width without a loop");
  }
}

char* add_column(char* plane, Column column, std::span<const Event> events, std::span<const std::uint32_t> names,
                 BlockHeader& header) {
  const std::size_t width = width_of(column);
  const auto add = [&](auto value_of) { return add_planes(plane, width, events, value_of); };
  switch (column) {
    case Column::kStart:
      return add([before_ns = header.first_ns](const Event& event, std::uint32_t) mutable {
        return difference(std::exchange(before_ns, event.start_ns), event.start_ns);
      });
    case Column::kDuration:
      return add([&](const Event& event, std::uint32_t place) -> std::uint64_t {
        if (event.duration_ns < kLongDuration) return event.duration_ns;
        header.long_durations.emplace_back(place, event.duration_ns);
        return kLongDuration;
      });
    case Column::kName:
      if (names.empty()) return add([](const Event& event, std::uint32_t) { return event.name; });
      return add([names](const Event& event, std::uint32_t) { return names[event.name]; });
    case Column::kClass:
      return add([](const Event& event, std::uint32_t) { return static_cast<std::uint64_t>(event.event_class); });
    case Column::kLink:
      return add([before = std::uint32_t{0}](const Event& event, std::uint32_t) mutable {
        return static_cast<std::uint32_t>(event.link - std::exchange(before, event.link));
      });
    case Column::kSite:
      return add([](const Event& event, std::uint32_t) { return event.site; });
    case Column::kBytes:
      return add([](const Event& event, std::uint32_t) { return event.bytes; });
    case Column::kExposed:
      return add([](const Event& event, std::uint32_t) { return event.exposed_ns; });
  }
  return plane;
}

}  // namespace

std::size_t block_size(std::span<const Event> events) {
  const std::size_t most = std::min(events.size(), kMaxBlockEvents);
  // Nearly always even the ends of a chunk lie that close together.
  constexpr std::size_t kChunk = 1024;
  for (std::size_t first = 0; first + 1 < most; first += kChunk) {
    const std::size_t last = std::min(first + kChunk, most - 1);
    if (!starts_block(events[first], events[last])) continue;
    for (std::size_t i = first + 1; i <= last; ++i) {
      if (starts_block(events[i - 1], events[i])) return i;
    }
  }
  return most;
}

std::string planes_of(std::span<const Event> events, std::span<const Column> columns, BlockHeader& header,
                      std::span<const std::uint32_t> names) {
  header.count = static_cast<std::uint32_t>(events.size());
  header.first_ns = events.empty() ? 0 : events.front().start_ns;
  header.long_durations.clear();
  std::size_t row_bytes = 0;
  for (const Column column : columns) row_bytes += width_of(column);
  std::string planes(row_bytes * events.size(), '\0');
  char* plane = planes.data();
  for (const Column column : columns) plane = add_column(plane, column, events, names, header);
  return planes;
}

Effort effort_for(LaneKind kind, std::uint64_t before_bytes) {
  if (before_bytes < kSmallPageBytes) return Effort::kSmallPage;
  return kind == LaneKind::kStream ? Effort::kKernelsOfLargePage : Effort::kLargePage;
}

std::string packed(std::string_view planes, Effort effort) {
  auto* const compressor = compressor_for(planes, effort);
  const std::size_t most_bytes = libdeflate_deflate_compress_bound(compressor, planes.size());
  const auto deflated = std::make_unique_for_overwrite<char[]>(most_bytes);
  const std::size_t size_bytes =
      libdeflate_deflate_compress(compressor, planes.data(), planes.size(), deflated.get(), most_bytes);
  if (size_bytes == 0) throw std::length_error("a block of the page is larger than its bound");
  return base64({deflated.get(), size_bytes});
}

}  // namespace turnpike::report::html
