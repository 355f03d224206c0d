// The table of options, and how the environment and the C interface write them.
#include "record/options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/quantity.h"

namespace turnpike::record {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kCudaProfilerApi = "cuda-profiler-api";
constexpr std::string_view kNvtxPrefix = "nvtx:";
constexpr long long kLongestMs = 1'000'000'000'000;  // its nanoseconds fit 64 bits

constexpr Option kOptions[] = {
    {.name = "detail",
     .field = &Options::detail,
     .variable = "TURNPIKE_DETAIL",
     .argument = "--detail",
     .value_name = "full|transfers",
     .help = "full (default): copies, synchronisations, kernels and launches\n"
             "transfers: no kernels; cheapest, but the report cannot say what ran\n"
             "during the copies",
     .in_c = &TurnpikeOptions::detail},
    {.name = "stacks",
     .field = &Options::has_stacks,
     .variable = "TURNPIKE_STACKS",
     .argument = "--no-stacks",
     .value_name = nullptr,
     .help = "Do not record which line made each call",
     .in_c = &TurnpikeOptions::stacks},
    {.name = "source",
     .field = &Options::has_source,
     .variable = "TURNPIKE_SOURCE",
     .argument = "--no-source",
     .value_name = nullptr,
     .help = "Keep no source code in the recording",
     .in_c = &TurnpikeOptions::source},
    {.name = "verify_content",
     .field = &Options::is_content_verified,
     .variable = "TURNPIKE_VERIFY_CONTENT",
     .argument = "--verify-content",
     .value_name = nullptr,
     .help = "Compare all bytes of each transfer, not samples, to find data that is\n"
             "transferred twice; the program waits 0.2 ms for each MiB",
     .in_c = &TurnpikeOptions::verify_content},
    {.name = "capture_range",
     .field = &Options::capture_range,
     .variable = "TURNPIKE_CAPTURE_RANGE",
     .argument = "--capture-range",
     .value_name = "RANGE",
     .help = "cuda-profiler-api: record only from cudaProfilerStart to -Stop\n"
             "nvtx:NAME: record only inside NVTX ranges of that name"},
    {.name = "delay",
     .field = &Options::delay,
     .variable = "TURNPIKE_DELAY_MS",
     .argument = "--delay",
     .value_name = "SECONDS",
     .help = "Start recording this long after CUDA is initialised",
     .is_for_attach = false},
    {.name = "duration",
     .field = &Options::duration,
     .variable = "TURNPIKE_DURATION_MS",
     .argument = "--duration",
     .value_name = "SECONDS",
     .help = "Stop recording after this long; the program continues"},
    {.name = "max_size",
     .field = &Options::max_bytes,
     .variable = "TURNPIKE_MAX_BYTES",
     .argument = "--max-size",
     .value_name = "SIZE",
     .help = "Stop recording a process when its file has this size, as 500 MB\n"
             "(default: 16 GB); the program continues",
     .in_c = &TurnpikeOptions::max_bytes},
    {.name = "link_traffic",
     .field = &Options::has_link_traffic,
     .variable = "TURNPIKE_LINK_TRAFFIC",
     .argument = "--no-link-traffic",
     .value_name = nullptr,
     .help = "Do not ask the GPUs, five times a second, what their links carry"},
    {.name = "last",
     .field = &Options::last,
     .variable = "TURNPIKE_LAST_MS",
     .argument = "--last",
     .value_name = "SECONDS",
     .help = "Record all the time, but keep only the last SECONDS of each process:\n"
             "at its end or crash, on a signal, a slow step, or turnpike.keep();\n"
             "the detail is then transfers unless --detail full is given",
     .is_for_attach = false},
    {.name = "trigger",
     .field = &Options::trigger,
     .variable = "TURNPIKE_TRIGGER",
     .argument = "--trigger",
     .value_name = "WHEN",
     .help = "With --last: keep a copy, NAME-1.tpk, after a slow step:\n"
             "\"step > 1.5 x median\" or \"step > 200 ms\"",
     .is_for_attach = false},
    {.name = "keep",
     .field = &Options::most_triggered,
     .variable = "TURNPIKE_KEEP",
     .argument = "--keep",
     .value_name = "COUNT",
     .help = "How many copies --trigger keeps, the first ones (default: 3)",
     .is_for_attach = false},
    {.name = "signal",
     .field = &Options::keep_signal,
     .variable = "TURNPIKE_SIGNAL",
     .argument = "--signal",
     .value_name = "NAME|off",
     .help = "With --last: keep a copy when this signal is sent to `turnpike record`\n"
             "or to a recorded process (default: USR2)",
     .is_for_attach = false},
    {.name = "quiet",
     .field = &Options::is_quiet,
     .variable = "TURNPIKE_QUIET",
     .argument = "--quiet",
     .value_name = nullptr,
     .help = "Print nothing: no status line, no summary, no notices",
     .is_inherited = true},
};

// The text of a variable, by the type of the field. nullopt: none, which means the default.
std::optional<std::string> to_text(Detail value, Detail) {
  return name_of(value);
}
std::optional<std::string> to_text(bool value, bool unless_given) {
  if (value) return "1";
  return unless_given ? std::optional<std::string>("0") : std::nullopt;
}
std::optional<std::string> to_text(const CaptureRange& value, const CaptureRange&) {
  return value.kind == CaptureRange::Kind::kWholeRun ? std::nullopt : std::optional(text_of(value));
}
std::optional<std::string> to_text(milliseconds value, milliseconds) {
  return value.count() > 0 ? std::optional(std::to_string(value.count())) : std::nullopt;
}

std::optional<std::string> to_text(std::uint64_t value, std::uint64_t unless_given) {
  return value != unless_given ? std::optional(std::to_string(value)) : std::nullopt;
}

std::optional<std::string> to_text(std::uint32_t value, std::uint32_t unless_given) {
  return value != unless_given ? std::optional(std::to_string(value)) : std::nullopt;
}
std::optional<std::string> to_text(const Trigger& value, const Trigger&) {
  return value.is_set() ? std::optional(value.text) : std::nullopt;
}
std::optional<std::string> to_text(KeepSignal value, KeepSignal unless_given) {
  return value.number != unless_given.number ? std::optional(text_of(value)) : std::nullopt;
}

void from_text(const std::string& text, Detail& value) {
  value = detail_of(text).value_or(value);
}
void from_text(const std::string& text, bool& value) {
  if (text == "0" || text == "1") value = text == "1";
}
void from_text(const std::string& text, CaptureRange& value) {
  value = capture_range_of(text).value_or(value);
}
void from_text(const std::string& text, milliseconds& value) {
  value = milliseconds(std::clamp(std::atoll(text.c_str()), 0LL, kLongestMs));
}

void from_text(const std::string& text, std::uint64_t& value) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed == std::errc() && end == text.data() + text.size() && number > 0) value = number;
}

