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
     .help = "Start recording this long after CUDA is initialised"},
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
      {TURNPIKE_ENV_RUN, options.run_directory}};
  for (const Option& option : kOptions) {
    auto text = std::visit([&](auto field) { return to_text(options.*field, unless_given.*field); }, option.field);
    if (text || !option.is_inherited) variables.emplace_back(option.variable, std::move(text));
  }
  return variables;
}

Options options_from_environment() {
  Options options;
  if (const char* run = std::getenv(TURNPIKE_ENV_RUN); run != nullptr) options.run_directory = run;
  for (const Option& option : kOptions) {
    const char* text = std::getenv(option.variable);
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
