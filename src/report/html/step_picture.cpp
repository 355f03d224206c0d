#include "report/html/step_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "base/units.h"
#include "report/html/escape.h"
#include "report/html/patterns.h"

namespace turnpike::report::html {
namespace {

using analyze::Interval;

constexpr std::size_t kPictureColumns = 1000;
constexpr std::size_t kMaxPictureRows = 14;
constexpr int kRowHeight = 26;
// A label needs so much of the width, in columns.
constexpr std::size_t kLabelColumns = 130;
// Heights in so many parts: more would not be seen.
constexpr int kHeightParts = 24;

bool is_waiting(Class event_class) {
  return *wait_fill(event_class) != '\0';
}

// How a span is drawn: the style's class, and a fill for readers that show no style.
struct Look {
  const char* style;
  const char* fill;
};

constexpr Look kKernel{"p-kernel", "#4470b3"};
constexpr Look kCall{"p-call", "#7c8591"};
constexpr Look kCopy{"p-copy", "#1e8569"};
constexpr Look kPageable{"p-pageable", "url(#tp-pageable)"};
constexpr Look kLost{"p-lost", "#999999"};
constexpr Look kPython{"p-python", "#d3dad2"};

Look look_of(Class event_class) {
  if (is_waiting(event_class)) return {"p-wait", wait_fill(event_class)};
  if (event_class == Class::kPython) return kPython;
  if (event_class == Class::kPageable) return kPageable;
  if (event_class >= Class::kPinned && event_class <= Class::kMemset) return kCopy;
  if (event_class == Class::kCopiesOnly) return kCopy;
  if (event_class >= Class::kCall && event_class <= Class::kCopyCall) return kCall;
  if (event_class >= Class::kLost) return kLost;
  return kKernel;
}

// The share of each column that spans of one look cover: what is shorter than a column is summed, never dropped.
class Coverage {
 public:
  Coverage(const Look& look, const Interval& window)
      : look_(look),
        start_ns_(window.start_ns),
        column_ns_(static_cast<double>(window.end_ns - window.start_ns) / static_cast<double>(kPictureColumns)),
        shares_(kPictureColumns) {}

  void add(const PictureSpan& span) {
    const double from = std::max(0.0, static_cast<double>(span.start_ns - start_ns_) / column_ns_);
    const double to =
        std::min(static_cast<double>(kPictureColumns), static_cast<double>(span.end_ns - start_ns_) / column_ns_);
    for (auto column = static_cast<std::size_t>(from); column < kPictureColumns && static_cast<double>(column) < to;
         ++column) {
      const double left = std::max(from, static_cast<double>(column));
      const double right = std::min(to, static_cast<double>(column + 1));
      shares_[column] += std::max(0.0, right - left);
    }
  }

  void append_rectangles(std::string& out) const {
    for (std::size_t from = 0; from < kPictureColumns;) {
      const int height = height_at(from);
      std::size_t to = from + 1;
      while (to < kPictureColumns && height_at(to) == height) ++to;
      if (height > 0) append_rectangle(from, to, height, out);
      from = to;
    }
  }

 private:
  int height_at(std::size_t column) const {
    const double share = std::min(1.0, shares_[column]);
    if (share <= 0) return 0;
    return std::max(1, static_cast<int>(std::lround(share * kHeightParts)));
  }

  void append_rectangle(std::size_t from, std::size_t to, int height, std::string& out) const {
    const double tall = 22.0 * height / kHeightParts;
    fmt::format_to(std::back_inserter(out),
                   "<rect class=\"{}\" fill=\"{}\" x=\"{:.1f}%\" y=\"{:.1f}\" width=\"{:.1f}%\" height=\"{:.1f}\"/>",
                   look_.style, look_.fill, static_cast<double>(from) / 10, 2 + 22.0 - tall,
                   static_cast<double>(to - from) / 10, tall);
  }

