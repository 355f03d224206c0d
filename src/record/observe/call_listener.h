// Who else in the process hears of the calls that are recorded: the guard, of what it cannot stop.
#pragma once

#include "cuda/call_arguments.h"
#include "record/session.h"
#include "trace/format.h"

namespace turnpike::record {

// Any thread. nullptr: nobody.
void set_call_listener(TurnpikeListener listener) noexcept;

// On the calling thread, at the exit of a call that succeeded. `name` as CUPTI has it.
void tell_listener(const trace::CallRecord& call, const cuda::CallArguments& arguments, const char* name) noexcept;

}  // namespace turnpike::record
