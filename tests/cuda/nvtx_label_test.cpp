// The ranges of our own work, as a tool of NVTX sees them arrive.
#include "cuda/nvtx_label.h"

#include <gmock/gmock.h>
#include <nvtx3/nvToolsExt.h>

#include <string>
#include <vector>

namespace turnpike::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> g_heard;

std::string text_of(nvtxDomainHandle_t domain) {
  return domain == nullptr ? "none" : reinterpret_cast<const char*>(domain);
}

nvtxDomainHandle_t NVTX_API create(const char* name) {
  g_heard.push_back(std::string("create ") + name);
  return reinterpret_cast<nvtxDomainHandle_t>(const_cast<char*>("the domain"));
}
int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  g_heard.push_back("push " + text_of(domain) + " " + std::to_string(event->version) + " " +
                    std::to_string(event->size) + " " + std::to_string(event->messageType) + " " +
                    (event->message.ascii == nullptr ? "" : event->message.ascii));
  return 0;
}
int NVTX_API pop(nvtxDomainHandle_t domain) {
  g_heard.push_back("pop " + text_of(domain));
  return 0;
}

int listen(void* get_export_table) {
  const auto get_table = reinterpret_cast<NvtxGetExportTableFunc_t>(get_export_table);
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(create);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}

// One test: NVTX looks for its tool once in a process.
TEST(NvtxLabels, AreRangesOfTurnpikesDomain) {
  use_nvtx_tool(listen);
  {
    const NvtxLabel nothing("");
  }
  EXPECT_THAT(g_heard, IsEmpty()) << "NVTX is not even started";
  {
    const NvtxLabel outer("outer");
    const NvtxLabel nothing("");
    const NvtxLabel inner("inner");
  }
  {
    const NvtxLabel nothing("");
  }
  const std::string event = std::to_string(NVTX_VERSION) + " " + std::to_string(NVTX_EVENT_ATTRIB_STRUCT_SIZE) + " " +
                            std::to_string(NVTX_MESSAGE_TYPE_ASCII) + " ";
  EXPECT_THAT(g_heard, ElementsAre("create turnpike", "push the domain " + event + "outer",
                                   "push the domain " + event + "inner", "pop the domain", "pop the domain"));
}

}  // namespace
}  // namespace turnpike::cuda
