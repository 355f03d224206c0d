// Moves the window, walks the top level, and finds the way back into the list behind damage.
#include "ingest/kineto/event_stream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace turnpike::ingest {
namespace {

bool is_space(char letter) {
  return letter == ' ' || letter == '\n' || letter == '\r' || letter == '\t';
}

// The keys that an event can start with; arguments and the top level have others.
constexpr std::array<std::string_view, 8> kFirstKeys = {"ph", "name", "cat", "ts", "pid", "tid", "dur", "args"};

// Whether an event starts at this `{`.
Scan starts_event(const char* brace, const char* text_start, const char* text_end) {
  const char* before = brace;
  while (before > text_start && is_space(before[-1])) --before;
  if (before == text_start || (before[-1] != ',' && before[-1] != '[')) return Scan::kBad;
  JsonCursor cursor(brace, text_end);
  JsonValue key;
  bool is_end = false;
  if (const Scan scan = cursor.next_key(key, is_end); scan != Scan::kOk) return scan;
  const bool is_key = std::find(kFirstKeys.begin(), kFirstKeys.end(), key.text) != kFirstKeys.end();
  return !is_end && is_key ? Scan::kOk : Scan::kBad;
}

}  // namespace

EventStream::EventStream(ByteSource& source, std::size_t window_bytes, std::size_t max_event_bytes)
    : source_(source),
      max_event_bytes_(max_event_bytes),
      window_(std::make_unique_for_overwrite<char[]>(window_bytes + JsonCursor::kPaddingBytes)),
      window_bytes_(window_bytes),
      begin_(window_.get()),
      end_(window_.get()) {
  std::memset(window_.get(), 0, JsonCursor::kPaddingBytes);
}

Status EventStream::refill() {
  const std::size_t held = held_bytes();
  if (held == window_bytes_) {
    auto larger = std::make_unique_for_overwrite<char[]>(window_bytes_ * 2 + JsonCursor::kPaddingBytes);
    std::memcpy(larger.get(), begin_, held);
    window_ = std::move(larger);
    window_bytes_ *= 2;
  } else {
    std::memmove(window_.get(), begin_, held);
  }
  const auto count = source_.read({window_.get() + held, window_bytes_ - held});
  if (!count) return count.error();
  has_source_ended_ = *count == 0;
  eventless_bytes_ += *count;
  if (eventless_bytes_ > kMaxEventlessBytes) {
    return Error{std::to_string(kMaxEventlessBytes >> 20) + " MiB of it hold no event, so it is no trace"};
  }
  begin_ = window_.get();
  end_ = begin_ + held + *count;
  std::memset(window_.get() + held + *count, 0, JsonCursor::kPaddingBytes);
  if (progress_) progress_();
  return {};
}

Result<Scan> EventStream::with_enough_text(const std::function<Scan(JsonCursor&)>& step) {
  while (true) {
    JsonCursor text = cursor();
    text.peek();
    begin_ = text.at();  // white space is not held: there can be more of it than memory
    const Scan scan = step(text);
    if (scan == Scan::kOk) begin_ = text.at();
    if (scan != Scan::kMore || has_source_ended_) return scan;
    if (held_bytes() > max_event_bytes_) return Scan::kBad;
    if (auto filled = refill(); !filled) return filled.error();
  }
}

Status EventStream::skip_separators() {
  while (true) {
    while (begin_ < end_ && (is_space(*begin_) || *begin_ == ',')) ++begin_;
    if (begin_ < end_ || has_source_ended_) return {};
    if (auto filled = refill(); !filled) return filled;
  }
}

Status EventStream::read(const OnEvent& on_event, const OnKey& on_key) {
  char first = '\0';
  const auto start = with_enough_text([&](JsonCursor& text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    for (const char letter : kByteOrderMark) {
      if (text.peek() == letter) text.advance();
    }
    first = text.peek();
    return first == '\0' ? text.unexpected() : Scan::kOk;
  });
  if (!start) return start.error();
  if (*start != Scan::kOk || (first != '{' && first != '[')) return Error{"it does not hold JSON"};
  is_list_alone_ = first == '[';
  has_event_list_ = is_list_alone_;
  if (is_list_alone_) ++begin_;
  for (Next next = is_list_alone_ ? Next::kEvents : Next::kTopLevel; next != Next::kEnd;) {
    const auto done = next == Next::kEvents ? read_events(on_event) : read_top_level(on_key);
    if (!done) return done.error();
    next = *done;
  }
  return {};
}

