// The extension turnpike._core: conversions between Python and the C++ of Turnpike, and nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/analyze.h"
#include "base/text.h"
#include "ingest/run_reader.h"
#include "machine/link_rates.h"
#include "python/error.h"
#include "python/gil.h"
#include "python/move.h"
#include "python/recorder.h"
#include "python/table.h"
#include "record/options.h"
#include "report/html/overview.h"
#include "report/html/page.h"
#include "report/json/json.h"
#include "report/text/incomplete.h"
#include "report/text/terminal.h"
#include "report/text/text_width.h"
#include "trace/newest_run.h"

namespace nb = nanobind;

namespace turnpike::python {
namespace {

void warn(const std::string& message) {
  const std::string text = cleaned(message);
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 2) != 0) throw nb::python_error();
}

constexpr std::chrono::milliseconds kPause{50};

// Lets Ctrl-C and the program's own handlers in while a run is read. Now and then: to ask takes the GIL.
trace::Progress signal_watch() {
  return [asked = std::chrono::steady_clock::now()](std::uint64_t, std::uint64_t) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now - asked < kPause) return;
    asked = now;
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
}

analyze::Report analyze(const std::vector<std::filesystem::path>& paths) {
  const auto rates = machine::kept_link_rates();
  analyze::Report report;
  {
    const nb::gil_scoped_release without_gil;
    report = value_or_throw(analyze::analyze_run(paths, {.kind_of = ingest::kind_of, .read = ingest::read_file},
                                                 rates ? *rates : analyze::LinkRates(), signal_watch()));
    const analyze::InputRemarks& inputs = report.source.inputs;
    if (inputs.is_input_missing) throw PythonError(joined(inputs.unreadable, " "));
  }
  // The report stands without these: warnings, as the command line gives them.
  if (!rates) warn(rates.error().message);
  for (const std::string& sentence : report.source.inputs.unreadable) warn(sentence);
  for (const std::string& note : report.source.inputs.notes) warn(note);
  if (report.source.inputs.is_incomplete()) warn(report::incomplete_sentence(report.source.inputs));
  return report;
}

// Of a run into which nothing could be recorded.
analyze::Report nothing_recorded(const std::string& path, const std::string& reason) {
  analyze::Report report;
  report.source.kind = "turnpike";
  report.source.paths = {path};
  report.source.unusable = {reason};
  report.verdict.why = "Nothing was recorded: " + reason + ".";
  return report;
}

// Hands bytes to a function of Python in large pieces: each call takes the GIL.
class PythonOutput {
 public:
  explicit PythonOutput(nb::callable& write) : write_(write) {}

  void add(std::string_view bytes) {
    bytes_ += bytes;
    if (bytes_.size() >= kPieceBytes) flush();
  }
  void flush() {
    const nb::gil_scoped_acquire gil;
    write_(nb::bytes(bytes_.data(), bytes_.size()));
    bytes_.clear();
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

  nb::callable& write_;
  std::string bytes_;
};

// By the names of the options of `turnpike report`, or "all".
report::Sections sections_of(const std::vector<std::string>& names, std::size_t top) {
  report::Sections sections;
  for (const std::string& name : names) {
    if (name == "all") return report::every_section();
    const auto section = report::section_named(name);
    if (!section) {
      std::string known;
      for (const auto& one : report::all_sections()) known += std::string(one.name) + ", ";
      throw PythonError("there is no \"" + name + "\" to show: choose of " + known + "or all.");
    }
    sections.insert(*section);
  }
  return top == report::kTableRows ? sections : report::with_tables(std::move(sections));
}

// Reads the run again: a report does not keep its events.
void write_page(const analyze::Report& report, const std::vector<std::filesystem::path>& paths, nb::callable write,
                bool has_source, bool redacts_paths, std::size_t max_events) {
  const auto rates = machine::kept_link_rates();
  PythonOutput output(write);
  const nb::gil_scoped_release without_gil;
  report::html::Page page({.has_source = has_source, .redacts_paths = redacts_paths, .max_events = max_events},
                          report.source.process_count);
  const analyze::Report again = value_or_throw(analyze::analyze_run(
      paths, {.kind_of = ingest::kind_of, .read = ingest::read_file}, rates ? *rates : analyze::LinkRates(),
      signal_watch(), [&](const analyze::ProcessView& view) { page.add(view); }));
  if (report::to_json(again) != report::to_json(report)) {
    throw PythonError("the run has changed since this report was made. Call turnpike.report again, then to_html.");
  }
  page.write(again, [&](std::string_view bytes) { output.add(bytes); });
  output.flush();
}

void from_python(nb::handle value, const char* name, bool& field) {
  if (!nb::isinstance<nb::bool_>(value)) throw nb::type_error((std::string(name) + " must be True or False").c_str());
  field = nb::cast<bool>(value);
}

void from_python(nb::handle value, const char* name, record::Detail& field) {
  const auto detail = nb::isinstance<nb::str>(value) ? record::detail_of(nb::cast<std::string>(value)) : std::nullopt;
  if (!detail) throw nb::value_error((std::string(name) + " must be \"full\" or \"transfers\"").c_str());
  field = *detail;
}

void from_python(nb::handle value, const char* name, std::uint64_t& field) {
  if (!nb::isinstance<nb::str>(value))
    throw nb::type_error((std::string(name) + " must be a text as \"1 GB\"").c_str());
  const auto text = nb::cast<std::string>(value);
  const auto bytes = record::max_bytes_of(text);
  if (!bytes) throw nb::value_error((std::string(name) + " \"" + text + "\" " + bytes.error().message).c_str());
  field = *bytes;
}

// Of the table of options, what the recorder's C interface has, too.
record::Options to_options(const nb::kwargs& given) {
  record::Options options;
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    const auto all = record::all_options();
    const auto option = std::find_if(all.begin(), all.end(),
                                     [&](const record::Option& one) { return one.is_in_c() && name == one.name; });
    if (option == all.end()) throw nb::type_error(("there is no option of recording " + name).c_str());
    std::visit(
        [&, value = nb::handle(value)]<typename Value>(Value record::Options::* field) {
          if constexpr (record::kFitsC<Value>) from_python(value, option->name, options.*field);
        },
        option->field);
  }
  return options;
}

