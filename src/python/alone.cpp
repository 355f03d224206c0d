// By the frames that threads have, and the names of their Thread objects. Makes nothing that has the garbage collector
// run, which may run code of Python, once it has seen the frames.
#include "python/alone.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace turnpike::python {
namespace {

// Threads of libraries that only wait, write or draw.
constexpr std::array<std::string_view, 4> kNames{"QueueFeederThread", "IOPub", "Heartbeat", "Control"};
constexpr std::array<std::string_view, 2> kClasses{"TMonitor", "HistorySavingThread"};

template <typename Texts>
bool is_among(const Texts& texts, nb::handle text) {
  return std::find(texts.begin(), texts.end(), nb::cast<std::string>(text)) != texts.end();
}

bool is_harmless(nb::handle thread) {
  return is_among(kNames, thread.attr("_name")) || is_among(kClasses, thread.type().attr("__name__"));
}

nb::handle module_or_null(const char* name) {
  return PyDict_GetItemString(PyImport_GetModuleDict(), name);
}

}  // namespace

bool is_alone() {
  const nb::handle engine = module_or_null("turnpike._move.engine");
  if (engine.is_valid() && !engine.attr("_engine").is_none()) return false;
  const nb::handle threading = module_or_null("threading");
  const nb::handle current_frames = PySys_GetObject("_current_frames");
  if (!threading.is_valid() || !current_frames.is_valid()) return false;
  const auto threads = nb::cast<nb::dict>(threading.attr("_active"));
  const auto own = nb::cast(PyThread_get_thread_ident());
  // A thread without a frame needs the GIL for its first one, or is no thread of Python.
  for (const auto& [thread, frame] : nb::cast<nb::dict>(current_frames())) {
    if (thread.equal(own)) continue;
    const nb::handle known = PyDict_GetItem(threads.ptr(), thread.ptr());
    if (!known.is_valid() || !is_harmless(known)) return false;
  }
  return true;
}

}  // namespace turnpike::python
