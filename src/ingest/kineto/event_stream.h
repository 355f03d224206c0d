// The events of a Chrome trace one by one, from a stream of any size through a window of bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "ingest/kineto/byte_source.h"
#include "ingest/kineto/event.h"
#include "ingest/kineto/json_cursor.h"

namespace turnpike::ingest {

// What happened on the way that a user must hear of.
struct StreamLosses {
  std::uint64_t unreadable_events = 0;  // places, each of an event or of several in a row
  std::uint64_t cut_off_bytes = 0;      // at the end of the text: the start of an event that is not whole
  bool is_closed = false;               // whether the list of events has an end
};

class EventStream {
 public:
  using OnEvent = std::function<void(const KinetoEvent&)>;
  // A key of the top level besides `traceEvents`. Both may stand before or behind the events.
  using OnKey = std::function<void(std::string_view key, const JsonValue& value)>;

  // Does not fit into its window: an event longer than `max_event_bytes`, which is left out.
  static constexpr std::size_t kWindowBytes = 1u << 20;
  static constexpr std::size_t kMaxEventBytes = 64u << 20;
  // So much text without an event is no trace: read() fails.
  static constexpr std::size_t kMaxEventlessBytes = 256u << 20;

  // Keeps a reference to the source.
  explicit EventStream(ByteSource& source, std::size_t window_bytes = kWindowBytes,
                       std::size_t max_event_bytes = kMaxEventBytes);

  // Called after each piece that was read.
  void set_progress(std::function<void()> progress) { progress_ = std::move(progress); }

  // Reads everything. Fails when the source does, and when the text is no trace: neither a list nor an object.
  Status read(const OnEvent& on_event, const OnKey& on_key);

  const StreamLosses& losses() const { return losses_; }
  bool has_event_list() const { return has_event_list_; }

 private:
  enum class Next : std::uint8_t { kTopLevel, kEvents, kEnd };

  JsonCursor cursor() const { return {begin_, end_}; }
  std::size_t held_bytes() const { return static_cast<std::size_t>(end_ - begin_); }
  Status refill();
  // Moves to the next event, whatever stands between.
  Status skip_separators();
  // Runs `step` on the text, with more of it as long as the step says kMore and there is more.
  Result<Scan> with_enough_text(const std::function<Scan(JsonCursor&)>& step);
  Result<Next> read_top_level(const OnKey& on_key);
  Result<Next> read_events(const OnEvent& on_event);
  // Passes over what cannot be read, to where an event seems to start.
  Result<Next> find_next_event();

  ByteSource& source_;
  std::size_t max_event_bytes_;
  std::unique_ptr<char[]> window_;
  std::size_t window_bytes_;
  const char* begin_;  // of what was read and not yet used
  const char* end_;
  bool has_source_ended_ = false;
  bool is_list_alone_ = false;  // the text is a list of events, without an object around it
  bool has_event_list_ = false;
  std::size_t eventless_bytes_ = 0;  // read since the last event
  std::function<void()> progress_;
  StreamLosses losses_;
};

}  // namespace turnpike::ingest