  Look look_;
  std::int64_t start_ns_;
  double column_ns_;
  std::vector<double> shares_;
};

double percent_at(const Interval& window, std::int64_t time_ns) {
  return 100.0 * static_cast<double>(time_ns - window.start_ns) / static_cast<double>(window.end_ns - window.start_ns);
}

std::string label_of(const PictureSpan& span, const Sites& sites) {
  const bool has_site = span.site > 0 && span.site <= sites.all().size();
  const std::string site = has_site ? sites.all()[span.site - 1].site : "";
  if (span.event_class == Class::kPython) return cut(site, 60);
  return cut(duration_text(span.end_ns - span.start_ns) + (has_site ? ": " + site : ""), 60);
}

bool has_label(const PictureSpan& span) {
  return is_waiting(span.event_class) || (span.event_class == Class::kPython && span.site > 0);
}

// Long stretches of waiting say how long and where, those of Python where.
void append_labels(const PictureRow& row, const Interval& window, const Sites& sites, std::string& out) {
  for (const PictureSpan& span : row.spans) {
    if (!has_label(span)) continue;
    const double from = std::max(0.0, percent_at(window, span.start_ns));
    const double to = std::min(100.0, percent_at(window, span.end_ns));
    const std::string label = label_of(span, sites);
    const bool fits = (to - from) * 10 >= static_cast<double>(std::max(kLabelColumns, label.size() * 9));
    if (!fits) continue;
    fmt::format_to(std::back_inserter(out), "<text x=\"{:.1f}%\" y=\"17\" text-anchor=\"middle\">{}</text>",
                   (from + to) / 2, escaped(label));
  }
}

// Where the program goes from one line to another.
void append_cuts(const PictureRow& row, const Interval& window, std::string& out) {
  constexpr double kLeastPercent = 1;
  double before = 0;
  for (const PictureSpan& span : row.spans) {
    const double from = percent_at(window, span.start_ns);
    if (span.event_class != Class::kPython || from - before < kLeastPercent) continue;
    before = from;
    fmt::format_to(std::back_inserter(out),
                   "<rect class=\"p-cut\" fill=\"#ffffff\" x=\"{:.1f}%\" y=\"2\" width=\"1\" height=\"22\"/>", from);
  }
}

// "waiting 2.49 ms (39 %)", for those who cannot see it.
std::string cause_words(const PictureRow& row, const Interval& window) {
  double busy_ns = 0;
  double waiting_ns = 0;
  for (const PictureSpan& span : row.spans) {
    const auto part_ns =
        static_cast<double>(std::min(span.end_ns, window.end_ns) - std::max(span.start_ns, window.start_ns));
    (is_waiting(span.event_class) ? waiting_ns : busy_ns) += std::max(0.0, part_ns);
  }
  const auto part = [&](const char* word, double part_ns) {
    return fmt::format("{} {} ({})", word, duration_text(static_cast<std::int64_t>(part_ns)),
                       percent_text(100 * part_ns / static_cast<double>(window.end_ns - window.start_ns)));
  };
  std::string text;
  if (busy_ns > 0) text = part("busy", busy_ns);
  if (waiting_ns > 0) text += (text.empty() ? "" : ", ") + part("waiting", waiting_ns);
  return text.empty() ? "nothing" : text;
}

// `window` is drawn; `step` is what the words are about.
std::string svg_of(const PictureRow& row, const Interval& window, const Interval& step, const Sites& sites) {
  std::string svg = fmt::format("<svg class=\"row\" width=\"100%\" height=\"{}\" role=\"img\" aria-label=\"{}: {}\">",
                                kRowHeight, escaped(row.title), cause_words(row, step));
  std::map<std::string_view, Coverage> coverages;
  for (const PictureSpan& span : row.spans) {
    const Look look = look_of(span.event_class);
    coverages.try_emplace(look.fill, look, window).first->second.add(span);
  }
  for (const auto& [fill, coverage] : coverages) coverage.append_rectangles(svg);
  append_cuts(row, window, svg);
  append_labels(row, window, sites, svg);
  return svg + "</svg>";
}

constexpr int kMostTicks = 6;

// 1, 2 or 5 times a power of ten.
double tick_distance(double length_ns) {
  const double least = std::max(1.0, length_ns / kMostTicks);
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= least) return power * factor;
  }
  return power * 10;
}

// In the unit of the whole axis.
std::string tick_text(double time_ns, double length_ns) {
  constexpr double kSecond = 1e9, kMillisecond = 1e6, kMicrosecond = 1e3;
  if (length_ns >= kSecond) return fmt::format("{:g} s", time_ns / kSecond);
  if (length_ns >= kMillisecond) return fmt::format("{:g} ms", time_ns / kMillisecond);
  if (length_ns >= kMicrosecond) return fmt::format("{:g} us", time_ns / kMicrosecond);
  return fmt::format("{:g} ns", time_ns);
}

std::string axis_of(const Interval& window) {
  std::string svg = "<svg class=\"row axis\" width=\"100%\" height=\"18\" aria-hidden=\"true\">";
  const auto length_ns = static_cast<double>(window.end_ns - window.start_ns);
  const double distance_ns = tick_distance(length_ns);
  for (int tick = 0; tick * distance_ns <= length_ns && tick <= kMostTicks; ++tick) {
    const double share = tick * distance_ns / std::max(1.0, length_ns);
    constexpr double kNearTheEnd = 0.97;
    const char* anchor = tick == 0 ? "start" : share > kNearTheEnd ? "end" : "middle";
    fmt::format_to(std::back_inserter(svg), "<text x=\"{:.1f}%\" y=\"13\" text-anchor=\"{}\">{}</text>", 100 * share,
                   anchor, tick == 0 ? "0" : tick_text(tick * distance_ns, length_ns));
  }
  return svg + "</svg>";
}

// Where a shorter step ends on the axis of a longer one.
std::string length_bar(const StepPicture& picture, std::int64_t axis_ns) {
  return fmt::format(
      "<svg class=\"row\" width=\"100%\" height=\"10\" aria-hidden=\"true\"><rect class=\"p-step\" "
      "fill=\"#c3cad3\" y=\"2\" width=\"{:.1f}%\" height=\"6\"/></svg>",
      100 * static_cast<double>(length_of(picture)) / static_cast<double>(axis_ns));
}

