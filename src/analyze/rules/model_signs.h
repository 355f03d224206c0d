// What the kernels of a model and the stacks beside them say of it.
#pragma once

#include "analyze/rules/rule.h"

namespace turnpike::analyze {

// How much of the model is in cuDNN's LSTM, GRU or RNN: by the number of its kernels, by their time, or by the stacks
// of samples and launches, whichever is the most.
double recurrent_share(const ProcessModel& model, const Selection& calls);

// How much of it torch.compile has made: the same of Triton's kernels, and of frames of the compiler.
double compiled_share(const ProcessModel& model, const Selection& calls);

// How many of its kernels CUDA graphs launch.
double graph_share(const ProcessModel& model, const Selection& calls);

}  // namespace turnpike::analyze
