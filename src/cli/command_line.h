// The command line as the subcommands describe it. CLI11 does the work, behind this header: its templates take longer
// to compile than all of the subcommands, so one source has them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): its name
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace turnpike::cli {

// What is wrong with a text, "" if nothing is.
using Check = std::function<std::string(const std::string&)>;

// An option, flag or argument of a command. Copies are the same option, which lives as long as the command.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  // What help calls the value; "": nothing.
  Option& type_name(const std::string& name);
  Option& description(const std::string& text);
  Option& required(bool is_required = true);
  Option& excludes(Option other);
  Option& needs(Option other);
  // Several values in one text.
  Option& delimiter(char separator);
  Option& at_most_one();
  // One value each time that the option is given.
  Option& repeatable();

  Option& check(const Check& check);
  // Help lists the values if `is_listed`.
  Option& one_of(const std::vector<std::string>& values, bool is_listed = true);
  Option& range(int least, int most);
  Option& range(double least, double most);

  std::string name() const;
  bool is_given() const;

 private:
  CLI::Option* option_;
};

// `turnpike` itself or a subcommand. Copies are the same command, which lives as long as the command line.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  Command add_subcommand(const std::string& name, const std::string& about);
  Option add_flag(const std::string& names, bool& is_given, const std::string& about);
  Option add_flag(const std::string& names, const std::function<void()>& take, const std::string& about);
  // `value` gets what is given, and must live until the command line is parsed. Value: std::string,
  // std::filesystem::path, a vector of these, std::size_t, std::uint16_t, double, std::optional<int>,
  // std::optional<double>, std::optional<std::size_t> or std::vector<pid_t>; command_line.cpp has the list.
  template <typename Value>
  Option add_option(const std::string& names, Value& value, const std::string& about);
  Option add_option_function(const std::string& names, const std::function<void(const std::string&)>& take,
                             const std::string& about);

  // What help ends with.
  void footer(const std::string& text);
  // In place of what help says of the usage.
  void usage(const std::string& text);
  // Runs when the command was called and its options are fine.
  void callback(const std::function<void()>& run);
  // Leaves what is no option of the command in remaining().
  void allow_extras();
  // The same from the first such word on, options too.
  void prefix_command();
  // At most one of its subcommands may be called, or none.
  void subcommand_is_optional();

  std::string name() const;
  std::string about() const;
  std::vector<Command> subcommands() const;
  bool calls_subcommand() const;
  std::vector<std::string> remaining() const;
  std::vector<Option> options() const;
  // Throws if the command has no such option.
  Option option(const std::string& name) const;
  std::string help() const;

 private:
  CLI::App* app_;
};

// Whether the whole text is such a number.
bool parse_number(const std::string& text, double& number);
bool parse_number(const std::string& text, std::uint32_t& number);

enum class Parsed { kCalled, kHelped, kWrongUsage };

// `turnpike` with all of its subcommands.
class CommandLine {
 public:
  CommandLine(const std::string& about, const std::string& version, const std::string& footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command turnpike();
  // Calls the subcommand that is named, or prints the help or version that was asked for, or says what is wrong.
  Parsed parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace turnpike::cli
