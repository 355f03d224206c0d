// What a program can do wrong under the simulated driver, each with a name and a sentence.
#pragma once

#include <string>

namespace turnpike::simulated {

enum class Rule {
  kOutOfRange,          // bytes that are not within one live allocation
  kWrongDevice,         // memory of another device than the call says
  kHostOverrun,         // bytes beside a page-locked block have changed
  kPageableCopy,        // an asynchronous copy of host memory that is not page-locked
  kUsedAfterDestroy,    // a stream or an event that is gone, or never was
  kFreedInFlight,       // memory given back before the host knew that its copies are done
  kSourceChanged,       // the host wrote what a copy under way reads
  kDestinationTouched,  // the host wrote where a copy under way writes
  kReadTooEarly,        // the host looked at what an operation under way writes, maybe in several pieces
  kUnordered,           // two operations on the same bytes, one of them writing, that nothing puts in order
  kNoContext,           // a call that needs a current context, made without one
  kWrongContext,        // a call that needs another current context
  kRegisteredTwice,     // host memory page-locked that was already
  kWhileCapturing,      // a call that is not allowed while a stream is captured
  kUnknownMemory,       // memory given back that was never taken, or twice
  kNeverEnds            // the host waits for what nobody will let go on
};

struct Violation {
  Rule rule;
  std::string sentence;
};

// The name of the rule, as in the enumeration without its k.
const char* name_of(Rule rule);

}  // namespace turnpike::simulated