bool is_drawn(LaneKind kind) {
  return kind != LaneKind::kSteps && kind != LaneKind::kRanges && kind != LaneKind::kMemory;
}

void erase_outside(const Interval& window, std::vector<PictureSpan>& spans) {
  std::erase_if(
      spans, [&](const PictureSpan& span) { return span.start_ns >= window.end_ns || span.end_ns <= window.start_ns; });
}

// Rows of Python give way to those of threads and devices.
void bound(std::vector<PictureRow>& rows) {
  for (std::size_t i = rows.size(); i > 0 && rows.size() > kMaxPictureRows; --i) {
    if (rows[i - 1].kind == LaneKind::kPython) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(i - 1));
  }
  if (rows.size() > kMaxPictureRows) rows.erase(rows.begin() + kMaxPictureRows, rows.end());
}

}  // namespace

void PictureMaker::begin_lane(const Lane& lane) {
  const std::string title = lane.kind == LaneKind::kPython ? "Python of " + lane.title : lane.title;
  rows_.push_back({{title, lane.kind, lane.device, {}}, lane.depth});
}

void PictureMaker::add_block(std::span<const Event> events) {
  extent_.start_ns = std::min(extent_.start_ns, events.front().start_ns);
  extent_.end_ns = std::max(extent_.end_ns, events.back().end_ns());
  PictureRow& row = rows_.back().row;
  if (!is_drawn(row.kind)) return;
  auto event = events.begin();
  if (step_) {
    event =
        std::partition_point(event, events.end(), [&](const Event& one) { return one.end_ns() <= step_->start_ns; });
  }
  for (; event != events.end() && (!step_ || event->start_ns < step_->end_ns); ++event) {
    row.spans.push_back({event->start_ns, event->end_ns(), event->event_class, event->site});
  }
}

StepPicture PictureMaker::take() && {
  StepPicture picture{.window = step_.value_or(extent_), .is_step = step_.has_value(), .rows = {}};
  if (picture.window.start_ns >= picture.window.end_ns) return {};
  for (auto& [row, depth] : rows_) {
    erase_outside(picture.window, row.spans);
    if (row.spans.empty()) continue;
    const bool continues = depth > 0 && !picture.rows.empty() && picture.rows.back().title == row.title;
    if (continues) {
      auto& spans = picture.rows.back().spans;
      spans.insert(spans.end(), row.spans.begin(), row.spans.end());
    } else {
      picture.rows.push_back(std::move(row));
    }
  }
  bound(picture.rows);
  return picture;
}

void add_row(PictureRow row, StepPicture& picture) {
  erase_outside(picture.window, row.spans);
  if (row.spans.empty()) return;
  const auto first = std::find_if(picture.rows.begin(), picture.rows.end(), [&](const PictureRow& other) {
    return other.device == row.device && other.kind >= row.kind;
  });
  const bool is_behind = first != picture.rows.end() && first->kind == row.kind;
  picture.rows.insert(first + (is_behind ? 1 : 0), std::move(row));
  bound(picture.rows);
}

std::string html_of(const StepPicture& picture, const Sites& sites) {
  if (picture.rows.empty()) return "";
  return html_of(picture, sites, picture.is_step ? "A median step" : "The whole recording", length_of(picture)) +
         picture_hint({&picture});
}

std::int64_t length_of(const StepPicture& picture) {
  return picture.window.end_ns - picture.window.start_ns;
}

std::string html_of(const StepPicture& picture, const Sites& sites, const std::string& title, std::int64_t length_ns) {
  if (picture.rows.empty()) return "";
  const Interval window{picture.window.start_ns, picture.window.start_ns + length_ns};
  std::string html = fmt::format("<section><h2>{}</h2>\n<table class=\"picture\"><tbody>\n", escaped(title));
  if (length_ns > length_of(picture))
    html += "<tr><th scope=\"row\">its length</th><td>" + length_bar(picture, length_ns) + "</td></tr>\n";
  for (const PictureRow& row : picture.rows) {
    fmt::format_to(std::back_inserter(html), "<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(row.title),
                   svg_of(row, window, picture.window, sites));
  }
  return html + "<tr><th scope=\"row\">time</th><td>" + axis_of(window) + "</td></tr>\n</tbody></table></section>\n";
}

std::string picture_hint(std::initializer_list<const StepPicture*> pictures) {
  std::set<Class> classes;
  for (const StepPicture* picture : pictures) {
    for (const PictureRow& row : picture->rows) {
      for (const PictureSpan& span : row.spans) classes.insert(span.event_class);
    }
  }
  const std::string waits = wait_legend(classes);
  return "<p class=\"hint\">" + waits + (waits.empty() ? "" : ". ") +
         "The height of a column is the share of its time. Grey: calls of CUDA; blue: kernels; green: copies, striped "
         "from and to pageable memory" +
         (classes.contains(Class::kPython) ? "; pale: lines of Python, from samples" : "") + ".</p>\n";
}

}  // namespace turnpike::report::html
