// The functions that NVTX calls instead of doing nothing, once Turnpike is its tool.
#include "cuda/nvtx.h"

#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cwchar>
#include <mutex>
#include <set>
#include <string>

#include "base/utf8.h"

namespace turnpike::cuda {
namespace {

NvtxListener g_listener{};
std::atomic<std::uint64_t> g_next_range{1};
// Push and pop report how deep a thread is; NVTX hands that number on to the program.
thread_local int t_depth = 0;

// Domains and registered strings are handles that the program keeps for good: their texts are never freed. The same
// text gets the same handle, so a program that registers in a loop does not grow.
const std::string* keep(std::string text) {
  static std::mutex mutex;
  static auto& kept = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return &*kept.insert(std::move(text)).first;
}

std::string to_utf8(const wchar_t* wide) {
  std::string text;
  for (; wide != nullptr && *wide != L'\0'; ++wide) {
    const auto code = static_cast<char32_t>(*wide);
    if (code <= 0x10FFFF) append_utf8(text, code);
  }
  return text;
}

const char* domain_name(nvtxDomainHandle_t domain) {
  return domain == nullptr ? "" : reinterpret_cast<const std::string*>(domain)->c_str();
}

struct Message {
  std::string text;
  std::uint32_t color = 0;

  explicit Message(const nvtxEventAttributes_t* attributes) {
    if (attributes == nullptr) return;
    if (attributes->colorType == NVTX_COLOR_ARGB) color = attributes->color;
    switch (attributes->messageType) {
      case NVTX_MESSAGE_TYPE_ASCII:
        if (attributes->message.ascii != nullptr) text = attributes->message.ascii;
        break;
      case NVTX_MESSAGE_TYPE_UNICODE:
        text = to_utf8(attributes->message.unicode);
        break;
      case NVTX_MESSAGE_TYPE_REGISTERED:
        if (attributes->message.registered != nullptr) {
          text = *reinterpret_cast<const std::string*>(attributes->message.registered);
        }
        break;
      default:
        break;
    }
  }
};

const char* or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

int push(const char* domain, const char* text, std::uint32_t color) {
  g_listener.on_push(domain, text, color);
  return t_depth++;
}
int pop(const char* domain) {
  g_listener.on_pop(domain);
  return t_depth > 0 ? --t_depth : 0;
}
nvtxRangeId_t start(const char* domain, const char* text, std::uint32_t color) {
  const std::uint64_t range = g_next_range.fetch_add(1, std::memory_order_relaxed);
  g_listener.on_start(range, domain, text, color);
  return range;
}

// The program must never see an exception of ours: without memory a range is lost, nothing else.
template <typename Body>
auto guarded(Body body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return decltype(body())();
  }
}

void NVTX_API mark_ex(const nvtxEventAttributes_t* a) {
  guarded([&] {
    const Message m(a);
    g_listener.on_mark("", m.text.c_str(), m.color);
  });
}
void NVTX_API mark_a(const char* text) {
  g_listener.on_mark("", or_empty(text), 0);
}
void NVTX_API mark_w(const wchar_t* text) {
  guarded([&] { g_listener.on_mark("", to_utf8(text).c_str(), 0); });
}
nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t* a) {
  return guarded([&] {
    const Message m(a);
    return start("", m.text.c_str(), m.color);
  });
}
nvtxRangeId_t NVTX_API start_a(const char* text) {
  return start("", or_empty(text), 0);
}
nvtxRangeId_t NVTX_API start_w(const wchar_t* text) {
  return guarded([&] { return start("", to_utf8(text).c_str(), 0); });
}
void NVTX_API range_end(nvtxRangeId_t range) {
  g_listener.on_end(range);
}
int NVTX_API push_ex(const nvtxEventAttributes_t* a) {
  return guarded([&] {
    const Message m(a);
    return push("", m.text.c_str(), m.color);
  });
}
int NVTX_API push_a(const char* text) {
  return push("", or_empty(text), 0);
}
int NVTX_API push_w(const wchar_t* text) {
  return guarded([&] { return push("", to_utf8(text).c_str(), 0); });
}
int NVTX_API range_pop() {
  return pop("");
}

