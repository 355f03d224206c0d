// CPython 3.14 and later keep room in their memory for a request of a debugger: run this script at the next safe moment
// of the main thread. The protocol is CPython's ("Remote debugging attachment protocol" in its documentation), by which
// sys.remote_exec() works, too. It needs no second Python, so nothing of the process's files is ever run by us.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/attach_symbols.h"
#include "cli/target_process.h"

namespace turnpike::cli {

// Whether the files are those of CPython 3.14 or later.
bool is_python_that_can_be_asked(const std::vector<MappedFile>& files);

class PythonRequest {
 public:
  // Where the process takes requests. `process` must outlive the result. An Error says why it takes none.
  static Result<PythonRequest> find(const TargetProcess& process, const std::vector<MappedFile>& files);

  // `script`: a path as the process sees it.
  Status make(const std::string& script) const;
  // Whether the main thread has begun to run the script.
  bool is_taken() const;
  // From now on the process begins nothing of it.
  void take_back() const;

 private:
  explicit PythonRequest(const TargetProcess& process) : process_(&process) {}

  const TargetProcess* process_;
  std::uint64_t eval_breaker_ = 0;  // addresses
  std::uint64_t pending_ = 0;
  std::uint64_t path_ = 0;
};

}  // namespace turnpike::cli
