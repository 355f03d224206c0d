#include "report/text/cause_words.h"

namespace turnpike::report {

CauseWords words_of_cause(analyze::IdleCause cause) {
  switch (cause) {
    case analyze::IdleCause::kCopiesOnly:
      return {"only copies", "copies, and no computing"};
    case analyze::IdleCause::kCopy:
      return {"copies", "a copy holds the CPU"};
    case analyze::IdleCause::kSync:
      return {"synchronisations", "a synchronisation holds the CPU"};
    case analyze::IdleCause::kAllocation:
      return {"allocations", "the CPU allocates or frees memory"};
    case analyze::IdleCause::kInput:
      return {"next batch", "the CPU gets the next batch ready"};
    case analyze::IdleCause::kLaunch:
      return {"CPU issues work", "the CPU issues work too late"};
    case analyze::IdleCause::kUnknown:
      return {"other work on the CPU", "the CPU makes no call to CUDA"};
    case analyze::IdleCause::kBetweenKernels:
      return {"between kernels", "the GPU goes from one piece of work to the next"};
    case analyze::IdleCause::kOtherDevice:
      return {"another GPU", "the GPU waits for another GPU"};
    case analyze::IdleCause::kUnrecorded:
      return {"unrecorded work", "the GPU waits for work that was not recorded"};
    case analyze::IdleCause::kRank:
      return {"another rank", "another rank is late"};
  }
  return {analyze::name_of(cause), analyze::name_of(cause)};
}

}  // namespace turnpike::report