void from_text(const std::string& text, std::uint32_t& value) {
  std::uint64_t number = 0;
  from_text(text, number);
  if (number > 0 && number <= UINT32_MAX) value = static_cast<std::uint32_t>(number);
}
void from_text(const std::string& text, Trigger& value) {
  if (auto trigger = trigger_of(text)) value = std::move(*trigger);
}
void from_text(const std::string& text, KeepSignal& value) {
  value = keep_signal_of(text).value_or(value);
}

// Reads a condition word by word.
class TriggerText {
 public:
  explicit TriggerText(std::string_view text) : text_(text) {}

  bool take(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::optional<double> take_number() {
    skip_spaces();
    double number = 0;
    const auto [end, failed] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (failed != std::errc() || !(number > 0) || number > 1e9) return std::nullopt;
    at_ = static_cast<std::size_t>(end - text_.data());
    return number;
  }
  bool is_at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  Error expected(const std::string& what) {
    skip_spaces();
    const std::string found = at_ == text_.size() ? "its end" : "'" + std::string(text_.substr(at_)) + "'";
    return Error{"is no condition: at " + found + " (character " + std::to_string(at_ + 1) + ") there should be " +
                 what + ", as in: step > 1.5 x median, or step > 200 ms"};
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct NamedSignal {
  const char* name;
  int number;
};
// Those that end a program by default, and that nobody sends but for a purpose of the program's.
constexpr NamedSignal kKeepSignals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"off", 0}};

constexpr bool fits_c(const Option& option) {
  return std::visit([]<typename Value>(Value Options::*) { return kFitsC<Value>; }, option.field);
}
static_assert(std::ranges::all_of(kOptions, [](const Option& option) { return !option.is_in_c() || fits_c(option); }));

void from_number(std::uint64_t number, Detail& value) {
  value = number == TURNPIKE_DETAIL_TRANSFERS ? Detail::kTransfers : Detail::kFull;
}
void from_number(std::uint64_t number, bool& value) {
  value = number != 0;
}
void from_number(std::uint64_t number, std::uint64_t& value) {
  if (number != 0) value = number;
}

// Calls `visit(member of TurnpikeOptions, member of Options)` for an option that both have.
template <typename Visit>
void visit_in_c(const Option& option, const Visit& visit) {
  std::visit(
      [&]<typename InC, typename Value>(InC in_c, Value Options::* field) {
        if constexpr (kFitsC<Value> && !std::is_same_v<InC, std::monostate>) visit(in_c, field);
      },
      option.in_c, option.field);
}

}  // namespace

std::span<const Option> all_options() noexcept {
  return kOptions;
}

const char* name_of(Detail detail) noexcept {
  return detail == Detail::kTransfers ? "transfers" : "full";
}

