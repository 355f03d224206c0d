// Notes lines, reads their files, and keeps the text around the lines.
#include "record/stacks/recorded_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/compiled_file.h"
#include "base/installed_file.h"
#include "base/own_descriptor.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "trace/format.h"

namespace turnpike::record {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxKeptBytes = std::size_t{4} << 20;
constexpr std::int64_t kMaxReadNs = 100'000'000;
// What the page shows around a line; stretches that are less apart than this become one.
constexpr std::uint32_t kAround = 4;
constexpr std::uint32_t kMaxGap = 8;

struct Stretch {
  std::uint32_t first;
  std::uint32_t last;
};

// `lines`: any order.
std::vector<Stretch> stretches_around(std::vector<std::uint32_t> lines) {
  std::sort(lines.begin(), lines.end());
  std::vector<Stretch> stretches;
  for (const std::uint32_t line : lines) {
    const Stretch around{line > kAround ? line - kAround : 1, std::min(line, UINT32_MAX - kAround) + kAround};
    if (!stretches.empty() && around.first - std::min(around.first, stretches.back().last) <= kMaxGap) {
      stretches.back().last = around.last;
    } else {
      stretches.push_back(around);
    }
  }
  return stretches;
}

std::int64_t ns_of(const timespec& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

bool is_text(std::string_view text) {
  while (!text.empty()) {
    const CodePoint character = first_code_point(text);
    if (!character.is_valid || character.value == 0) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

// False: an error, or the file has another size by now.
bool read_all(int file, std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::read(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

// Where each line begins, and the end.
std::vector<std::size_t> line_starts(std::string_view text) {
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < text.size();) {
    starts.push_back(at);
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
  starts.push_back(text.size());
  return starts;
}

void append_entry(const trace::SourceTextEntry& entry, std::string_view text, std::vector<std::byte>& payload) {
  const auto* head = reinterpret_cast<const std::byte*>(&entry);
  const auto* body = reinterpret_cast<const std::byte*>(text.data());
  payload.insert(payload.end(), head, head + sizeof entry);
  payload.insert(payload.end(), body, body + text.size());
  payload.resize((payload.size() + 7) & ~std::size_t{7});
}

}  // namespace

void RecordedSource::note_frames(std::span<const std::byte> entries) {
  for (; entries.size() >= sizeof(trace::FrameEntry); entries = entries.subspan(sizeof(trace::FrameEntry))) {
    trace::FrameEntry frame;
    std::memcpy(&frame, entries.data(), sizeof frame);
    if (frame.kind == trace::FrameKind::kPython) note(frame.file, frame.line);
  }
}

void RecordedSource::note(std::uint32_t file, std::uint32_t line) {
  if (as_of_ns_ == trace::kUnknownTime || file == trace::kNoId || line == 0) return;
  File& noted = files_[file];
  noted.lines.push_back(line);
  noted.has_new_lines = true;
}

std::vector<std::byte> RecordedSource::read(const TextOf& text_of) {
  std::vector<std::byte> payload;
  const std::int64_t until_ns = monotonic_ns() + kMaxReadNs;
  for (auto& [string, file] : files_) {
    if (!std::exchange(file.has_new_lines, false)) continue;
    const std::string path(text_of(string));
    if (!path.starts_with('/') || !path.ends_with(".py") || is_installed_file(path) || is_compiled_file(path)) {
      continue;
    }
    file.outcome = monotonic_ns() < until_ns ? add_file(path, string, file.lines, payload) : Outcome::kNoRoom;
  }
  return payload;
}

RecordedSource::Outcome RecordedSource::add_file(const std::string& path, std::uint32_t string,
                                                 const std::vector<std::uint32_t>& lines,
                                                 std::vector<std::byte>& payload) {
  // Not blocking: by now a pipe may stand there.
  OwnDescriptor file = OwnDescriptor::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.is_open()) return Outcome::kUnreadable;
  std::string text;
  const Outcome outcome = read_file(file.number(), text);
  file.close();
  return outcome == Outcome::kKept ? add_text(text, string, lines, payload) : outcome;
}

RecordedSource::Outcome RecordedSource::read_file(int file, std::string& text) const {
  struct stat about{};
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return Outcome::kUnreadable;
  // A file with the times of another (`cp -p`) shows by the change of its status.
  if (std::max(ns_of(about.st_mtim), ns_of(about.st_ctim)) > as_of_ns_) return Outcome::kChanged;
  if (static_cast<std::size_t>(about.st_size) > kMaxFileBytes) return Outcome::kLarge;
  text.resize(static_cast<std::size_t>(about.st_size));
  if (!read_all(file, text)) return Outcome::kUnreadable;
  return is_text(text) ? Outcome::kKept : Outcome::kNotText;
}

RecordedSource::Outcome RecordedSource::add_text(const std::string& text, std::uint32_t file,
                                                 const std::vector<std::uint32_t>& lines,
                                                 std::vector<std::byte>& payload) {
  trace::SourceTextEntry entry{};
  entry.file = file;
  const auto hash = sha256(text);
  std::copy(hash.begin(), hash.end(), entry.sha256);
  const std::vector<std::size_t> starts = line_starts(text);
  const std::size_t count = starts.size() - 1;
  for (const Stretch& stretch : stretches_around(lines)) {
    if (stretch.first > count) break;
    const std::size_t begin = starts[stretch.first - 1];
    const std::size_t size = starts[std::min<std::size_t>(stretch.last, count)] - begin;
    if (kept_bytes_ + size > kMaxKeptBytes) return Outcome::kNoRoom;
    kept_bytes_ += size;
    entry.first_line = stretch.first;
    entry.bytes = static_cast<std::uint32_t>(size);
    append_entry(entry, std::string_view(text).substr(begin, size), payload);
  }
  return Outcome::kKept;
}

std::string RecordedSource::summary() const {
  if (as_of_ns_ == trace::kUnknownTime) return "off";
  constexpr std::pair<Outcome, const char*> kNames[] = {
      {Outcome::kKept, "files"},  {Outcome::kUnreadable, "unreadable"}, {Outcome::kChanged, "changed"},
      {Outcome::kLarge, "large"}, {Outcome::kNotText, "not_text"},      {Outcome::kNoRoom, "no_room"},
  };
  std::string summary;
  for (const auto& [outcome, name] : kNames) {
    const auto count = std::count_if(files_.begin(), files_.end(),
                                     [outcome = outcome](const auto& file) { return file.second.outcome == outcome; });
    if (count == 0 && outcome != Outcome::kKept) continue;
    summary += (summary.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(count);
  }
  return summary;
}

}  // namespace turnpike::record
