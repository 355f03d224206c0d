// The bindings of calibration and of the settings that are kept for this machine.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>

#include "move/calibrate.h"

namespace turnpike::python {

// threads, chunk_bytes, pinned_bytes, gatherers, store ("plain", "streaming" or "string")
using SettingsTuple = std::tuple<unsigned int, std::size_t, std::size_t, unsigned int, std::string>;
SettingsTuple to_tuple(const move::Settings& settings);
// Of a tuple that may end after pinned_bytes or later: what is not there is as in `others`. Raises ValueError.
move::Settings to_settings(const nanobind::tuple& tuple, const move::Settings& others);

// Measures with the engine, keeps what it found and returns it as a dict. `progress`: called with (done, all), or None.
nanobind::dict calibrate(move::Engine& engine, int device, const nanobind::object& progress);

// The settings kept for this machine and GPU; none where there are none.
std::optional<SettingsTuple> kept_settings(const std::string& device_name);

}  // namespace turnpike::python
