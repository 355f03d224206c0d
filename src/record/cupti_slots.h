// torch.profiler beside the recorder: what PyTorch asks of CUPTI comes here first, because CUPTI serves one at a time.
#pragma once

namespace turnpike::record {

// Takes the slots of PyTorch's libraries that are loaded so far. At each start of a recording.
void take_cupti_slots() noexcept;
// The same, if none was found yet and libraries were loaded since: on the recorder's own thread.
void take_cupti_slots_of_later() noexcept;

}  // namespace turnpike::record
