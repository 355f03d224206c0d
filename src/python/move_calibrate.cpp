// See move_calibrate.h.
#include "python/move_calibrate.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <exception>

#include "machine/kept_settings.h"
#include "python/error.h"
#include "python/gil.h"

namespace nb = nanobind;

namespace turnpike::python {
namespace {

nb::dict to_dict(const move::CalibrationPoint& point) {
  nb::dict dict;
  dict["threads"] = point.threads;
  dict["chunk_bytes"] = point.chunk_bytes;
  dict["h2d_gbps"] = point.h2d_gbps;
  dict["d2h_gbps"] = point.d2h_gbps;
  dict["store"] = move::name_of(point.store);
  return dict;
}

nb::dict to_dict(const move::Calibration& calibration) {
  nb::dict dict;
  dict["device"] = calibration.device;
  dict["device_name"] = nb::str(calibration.device_name.c_str());
  dict["h2d_pinned_gbps"] = calibration.h2d_pinned_gbps;
  dict["d2h_pinned_gbps"] = calibration.d2h_pinned_gbps;
  dict["h2d_gbps"] = calibration.best.h2d_gbps;
  dict["d2h_gbps"] = calibration.best.d2h_gbps;
  dict["settings"] = to_tuple(calibration.settings);
  nb::list points;
  for (const move::CalibrationPoint& point : calibration.points) points.append(to_dict(point));
  dict["points"] = points;
  return dict;
}

}  // namespace

SettingsTuple to_tuple(const move::Settings& settings) {
  return {settings.threads, settings.chunk_bytes, settings.pinned_bytes, settings.gatherers,
          move::name_of(settings.store)};
}

move::Settings to_settings(const nb::tuple& tuple, const move::Settings& others) {
  if (tuple.size() < 3 || tuple.size() > 5) throw nb::value_error("settings are a tuple of 3 to 5");
  move::Settings settings = others;
  settings.threads = nb::cast<unsigned int>(tuple[0]);
  settings.chunk_bytes = nb::cast<std::size_t>(tuple[1]);
  settings.pinned_bytes = nb::cast<std::size_t>(tuple[2]);
  if (tuple.size() > 3) settings.gatherers = nb::cast<unsigned int>(tuple[3]);
  if (tuple.size() > 4) {
    const auto store = move::store_of(nb::cast<std::string>(tuple[4]));
    if (!store) throw nb::value_error("a store is plain, streaming or string");
    settings.store = *store;
  }
  return settings;
}

nb::dict calibrate(move::Engine& engine, int device, const nb::object& progress) {
  // What the callback raises passes by the core, which knows no exceptions, and comes out at the end.
  std::exception_ptr raised;
  const auto tell = [&](std::size_t done, std::size_t all) {
    if (progress.is_none() || raised) return;
    const nb::gil_scoped_acquire with_gil;
    try {
      progress(done, all);
    } catch (...) {
      raised = std::current_exception();
    }
  };
  Result<move::Calibration> calibration = [&] {
    const WithoutGil without_gil;
    return move::calibrate(engine, device, tell);
  }();
  if (raised) std::rethrow_exception(raised);
  const move::Calibration found = value_or_throw(std::move(calibration));
  throw_unless_ok(machine::keep_settings(found));
  return to_dict(found);
}

std::optional<SettingsTuple> kept_settings(const std::string& device_name) {
  const auto settings = value_or_throw(machine::kept_settings(device_name));
  if (!settings) return std::nullopt;
  return to_tuple(*settings);
}

}  // namespace turnpike::python
