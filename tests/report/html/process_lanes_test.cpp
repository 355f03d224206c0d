// What the lanes of a process hold before they are compressed.
#include "report/html/process_lanes.h"

#include <gtest/gtest.h>

#include "report/html/page_data.h"

namespace turnpike::report::html {
namespace {

TEST(ProcessLanes, ReserveNothingForWhatIsLeftOut) {
  Recording recording;
  add_loop(recording, 2000);
  const analyze::Timeline timeline = recording.loader.take();
  const analyze::ProcessView view{recording.process, timeline, nullptr, nullptr, nullptr};
  Strings strings;
  Sites sites;
  // 2000 ranges, copies and blocked calls each are always there; 500 of 4000 launches and kernels have room.
  const ProcessLanes lanes =
      lanes_of({.view = view, .max_events = 6500, .reference_ns = typical_time_ns(timeline).value(), .first_number = 0},
               strings, sites);
  EXPECT_EQ(lanes.left_out, 3500u);
  std::size_t looked_at = 0;
  for (const Lane& lane : lanes.lanes) {
    if (lane.kind != LaneKind::kHost && lane.kind != LaneKind::kStream) continue;
    ++looked_at;
    EXPECT_LE(lane.events.capacity(), lane.events.size() + 2) << lane.title;
  }
  EXPECT_EQ(looked_at, 2u);
}

}  // namespace
}  // namespace turnpike::report::html
