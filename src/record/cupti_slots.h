// torch.profiler beside the recorder: what PyTorch asks of CUPTI comes here first, because CUPTI serves one at a time.
#pragma once

namespace turnpike::record {

// Takes the slots of PyTorch's libraries that are loaded by now. It enters the loader.
void take_cupti_slots() noexcept;

}  // namespace turnpike::record