void NVTX_API domain_mark_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* a) {
  guarded([&] {
    const Message m(a);
    g_listener.on_mark(domain_name(d), m.text.c_str(), m.color);
  });
}
nvtxRangeId_t NVTX_API domain_start_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* a) {
  return guarded([&] {
    const Message m(a);
    return start(domain_name(d), m.text.c_str(), m.color);
  });
}
void NVTX_API domain_range_end(nvtxDomainHandle_t, nvtxRangeId_t range) {
  g_listener.on_end(range);
}
int NVTX_API domain_push_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* a) {
  return guarded([&] {
    const Message m(a);
    return push(domain_name(d), m.text.c_str(), m.color);
  });
}
int NVTX_API domain_pop(nvtxDomainHandle_t d) {
  return pop(domain_name(d));
}

template <typename Handle>
Handle as_handle(const std::string* text) {
  return reinterpret_cast<Handle>(const_cast<std::string*>(text));
}
nvtxStringHandle_t NVTX_API register_a(nvtxDomainHandle_t, const char* text) {
  return guarded([&] { return as_handle<nvtxStringHandle_t>(keep(or_empty(text))); });
}
nvtxStringHandle_t NVTX_API register_w(nvtxDomainHandle_t, const wchar_t* text) {
  return guarded([&] { return as_handle<nvtxStringHandle_t>(keep(to_utf8(text))); });
}
nvtxDomainHandle_t NVTX_API domain_create_a(const char* name) {
  return guarded([&] { return as_handle<nvtxDomainHandle_t>(keep(or_empty(name))); });
}
nvtxDomainHandle_t NVTX_API domain_create_w(const wchar_t* name) {
  return guarded([&] { return as_handle<nvtxDomainHandle_t>(keep(to_utf8(name))); });
}

class FunctionTable {
 public:
  FunctionTable(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    found_ = callbacks.GetModuleFunctionTable(module, &table_, &size_) != 0 && table_ != nullptr;
  }
  bool is_found() const { return found_; }

  template <typename Function>
  void set(unsigned int id, Function* function) {
    if (id < size_ && table_[id] != nullptr) *table_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable table_ = nullptr;
  unsigned int size_ = 0;
  bool found_ = false;
};

}  // namespace

bool install_nvtx_listener(void* get_export_table, const NvtxListener& listener) noexcept {
  const auto get_table = reinterpret_cast<NvtxGetExportTableFunc_t>(get_export_table);
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) return false;
  FunctionTable core(*callbacks, NVTX_CB_MODULE_CORE);
  if (!core.is_found()) return false;
  g_listener = listener;
  core.set(NVTX_CBID_CORE_MarkEx, mark_ex);
  core.set(NVTX_CBID_CORE_MarkA, mark_a);
  core.set(NVTX_CBID_CORE_MarkW, mark_w);
  core.set(NVTX_CBID_CORE_RangeStartEx, start_ex);
  core.set(NVTX_CBID_CORE_RangeStartA, start_a);
  core.set(NVTX_CBID_CORE_RangeStartW, start_w);
  core.set(NVTX_CBID_CORE_RangeEnd, range_end);
  core.set(NVTX_CBID_CORE_RangePushEx, push_ex);
  core.set(NVTX_CBID_CORE_RangePushA, push_a);
  core.set(NVTX_CBID_CORE_RangePushW, push_w);
  core.set(NVTX_CBID_CORE_RangePop, range_pop);
  FunctionTable domains(*callbacks, NVTX_CB_MODULE_CORE2);
  if (!domains.is_found()) return true;
  domains.set(NVTX_CBID_CORE2_DomainMarkEx, domain_mark_ex);
  domains.set(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start_ex);
  domains.set(NVTX_CBID_CORE2_DomainRangeEnd, domain_range_end);
  domains.set(NVTX_CBID_CORE2_DomainRangePushEx, domain_push_ex);
  domains.set(NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringA, register_a);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringW, register_w);
  domains.set(NVTX_CBID_CORE2_DomainCreateA, domain_create_a);
  domains.set(NVTX_CBID_CORE2_DomainCreateW, domain_create_w);
  return true;
}

}  // namespace turnpike::cuda
