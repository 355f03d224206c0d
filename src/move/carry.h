// Does one task of the schedule: gathers, issues a copy, or copies out.
#pragma once

#include "move/schedule.h"

namespace turnpike::move {

// The caller must not hold the stager's lock; the context of the job's device must be current.
Schedule::Outcome carry(const Schedule::Task& task);

}  // namespace turnpike::move
