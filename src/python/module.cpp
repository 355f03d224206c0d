// The extension turnpike._core: conversions between Python and the C++ of Turnpike, and nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "analyze/analyze.h"
#include "ingest/run_reader.h"
#include "python/error.h"
#include "python/move.h"
#include "python/recorder.h"
#include "record/session.h"
#include "report/json.h"
#include "report/link_rates.h"
#include "report/terminal.h"

namespace nb = nanobind;

namespace turnpike::python {
namespace {

analyze::Report analyze(const std::vector<std::filesystem::path>& paths) {
  const auto rates = report::kept_link_rates();
  analyze::Report report;
  {
    const nb::gil_scoped_release without_gil;
    report = value_or_throw(analyze::analyze_run(paths, {.kind_of = ingest::kind_of, .read = ingest::read_file},
                                                 rates ? *rates : analyze::LinkRates()));
    if (rates) report::add_link_rates(report, *rates);
  }
  // The report stands without the rates: a warning, as the command line gives one.
  if (!rates && PyErr_WarnEx(PyExc_RuntimeWarning, rates.error().message.c_str(), 2) != 0) throw nb::python_error();
  return report;
}

std::uint32_t to_detail(const std::string& name) {
  if (name == "full") return TURNPIKE_DETAIL_FULL;
  if (name == "transfers") return TURNPIKE_DETAIL_TRANSFERS;
  throw nb::value_error("detail must be \"full\" or \"transfers\"");
}

void start(const std::string& library, const std::string& run_directory, const std::string& detail, bool has_stacks,
           bool is_content_verified) {
  const Recorder recorder = value_or_throw(Recorder::load(library));
  const Status status = recorder.start(
      run_directory,
      {.detail = to_detail(detail), .has_stacks = has_stacks, .is_content_verified = is_content_verified});
  if (!status) throw PythonError(status.error().message);
}

std::string stop(const std::string& library) {
  return value_or_throw(value_or_throw(Recorder::load(library)).stop());
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
          "json", [](const analyze::Report& report) { return report::to_json(report); }, without_gil)
      .def(
          "text",
          [](const analyze::Report& report, std::size_t width, std::size_t top) {
            return report::to_text(report, {.width = width, .has_colour = false, .top = top});
          },
          nb::arg("width"), nb::arg("top"), without_gil);
  module.def("analyze", &python::analyze, nb::arg("paths"));
  module.def("start", &python::start, nb::arg("library"), nb::arg("run_directory"), nb::arg("detail"),
             nb::arg("stacks"), nb::arg("verify_content"), without_gil);
  module.def("stop", &python::stop, nb::arg("library"), without_gil);
  module.def("is_recording", &python::is_recording, nb::arg("library"), without_gil);
  python::bind_move(module);
}
