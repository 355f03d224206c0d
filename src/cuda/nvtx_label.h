// Names work of Turnpike's own to the NVTX tool that listens, if one does.
#pragma once

#include <string>

namespace turnpike::cuda {

// What this thread asks of CUDA in the scope is in a range of that text, of the domain "turnpike". Without a text, and
// without a tool, it does nothing. Takes no lock of ours, and may wait only where the tool does.
class NvtxLabel {
 public:
  explicit NvtxLabel(const std::string& text) noexcept;
  ~NvtxLabel();
  NvtxLabel(const NvtxLabel&) = delete;
  NvtxLabel& operator=(const NvtxLabel&) = delete;

 private:
  const bool is_open_;
};

// The function InitializeInjectionNvtx2 of a tool that listens where the environment names none. Too late once a label
// with a text was made.
void use_nvtx_tool(int (*initialize)(void* get_export_table)) noexcept;

}  // namespace turnpike::cuda
