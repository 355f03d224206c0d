// Publishes the live page of this process (record/live_page.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/own_descriptor.h"
#include "record/collect/live_sites.h"
#include "record/collect/process_metadata.h"
#include "record/live_page.h"
#include "record/session.h"

namespace turnpike::record {

// Collector's thread only. Without shared memory everything is a no-op: a program is recorded all the same.
class LivePageWriter {
 public:
  LivePageWriter(StringTable& strings, StackTable& stacks) : sites_(strings, stacks) {}
  LivePageWriter(const LivePageWriter&) = delete;
  LivePageWriter& operator=(const LivePageWriter&) = delete;
  ~LivePageWriter() { close_page(); }

  // A new recording begins: its counts start from 0.
  void restart(const Metadata& metadata, const std::string& file, const trace::ClockSample& now);
  void add_device(std::uint32_t device, const char* name);
  // Counts records as they stand in a chunk of a trace. Without memory the page has less of them, and the trace all.
  void count(std::span<const std::byte> records) noexcept;
  // Shows what was counted, at most a few times a second, and always at the end.
  void publish(const TurnpikeStatus& status, const Metadata& metadata, std::int64_t now_monotonic_ns,
               bool is_last) noexcept;

 private:
  bool is_open() const { return shared_ != nullptr && file_.is_there(); }
  bool open();
  void close_page();
  void add(std::span<const std::byte> records);
  void add(const trace::MemcpyRecord& copy);
  void fill(const TurnpikeStatus& status, const Metadata& metadata);
  void show();

  LiveSites sites_;
  std::unique_ptr<LivePage> draft_;
  std::uint64_t* shared_ = nullptr;
  OwnDescriptor file_;
  std::int64_t next_ns_ = 0;
};

}  // namespace turnpike::record
