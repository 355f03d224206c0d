// Values are any bytes: a line ends none, because it is escaped.
#include "record/control_message.h"

#include <charconv>
#include <cstdint>
#include <cstring>

namespace turnpike::record {
namespace {

constexpr std::size_t kCounters = sizeof(TurnpikeStatus) / sizeof(std::uint64_t);
static_assert(sizeof(TurnpikeStatus) % sizeof(std::uint64_t) == 0);

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '%') {
      result += "%25";
    } else if (letter == '\n') {
      result += "%0A";
    } else {
      result += letter;
    }
  }
  return result;
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    const bool is_percent = rest.starts_with("%25");
    const bool is_line_end = rest.starts_with("%0A");
    result += is_percent ? '%' : is_line_end ? '\n' : text[at];
    if (is_percent || is_line_end) at += 2;
  }
  return result;
}

}  // namespace

const std::string* ControlMessage::find(const std::string& name) const {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

std::string control_socket_name(uid_t user, pid_t process) {
  return "turnpike." + std::to_string(user) + "." + std::to_string(process);
}

std::string to_text(const ControlMessage& message) {
  std::string text = std::string(kControlVersion) + " " + message.word + "\n";
  for (const auto& [name, value] : message.values) text += name + "=" + escaped(value) + "\n";
  return text + "\n";
}

Result<std::optional<ControlMessage>> take_message(std::string& received) {
  const std::size_t end = received.find("\n\n");
  if (end == std::string::npos) {
    if (received.size() > kMaxControlBytes) return Error{"a message is longer than 64 KiB"};
    return std::optional<ControlMessage>();
  }
  const std::string text = received.substr(0, end + 1);
  received.erase(0, end + 2);
  ControlMessage message;
  std::size_t start = 0;
  for (std::size_t stop = 0; (stop = text.find('\n', start)) != std::string::npos; start = stop + 1) {
    const std::string_view line = std::string_view(text).substr(start, stop - start);
    if (start == 0) {
      if (!line.starts_with(kControlVersion) || line.substr(kControlVersion.size()).substr(0, 1) != " ") {
        return Error{"it speaks another version of the protocol than " + std::string(kControlVersion) +
                     ": use the same Turnpike for `record --dormant` and `attach`"};
      }
      message.word = line.substr(kControlVersion.size() + 1);
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return Error{"a line of a message is not NAME=VALUE"};
    message.values[std::string(line.substr(0, equals))] = unescaped(line.substr(equals + 1));
  }
  return std::optional(std::move(message));
}

std::string counters_to_text(const TurnpikeStatus& status) {
  std::uint64_t counters[kCounters];
  std::memcpy(counters, &status, sizeof status);
  std::string text;
  for (const std::uint64_t counter : counters) text += (text.empty() ? "" : " ") + std::to_string(counter);
  return text;
}

TurnpikeStatus counters_from_text(std::string_view text) {
  std::uint64_t counters[kCounters] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint64_t& counter : counters) {
    const auto [behind, failed] = std::from_chars(at, end, counter);
    if (failed != std::errc() || behind == end) break;
    at = behind + 1;
  }
  TurnpikeStatus status;
  std::memcpy(&status, counters, sizeof status);
  return status;
}

}  // namespace turnpike::record
