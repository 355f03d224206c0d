// The recorder's library as Python controls it: loaded at run time, spoken to by the C interface of record/session.h.
#pragma once

#include <string>

#include "base/result.h"
#include "record/options.h"

namespace turnpike::python {

// The library at `path`, loaded at the first use and never unloaded: CUPTI and the driver keep pointers into it. When
// the driver has injected the same file, this is that copy, and its recording is the one that is seen here.
class Recorder {
 public:
  static Result<Recorder> load(const std::string& path);

  Status start(const record::Options& options) const;
  // Returns the path of the file that was written.
  Result<std::string> stop() const;
  // Of a recording with --last.
  Status keep(const std::string& reason) const;
  bool is_recording() const;

 private:
  explicit Recorder(void* library) : library_(library) {}

  void* library_;
};

}  // namespace turnpike::python
