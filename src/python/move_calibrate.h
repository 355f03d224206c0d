// The bindings of calibration and of the settings that are kept for this machine.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>

#include "move/calibrate.h"

namespace turnpike::python {

// threads, chunk_bytes, pinned_bytes
using SettingsTuple = std::tuple<unsigned int, std::size_t, std::size_t>;
SettingsTuple to_tuple(const move::Settings& settings);

// Measures with the engine, keeps what it found and returns it as a dict. `progress`: called with (done, all), or None.
nanobind::dict calibrate(move::Engine& engine, int device, const nanobind::object& progress);

// The settings kept for this machine and GPU; none where there are none.
std::optional<SettingsTuple> kept_settings(const std::string& device_name);

}  // namespace turnpike::python
