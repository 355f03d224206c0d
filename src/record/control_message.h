// What `turnpike attach` and a dormant process say to each other: lines of text over a socket.
//
//   turnpike/1 start          the version of the protocol, and what is asked for
//   TURNPIKE_RUN=/runs/a.tpk  values, one a line
//                             an empty line ends a message
//
// Asked for: start (with the variables of options.h), stop, status. Answers: ok, and error with the sentence `error`;
// `to` is the word that is answered. Whoever started a recording and hangs up ends it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "record/session.h"

namespace turnpike::record {

inline constexpr std::string_view kControlVersion = "turnpike/1";
inline constexpr std::size_t kMaxControlBytes = 65'536;  // of a message

struct ControlMessage {
  std::string word;
  std::map<std::string, std::string> values{};

  // nullptr if the message has no value of this name.
  const std::string* find(const std::string& name) const;
};

// The name of the socket behind the leading NUL of an abstract one.
std::string control_socket_name(uid_t user, pid_t process);

std::string to_text(const ControlMessage& message);
// Takes the first message off `received`; nullopt if it is incomplete. An Error if it is of another version.
Result<std::optional<ControlMessage>> take_message(std::string& received);

// All counters in their order, as numbers.
std::string counters_to_text(const TurnpikeStatus& status);
// Those that `text` has; the others are 0.
TurnpikeStatus counters_from_text(std::string_view text);

}  // namespace turnpike::record
