// The settings of the move engine that were calibrated on this machine, kept in the user's cache folder.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "move/calibrate.h"

namespace turnpike::machine {

// The settings that were kept for this machine (its host name) and device name; none where there are none, and an Error
// where the file is there and cannot be understood.
Result<std::optional<move::Settings>> kept_settings(const std::string& device_name);
// Keeps them in the user's cache folder, in the place of older ones.
Status keep_settings(const move::Calibration& calibration);

}  // namespace turnpike::machine