void start(const std::string& library, const std::filesystem::path& run_directory, const nb::kwargs& given) {
  record::Options options = to_options(given);
  options.run_directory = run_directory.string();
  const nb::gil_scoped_release without_gil;
  const Status status = value_or_throw(Recorder::load(library)).start(options);
  if (!status) throw PythonError(status.error().message);
}

std::filesystem::path stop(const std::string& library) {
  const nb::gil_scoped_release without_gil;
  return value_or_throw(value_or_throw(Recorder::load(library)).stop());
}

void keep(const std::string& library, const std::string& reason) {
  const Status status = value_or_throw(Recorder::load(library)).keep(reason);
  if (!status) throw PythonError(status.error().message);
}

bool is_recording(const std::string& library) {
  return value_or_throw(Recorder::load(library)).is_recording();
}

}  // namespace
}  // namespace turnpike::python

NB_MODULE(_core, module) {
  using namespace turnpike;
  module.attr("__version__") = TURNPIKE_VERSION;
  nb::exception<python::PythonError>(module, "Error", PyExc_RuntimeError).attr("__module__") = "turnpike";

  // Reading a run and stopping can take seconds: other threads go on meanwhile.
  const nb::call_guard<nb::gil_scoped_release> without_gil;
  nb::class_<analyze::Report>(module, "Analysis")
      .def(
          "json",
          [](const analyze::Report& report) {
            const auto repository = report::Repository::here();
            return report::to_json(report, report::data_of_findings(report, &repository));
          },
          without_gil)
      .def(
          "text",
          [](const analyze::Report& report, std::size_t width, std::size_t top, const std::vector<std::string>& show) {
            return report::to_text(report, {.width = width, .has_colour = false, .top = top},
                                   python::sections_of(show, top));
          },
          nb::arg("width"), nb::arg("top"), nb::arg("show") = std::vector<std::string>{}, without_gil)
      .def(
          "overview",
          [](const analyze::Report& report, const std::string& path, const std::string& address) {
            return report::html::overview_html(report, {.path = path, .address = address});
          },
          nb::arg("path"), nb::arg("address"), without_gil)
      .def("write_page", &python::write_page, nb::arg("paths"), nb::arg("write"), nb::arg("has_source"),
           nb::arg("redacts_paths"), nb::arg("max_events"));
  module.def("analyze", &python::analyze, nb::arg("paths"));
  module.def("newest_run", &trace::newest_run_here);
  module.def("incomplete_reason", &report::incomplete_reason, nb::arg("losses"));
  module.def("nothing_recorded", &python::nothing_recorded, nb::arg("path"), nb::arg("reason"));
  module.def("start", &python::start, nb::arg("library"), nb::arg("run_directory"), nb::arg("options"));
  module.def("stop", &python::stop, nb::arg("library"));
  module.def("keep", &python::keep, nb::arg("library"), nb::arg("reason"), without_gil);
  module.def("is_recording", &python::is_recording, nb::arg("library"), without_gil);
  python::bind_move(module);
  python::bind_table(module);
}
