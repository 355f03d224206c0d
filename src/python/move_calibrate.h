// The bindings of calibration and of the settings that are kept for this machine.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

#include "move/calibrate.h"

namespace turnpike::python {

// Measures with the engine, keeps what it found and returns it as a dict. `progress`: called with (done, all), or None.
nanobind::dict calibrate(move::Engine& engine, int device, const nanobind::object& progress);

// The settings kept for this machine and GPU as a tuple (threads, chunk_bytes, pinned_bytes), or None.
nanobind::object kept_settings(const std::string& device_name);

}  // namespace turnpike::python
