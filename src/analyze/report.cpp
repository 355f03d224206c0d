// The words of `report --json` for the enumerations of the report.
#include "analyze/report.h"

namespace turnpike::analyze {

const char* name_of(Direction direction) {
  switch (direction) {
    case Direction::kHostToDevice:
      return "h2d";
    case Direction::kDeviceToHost:
      return "d2h";
    case Direction::kDeviceToDevice:
      return "d2d";
    case Direction::kPeerToPeer:
      return "p2p";
    case Direction::kHostToHost:
      return "h2h";
    case Direction::kMemset:
      return "memset";
  }
  return "unknown";
}

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kLoader:
      return "loader";
    case Phase::kOther:
      return "other";
  }
  return "unknown";
}

const char* name_of(MissingCall missing) {
  return missing == MissingCall::kEarlier ? "earlier" : "unknown";
}

}  // namespace turnpike::analyze
