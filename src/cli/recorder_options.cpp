// Texts to values, with what is wrong with a text.
#include "cli/recorder_options.h"

#include <cmath>
#include <functional>
#include <string>
#include <variant>

namespace turnpike::cli {
namespace {

std::string check_max_size(const std::string& text) {
  const auto bytes = record::max_bytes_of(text);
  return bytes ? "" : "'" + text + "' " + bytes.error().message;
}

std::string check_capture_range(const std::string& text) {
  return record::capture_range_of(text) ? "" : "'" + text + "' is neither cuda-profiler-api nor nvtx:NAME";
}

std::string check_trigger(const std::string& text) {
  const auto trigger = record::trigger_of(text);
  return trigger ? "" : "'" + text + "' " + trigger.error().message;
}

std::string check_signal(const std::string& text) {
  return record::keep_signal_of(text) ? "" : "'" + text + "' is none of USR1, USR2, HUP and off";
}

std::string check_count(const std::string& text) {
  std::uint32_t count = 0;
  return parse_number(text, count) && count > 0 ? "" : "'" + text + "' is no number from 1 on";
}

// At least the millisecond that is passed on; NaN is no number of seconds.
std::string check_seconds(const std::string& text) {
  double seconds = 0;
  const bool is_number = parse_number(text, seconds);
  return is_number && seconds >= 0.001 && seconds <= 1e9 ? "" : "'" + text + "' is no number of seconds from 0.001 on";
}

// One call for each type of a value.
struct OptionAdder {
  Command app;
  const record::Option& option;
  record::Options& options;

  void operator()(bool record::Options::* field) const {
    Command command = app;
    command.add_flag(
        option.argument, [&to = options.*field, given = !(record::Options().*field)] { to = given; }, option.help);
  }
  void operator()(record::Detail record::Options::* field) const {
    add([&to = options.*field](const std::string& text) { to = record::detail_of(text).value(); })
        .one_of({record::name_of(record::Detail::kFull), record::name_of(record::Detail::kTransfers)},
                /*is_listed=*/false);
  }
  void operator()(record::CaptureRange record::Options::* field) const {
    add([&to = options.*field](const std::string& text) {
      to = record::capture_range_of(text).value();
    }).check(check_capture_range);
  }
  void operator()(std::chrono::milliseconds record::Options::* field) const {
    add([&to = options.*field](const std::string& text) {
      double seconds = 0;
      parse_number(text, seconds);
      to = std::chrono::milliseconds(std::llround(seconds * 1000));
    }).check(check_seconds);
  }
  void operator()(std::uint64_t record::Options::* field) const {
    add([&to = options.*field](const std::string& text) {
      to = record::max_bytes_of(text).value();
    }).check(check_max_size);
  }
  void operator()(std::uint32_t record::Options::* field) const {
    add([&to = options.*field](const std::string& text) { parse_number(text, to); }).check(check_count);
  }
  void operator()(record::Trigger record::Options::* field) const {
    add([&to = options.*field](const std::string& text) {
      to = record::trigger_of(text).value();
    }).check(check_trigger);
  }
  void operator()(record::KeepSignal record::Options::* field) const {
    add([&to = options.*field](const std::string& text) {
      to = record::keep_signal_of(text).value();
    }).check(check_signal);
  }

 private:
  Option add(const std::function<void(const std::string&)>& take) const {
    Command command = app;
    return command.add_option_function(option.argument, take, option.help).type_name(option.value_name);
  }
};

}  // namespace

void add_recorder_option(Command app, const record::Option& option, record::Options& options) {
  std::visit(OptionAdder{app, option, options}, option.field);
}

}  // namespace turnpike::cli
