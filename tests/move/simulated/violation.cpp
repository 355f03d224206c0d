// Names of what a program can do wrong under the simulated driver.
#include "simulated/violation.h"

namespace turnpike::simulated {

const char* name_of(Rule rule) {
  switch (rule) {
    case Rule::kOutOfRange:
      return "OutOfRange";
    case Rule::kWrongDevice:
      return "WrongDevice";
    case Rule::kHostOverrun:
      return "HostOverrun";
    case Rule::kPageableCopy:
      return "PageableCopy";
    case Rule::kUsedAfterDestroy:
      return "UsedAfterDestroy";
    case Rule::kFreedInFlight:
      return "FreedInFlight";
    case Rule::kSourceChanged:
      return "SourceChanged";
    case Rule::kDestinationTouched:
      return "DestinationTouched";
    case Rule::kReadTooEarly:
      return "ReadTooEarly";
    case Rule::kUnordered:
      return "Unordered";
    case Rule::kNoContext:
      return "NoContext";
    case Rule::kWrongContext:
      return "WrongContext";
    case Rule::kRegisteredTwice:
      return "RegisteredTwice";
    case Rule::kWhileCapturing:
      return "WhileCapturing";
    case Rule::kUnknownMemory:
      return "UnknownMemory";
    case Rule::kNeverEnds:
      return "NeverEnds";
  }
  return "Unknown";
}

}  // namespace turnpike::simulated
