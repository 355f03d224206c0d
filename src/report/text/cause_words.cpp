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
      return {"other work on the CPU", "the CPU makes no call to CUDA, or is in one in which the driver loads code"};
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

std::string words_of_part(const analyze::TimePart& part) {
  if (part.use == analyze::TimeUse::kComputing) return "GPU computes";
  if (part.use == analyze::TimeUse::kCollectives) return "only collectives";
  if (!part.cause) return "idle";
  const std::string name = words_of_cause(*part.cause).name;
  return analyze::is_idle(*part.cause) ? "idle: " + name : name;
}

std::string meaning_of_part(const analyze::TimePart& part) {
  if (part.use == analyze::TimeUse::kComputing) return "it runs kernels, copies inside the GPU or memsets";
  if (part.use == analyze::TimeUse::kCollectives) return "kernels that talk to other GPUs run, and no others";
  if (!part.cause) return "the GPU has nothing to do";
  return words_of_cause(*part.cause).sentence;
}

}  // namespace turnpike::report
