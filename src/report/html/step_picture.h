// The median step as a picture (SVG) that needs no script.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/model/intervals.h"
#include "report/html/lane.h"
#include "report/html/lane_sink.h"
#include "report/html/sites.h"

namespace turnpike::report::html {

struct PictureSpan {
  std::int64_t start_ns;
  std::int64_t end_ns;
  Class event_class;
  std::uint16_t site;  // as in events
};

struct PictureRow {
  std::string title;
  LaneKind kind;
  std::optional<std::uint32_t> device;
  std::vector<PictureSpan> spans;
};

struct StepPicture {
  analyze::Interval window{0, 0};
  bool is_step = false;  // false: the whole of a run without steps
  std::vector<PictureRow> rows;
};

// Makes the picture of a process, of whose lanes it keeps what lies in the step. Without a step it shows, and keeps,
// all of them.
class PictureMaker final : public LaneSink {
 public:
  void show_step(const analyze::Interval& step) override { step_ = step; }
  void begin_lane(const Lane& lane) override;
  void add_block(std::span<const Event> events) override;
  StepPicture take() &&;

 private:
  struct Row {
    PictureRow row;
    std::uint32_t depth;
  };

  std::optional<analyze::Interval> step_;
  analyze::Interval extent_{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  std::vector<Row> rows_;
};

// Adds what of a row lies in the window, behind the rows of the same kind of its device.
void add_row(PictureRow row, StepPicture& picture);

std::int64_t length_of(const StepPicture& picture);

// A section of the page; "" when there is nothing to show.
std::string html_of(const StepPicture& picture, const Sites& sites);
// The same on a time axis of a given length, without the hint. `title` is untrusted.
std::string html_of(const StepPicture& picture, const Sites& sites, const std::string& title, std::int64_t length_ns);
// How to read pictures: a legend of what is in them.
std::string picture_hint(std::initializer_list<const StepPicture*> pictures);

}  // namespace turnpike::report::html