Result<EventStream::Next> EventStream::read_top_level(const OnKey& on_key) {
  JsonValue key;
  JsonValue value;
  bool is_end = false;
  bool is_list = false;
  while (true) {
    const auto scan = with_enough_text([&](JsonCursor& text) {
      if (const Scan found = text.next_key(key, is_end); found != Scan::kOk || is_end) return found;
      is_list = key.text == "traceEvents" && text.peek() == '[';
      if (!is_list) return text.value(value);
      text.advance();
      return Scan::kOk;
    });
    if (!scan) return scan.error();
    if (*scan == Scan::kMore) {
      losses_.cut_off_bytes += held_bytes();
      return Next::kEnd;
    }
    if (*scan == Scan::kBad) {
      ++losses_.unreadable_events;
      return find_next_event();
    }
    if (is_end) return Next::kEnd;
    if (is_list) {
      has_event_list_ = true;
      return Next::kEvents;
    }
    on_key(key.text, value);
  }
}

Result<EventStream::Next> EventStream::read_events(const OnEvent& on_event) {
  KinetoEvent event;
  JsonValue ignored;
  char first = '\0';
  while (true) {
    if (auto skipped = skip_separators(); !skipped) return skipped.error();
    const auto scan = with_enough_text([&](JsonCursor& text) {
      first = text.peek();
      if (first == '{') return read_event(text, event);
      if (first != ']') return text.value(ignored);
      text.advance();
      return Scan::kOk;
    });
    if (!scan) return scan.error();
    if (*scan == Scan::kOk && first == ']') {
      losses_.is_closed = true;
      return is_list_alone_ ? Next::kEnd : Next::kTopLevel;
    }
    if (*scan == Scan::kOk && first == '{') {
      eventless_bytes_ = 0;
      on_event(event);
    } else if (*scan == Scan::kOk) {
      ++losses_.unreadable_events;
    } else {
      // Cut off, unless more events follow: then it is a string without an end that made this one seem so long.
      const std::size_t rest_bytes = held_bytes();
      if (rest_bytes == 0) return Next::kEnd;
      auto next = find_next_event();
      if (!next) return next.error();
      if (*scan == Scan::kMore && *next == Next::kEnd) {
        losses_.cut_off_bytes += first == '\0' ? 0 : rest_bytes;
        return Next::kEnd;
      }
      ++losses_.unreadable_events;
      if (*next == Next::kEnd) return Next::kEnd;
    }
  }
}

Result<EventStream::Next> EventStream::find_next_event() {
  const char* from = begin_ + (held_bytes() > 0 ? 1 : 0);
  while (true) {
    const auto left = static_cast<std::size_t>(end_ - from);
    const char* brace = left == 0 ? nullptr : static_cast<const char*>(std::memchr(from, '{', left));
    const Scan scan = brace == nullptr ? Scan::kMore : starts_event(brace, begin_, end_);
    if (scan == Scan::kOk) {
      begin_ = brace;
      has_event_list_ = true;
      return Next::kEvents;
    }
    if (scan == Scan::kBad) {
      from = brace + 1;
      continue;
    }
    if (has_source_ended_) {
      begin_ = end_;
      return Next::kEnd;
    }
    // What stands before a brace tells whether it starts an event: a little of it stays.
    constexpr std::ptrdiff_t kKeptBytes = 64;
    const char* const kept = brace == nullptr ? end_ : brace;
    const char* const start = std::max(begin_, kept - kKeptBytes);
    const std::ptrdiff_t from_offset = kept - start;
    // A key that has no end within the largest event is none.
    const bool is_too_long = end_ - kept > static_cast<std::ptrdiff_t>(max_event_bytes_);
    begin_ = start;
    if (auto filled = refill(); !filled) return filled.error();
    from = begin_ + from_offset + (is_too_long ? 1 : 0);
  }
}

}  // namespace turnpike::ingest