std::optional<Detail> detail_of(std::string_view name) {
  for (const Detail detail : {Detail::kTransfers, Detail::kFull}) {
    if (name == name_of(detail)) return detail;
  }
  return std::nullopt;
}

std::string text_of(const CaptureRange& range) {
  switch (range.kind) {
    case CaptureRange::Kind::kWholeRun:
      return "";
    case CaptureRange::Kind::kCudaProfilerApi:
      return std::string(kCudaProfilerApi);
    case CaptureRange::Kind::kNvtx:
      return std::string(kNvtxPrefix) + range.nvtx_name;
  }
  return "";
}

std::optional<CaptureRange> capture_range_of(std::string_view text) {
  if (text == kCudaProfilerApi) return CaptureRange{CaptureRange::Kind::kCudaProfilerApi};
  if (!text.starts_with(kNvtxPrefix) || text == kNvtxPrefix) return std::nullopt;
  return CaptureRange{CaptureRange::Kind::kNvtx, std::string(text.substr(kNvtxPrefix.size()))};
}

Result<Trigger> trigger_of(std::string_view text) {
  constexpr double kMostMs = 1e9;
  TriggerText rest(text);
  if (!rest.take("step")) return rest.expected("the word step");
  if (!rest.take(">")) return rest.expected("the sign >");
  const auto number = rest.take_number();
  if (!number) return rest.expected("a number above 0");
  Trigger trigger{.text = std::string(text)};
  if (rest.take("x") || rest.take("*")) {
    if (!rest.take("median")) return rest.expected("the word median");
    if (*number <= 1) return Error{"would keep every second step: the number before 'x median' must be above 1"};
    trigger.medians = *number;
  } else {
    const double unit_ms = rest.take("ms") ? 1 : rest.take("us") ? 1e-3 : rest.take("s") ? 1e3 : 0;
    if (unit_ms == 0) return rest.expected("'x median', or a unit: us, ms or s");
    if (*number * unit_ms > kMostMs) return rest.expected("its end: the time is too long");
    trigger.longer_than = std::chrono::nanoseconds(static_cast<std::int64_t>(*number * unit_ms * 1e6));
  }
  if (!rest.is_at_end()) return rest.expected("its end");
  return trigger;
}

std::optional<KeepSignal> keep_signal_of(std::string_view text) {
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (const auto& [name, number] : kKeepSignals) {
    if (text == name) return KeepSignal{number};
  }
  return std::nullopt;
}

std::string text_of(KeepSignal signal) {
  for (const auto& [name, number] : kKeepSignals) {
    if (number == signal.number) return name;
  }
  return "off";
}

Result<std::uint64_t> max_bytes_of(std::string_view text) {
  constexpr double kLeast = 1e6;
  constexpr double kMost = 1e18;
  const auto size = parse_size(text);
  if (!size) return Error{size.error().message};
  if (*size < kLeast || *size > kMost) return Error{"is not between 1 MB and 1000000 TB"};
  return static_cast<std::uint64_t>(*size);
}

std::vector<std::pair<std::string, std::optional<std::string>>> environment_of(const Options& options) {
  const Options unless_given;
  std::vector<std::pair<std::string, std::optional<std::string>>> variables = {
      {TURNPIKE_ENV_RUN, options.run_directory.empty() ? std::nullopt : std::optional(options.run_directory)}};
  for (const Option& option : kOptions) {
    auto text = std::visit([&](auto field) { return to_text(options.*field, unless_given.*field); }, option.field);
    if (text || !option.is_inherited) variables.emplace_back(option.variable, std::move(text));
  }
  return variables;
}

Options options_from_environment() {
  return options_from([](const char* variable) -> const char* { return std::getenv(variable); });
}

Options options_from(const std::function<const char*(const char*)>& value_of) {
  Options options;
  if (const char* run = value_of(TURNPIKE_ENV_RUN); run != nullptr) options.run_directory = run;
  for (const Option& option : kOptions) {
    const char* text = value_of(option.variable);
    if (text != nullptr) std::visit([&](auto field) { from_text(text, options.*field); }, option.field);
  }
  return options;
}

TurnpikeOptions to_c(const Options& options) {
  TurnpikeOptions given{};
  given.struct_bytes = sizeof(TurnpikeOptions);
  given.run_directory = options.run_directory.c_str();
  for (const Option& option : kOptions) {
    visit_in_c(option, [&]<typename Number>(Number TurnpikeOptions::* in_c, auto field) {
      given.*in_c = static_cast<Number>(options.*field);
    });
  }
  return given;
}

Options from_c(const TurnpikeOptions& given) {
  Options options;
  options.run_directory = given.run_directory;
  for (const Option& option : kOptions) {
    visit_in_c(option, [&](auto in_c, auto field) { from_number(given.*in_c, options.*field); });
  }
  return options;
}

}  // namespace turnpike::record
