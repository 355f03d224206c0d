// Events as the page stores them: columns of integers, transposed to byte planes, deflated, as base64.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/html/format.h"
#include "report/html/lane.h"

namespace turnpike::report::html {

struct BlockHeader {
  std::uint32_t id = 0;
  std::uint32_t count = 0;
  std::int64_t first_ns = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> long_durations{};  // by place in the block
};

// How many of the first events make a block: it ends after kMaxBlockEvents, and before one that starts the next.
// `events`: by start.
std::size_t block_size(std::span<const Event> events);
// The byte planes of one block, not deflated. Learns count, first_ns and long_durations. `names`: what the column
// `name` holds for each name; empty: the name itself.
std::string planes_of(std::span<const Event> events, std::span<const Column> columns, BlockHeader& header,
                      std::span<const std::uint32_t> names = {});
// How much time the compression of a block may take for how much of its size.
enum class Effort : std::uint8_t { kSmallPage, kLargePage, kKernelsOfLargePage };
// `before_bytes`: the planes of all blocks before it. More of them make a large page.
Effort effort_for(LaneKind kind, std::uint64_t before_bytes);
// The text of a block's element.
std::string packed(std::string_view planes, Effort effort = Effort::kSmallPage);

}  // namespace turnpike::report::html
