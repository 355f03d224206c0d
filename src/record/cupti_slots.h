// torch.profiler beside the recorder: what PyTorch asks of CUPTI comes here first, because CUPTI serves one at a time.
#pragma once

namespace turnpike::record {

// Takes the slots of PyTorch's libraries that are loaded, and looks for libraries that come later while this process is
// recorded. At each start of a recording.
void take_cupti_slots() noexcept;

}  // namespace turnpike::record
