// Does one task of the schedule: gathers, issues a copy, or hands out.
#pragma once

#include "move/schedule.h"

namespace turnpike::move {

// Without the stager's lock. The context of the job's device must be current.
Schedule::Outcome carry(const Schedule::Task& task);

}  // namespace turnpike::move
