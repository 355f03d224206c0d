#include "cli/command_line.h"

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <utility>

#include "cli/message.h"

namespace turnpike::cli {
namespace {

// Without what an option needs and excludes: that crowds the help, and who mixes them is told.
class PlainFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    std::string text = option->get_type_name().empty() ? "" : " " + option->get_type_name();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
    return option->get_required() ? text + " REQUIRED" : text;
  }
};

class FixedUsage : public PlainFormatter {
 public:
  explicit FixedUsage(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: " + usage_ + '\n'; }

 private:
  std::string usage_;
};

std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  const CLI::App* used = app->get_subcommands().empty() ? app : app->get_subcommands().front();
  const std::string name = used == app ? "turnpike" : "turnpike " + used->get_name();
  return printable(name + ": " + error.what()) + "\nSee `" + name + " --help`.\n";
}

}  // namespace

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::description(const std::string& text) {
  option_->description(text);
  return *this;
}

Option& Option::required(bool is_required) {
  option_->required(is_required);
  return *this;
}

Option& Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::delimiter(char separator) {
  option_->delimiter(separator);
  return *this;
}

Option& Option::repeatable() {
  option_->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Option& Option::at_most_one() {
  option_->expected(0, 1);
  return *this;
}

Option& Option::check(const Check& check) {
  option_->check(check);
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values, bool is_listed) {
  CLI::Validator check = CLI::IsMember(values);
  if (!is_listed) check.description("");
  option_->check(check);
  return *this;
}

Option& Option::range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::range(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

std::string Option::name() const {
  return option_->get_name();
}

bool Option::is_given() const {
  return option_->count() > 0;
}

Command Command::add_subcommand(const std::string& name, const std::string& about) {
  return Command(*app_->add_subcommand(name, about));
}

Option Command::add_flag(const std::string& names, bool& is_given, const std::string& about) {
  return Option(app_->add_flag(names, is_given, about));
}

Option Command::add_flag(const std::string& names, const std::function<void()>& take, const std::string& about) {
  return Option(app_->add_flag_callback(names, take, about));
}

template <typename Value>
Option Command::add_option(const std::string& names, Value& value, const std::string& about) {
  return Option(app_->add_option(names, value, about));
}

template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, std::filesystem::path&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::filesystem::path>&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<pid_t>&, const std::string&);
template Option Command::add_option(const std::string&, std::size_t&, const std::string&);
template Option Command::add_option(const std::string&, std::uint16_t&, const std::string&);
template Option Command::add_option(const std::string&, double&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<int>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<double>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::size_t>&, const std::string&);

Option Command::add_option_function(const std::string& names, const std::function<void(const std::string&)>& take,
                                    const std::string& about) {
  return Option(app_->add_option_function<std::string>(names, take, about));
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}

void Command::usage(const std::string& text) {
  app_->formatter(std::make_shared<FixedUsage>(text));
}

void Command::callback(const std::function<void()>& run) {
  app_->callback(run);
}

void Command::allow_extras() {
  app_->allow_extras();
}

void Command::prefix_command() {
  app_->allow_extras();
  app_->prefix_command();
}

void Command::subcommand_is_optional() {
  app_->require_subcommand(0, 1);
}

std::string Command::name() const {
  return app_->get_name();
}

std::string Command::about() const {
  return app_->get_description();
}

std::vector<Command> Command::subcommands() const {
  const auto found = app_->get_subcommands([](CLI::App*) { return true; });
  std::vector<Command> commands;
  for (CLI::App* const one : found) commands.emplace_back(*one);
  return commands;
}

bool Command::calls_subcommand() const {
  return !app_->get_subcommands().empty();
}

std::vector<std::string> Command::remaining() const {
  return app_->remaining();
}

std::vector<Option> Command::options() const {
  std::vector<Option> options;
  for (CLI::Option* const one : app_->get_options()) options.emplace_back(one);
  return options;
}

Option Command::option(const std::string& name) const {
  return Option(app_->get_option(name));
}

std::string Command::help() const {
  return app_->help();
}

bool parse_number(const std::string& text, double& number) {
  return CLI::detail::lexical_cast(text, number);
}

bool parse_number(const std::string& text, std::uint32_t& number) {
  return CLI::detail::lexical_cast(text, number);
}

CommandLine::CommandLine(const std::string& about, const std::string& version, const std::string& footer)
    : app_(std::make_unique<CLI::App>(about)) {
  app_->name("turnpike");
  app_->set_version_flag("-V,--version", version, "Print the version and exit");
  app_->footer(footer);
  app_->formatter(std::make_shared<PlainFormatter>());
  app_->get_formatter()->column_width(24);
  app_->failure_message(usage_error);
}

CommandLine::~CommandLine() = default;

Command CommandLine::turnpike() {
  return Command(*app_);
}

Parsed CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Through the one stream whose errors are looked at in the end.
    std::ostringstream text;
    const int code = app_->exit(error, text, std::cerr);
    std::fputs(text.str().c_str(), stdout);
    return code == 0 ? Parsed::kHelped : Parsed::kWrongUsage;
  }
  return Parsed::kCalled;
}

}  // namespace turnpike::cli
