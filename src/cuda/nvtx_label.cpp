// The header of NVTX finds the tool at the first call: by the environment, else by a variable.
#include "cuda/nvtx_label.h"

#include <nvtx3/nvToolsExt.h>

namespace turnpike::cuda {
namespace {

// nullptr: nobody listens.
nvtxDomainHandle_t domain() {
  static auto* const made = nvtxDomainCreateA("turnpike");
  return made;
}

}  // namespace

NvtxLabel::NvtxLabel(const std::string& text) noexcept : is_open_(!text.empty() && domain() != nullptr) {
  if (!is_open_) return;
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text.c_str();
  nvtxDomainRangePushEx(domain(), &attributes);
}

NvtxLabel::~NvtxLabel() {
  if (is_open_) nvtxDomainRangePop(domain());
}

void use_nvtx_tool(int (*initialize)(void* get_export_table)) noexcept {
  // NVTX means this for tools that are linked into the program; it looks there at its first call.
  InitializeInjectionNvtx2_fnptr = reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(initialize);
}

}  // namespace turnpike::cuda
