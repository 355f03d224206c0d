// What to do about late batches, and how much of their time that reaches.
#pragma once

#include <string>
#include <vector>

#include "analyze/rules/batch_waits.h"
#include "analyze/rules/loader.h"
#include "analyze/rules/rule.h"

namespace turnpike::analyze {

struct LoaderAdvice {
  std::string text;
  Reach reach{};
  bool is_deeper = false;    // one more batch is in flight
  bool is_up_ahead = false;  // part of the change, and not only of its reach
  LineEdit edit{};
};

// `starts`: the calls behind all pauses in which workers started.
LoaderAdvice advice_for(const ProcessModel& model, const BatchWaits& waits, const LoaderSeen& seen,
                        const Selection& starts);

// Each batch is ready, and with `is_up_ahead` it was brought up before, too, on a stream of its own: what that gains is
// known if the link's rate is.
std::vector<NamedChange> changes_for(const ProcessModel& model, const BatchWaits& waits, bool is_up_ahead);

}  // namespace turnpike::analyze
