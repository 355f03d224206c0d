// What is to be recorded, and the table of its options. What the command line, Python, the C interface and the
// environment of an injected process accept follows from the table.
#pragma once

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "record/session.h"

namespace turnpike::record {

enum class Detail : std::uint32_t { kTransfers = TURNPIKE_DETAIL_TRANSFERS, kFull = TURNPIKE_DETAIL_FULL };

struct CaptureRange {
  enum class Kind { kWholeRun, kCudaProfilerApi, kNvtx };
  Kind kind = Kind::kWholeRun;
  std::string nvtx_name{};  // of the range to record, for kNvtx
};

// When a step takes so long, what is recorded is kept.
struct Trigger {
  double medians = 0;                       // times as long as the median of the steps before; 0: not asked for
  std::chrono::nanoseconds longer_than{0};  // 0: not asked for
  std::string text{};                       // as it was given

  bool is_set() const noexcept { return medians > 0 || longer_than.count() > 0; }
};

// The signal on which a recording with `last` is kept.
struct KeepSignal {
  int number = SIGUSR2;  // 0: none
};

struct Options {
  std::string run_directory{};  // empty: nothing is to be recorded
  Detail detail = Detail::kFull;
  bool has_stacks = true;
  bool has_source = true;            // keep the source around the lines of stacks
  bool is_content_verified = false;  // hash every byte of host buffers instead of a sample
  CaptureRange capture_range{};
  std::chrono::milliseconds delay{0};            // from the start of recording
  std::chrono::milliseconds duration{0};         // 0: until the end
  std::uint64_t max_bytes = TURNPIKE_MAX_BYTES;  // of the file: recording stops there
  bool has_link_traffic = true;                  // ask the GPUs what their links carry
  std::chrono::milliseconds last{0};             // keep only the last of a program; 0: all of it
  Trigger trigger{};
  std::uint32_t most_triggered = 3;  // runs that the trigger keeps
  KeepSignal keep_signal{};
  bool is_quiet = false;
  // Begins inside the process's first call of CUDA: nothing was allocated before.
  bool is_from_the_start = false;
  bool has_note = true;  // leave a file that says why this process could not be recorded
};

// A field of Options that the user chooses. Its value in Options() holds unless it is given.
using OptionField =
    std::variant<Detail Options::*, bool Options::*, CaptureRange Options::*, std::chrono::milliseconds Options::*,
                 std::uint64_t Options::*, std::uint32_t Options::*, Trigger Options::*, KeepSignal Options::*>;
// Where the C interface, and so Python, has it, if it does.
using OptionInC = std::variant<std::monostate, std::uint32_t TurnpikeOptions::*, std::uint64_t TurnpikeOptions::*>;

struct Option {
  const char* name;  // the keyword in Python
  OptionField field;
  const char* variable;    // of the environment
  const char* argument;    // of `turnpike record`; for a bool, the flag that reverses it
  const char* value_name;  // of the argument; nullptr for a flag
  const char* help;        // lines of at most 68 characters
  OptionInC in_c{};
  bool is_inherited = false;  // not given: the variable stays as the environment has it
  bool is_for_attach = true;  // `turnpike attach` has it, too

  constexpr bool is_in_c() const noexcept { return in_c.index() != 0; }
};

// The C interface has a number for values of these types.
template <typename Value>
constexpr bool kFitsC =
    std::is_same_v<Value, bool> || std::is_same_v<Value, Detail> || std::is_same_v<Value, std::uint64_t>;

std::span<const Option> all_options() noexcept;

const char* name_of(Detail detail) noexcept;
std::optional<Detail> detail_of(std::string_view name);
std::string text_of(const CaptureRange& range);  // "": the whole run
std::optional<CaptureRange> capture_range_of(std::string_view text);
// "step > 1.5 x median", "step > 200 ms". The Error says what is wrong, and where in the text.
Result<Trigger> trigger_of(std::string_view text);
// "USR2", "SIGUSR2", "off". nullopt: neither that nor a signal that may be used.
std::optional<KeepSignal> keep_signal_of(std::string_view text);
std::string text_of(KeepSignal signal);
// "1 GB": of a file. The Error says what is wrong with the text, which it does not quote.
Result<std::uint64_t> max_bytes_of(std::string_view text);

// The variables that hand the options to an injected process; those without a value are to be removed.
std::vector<std::pair<std::string, std::optional<std::string>>> environment_of(const Options& options);
// From these variables. Values that mean nothing are taken as if they were not set: the command line has checked them
// before.
Options options_from_environment();
// The same from other values: `value_of` returns nullptr for a variable that is not set.
Options options_from(const std::function<const char*(const char*)>& value_of);

// Valid as long as `options`.
TurnpikeOptions to_c(const Options& options);
Options from_c(const TurnpikeOptions& given);

}  // namespace turnpike::record
