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
std::atomic<bool> g_is_heard{false};
std::atomic<std::uint64_t> g_next_range{kNoNvtxRange + 1};

// Domains and registered strings are handles that the program keeps for good: their texts are never freed. The same
// text gets the same handle, so a program that registers in a loop does not grow.
std::mutex g_kept_mutex;
const std::string* keep(std::string text) {
  const std::lock_guard lock(g_kept_mutex);
  static auto& kept = *new std::set<std::string>;
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

const char* or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

struct Message {
  std::string text;
  std::uint32_t color = 0;

  explicit Message(const char* given) : text(or_empty(given)) {}
  explicit Message(const wchar_t* given) : text(to_utf8(given)) {}
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

// The program must never see an exception of ours: without memory a range is lost, nothing else.
template <typename Result, typename Body>
Result guarded(Result otherwise, Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

// `body`, where somebody hears it.
template <typename Result, typename Body>
Result if_heard(Result otherwise, Body body) noexcept {
  return g_is_heard.load(std::memory_order_relaxed) ? guarded(otherwise, body) : otherwise;
}

// Each takes the text as the program gave it, as something that makes a Message.
template <typename Given>
void mark(nvtxDomainHandle_t domain, Given given) {
  if_heard(0, [&] {
    const Message m(given);
    g_listener.on_mark(domain_name(domain), m.text.c_str(), m.color);
    return 0;
  });
}
template <typename Given>
nvtxRangeId_t start(nvtxDomainHandle_t domain, Given given) {
  return if_heard(nvtxRangeId_t{kNoNvtxRange}, [&] {
    const Message m(given);
    const nvtxRangeId_t range = g_next_range.fetch_add(1, std::memory_order_relaxed);
    g_listener.on_start(range, domain_name(domain), m.text.c_str(), m.color);
    return range;
  });
}
template <typename Given>
int push(nvtxDomainHandle_t domain, Given given) {
  return if_heard(kNoNvtxDepth, [&] {
    const Message m(given);
    return g_listener.on_push(domain_name(domain), m.text.c_str(), m.color);
  });
}
void end(nvtxRangeId_t range) {
  if_heard(0, [&] {
    g_listener.on_end(range);
    return 0;
  });
}
int pop(nvtxDomainHandle_t domain) {
  return if_heard(kNoNvtxDepth, [&] { return g_listener.on_pop(domain_name(domain)); });
}

void NVTX_API mark_ex(const nvtxEventAttributes_t* a) {
  mark(nullptr, a);
}
void NVTX_API mark_a(const char* text) {
  mark(nullptr, text);
}
void NVTX_API mark_w(const wchar_t* text) {
  mark(nullptr, text);
}
nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t* a) {
  return start(nullptr, a);
}
nvtxRangeId_t NVTX_API start_a(const char* text) {
  return start(nullptr, text);
}
nvtxRangeId_t NVTX_API start_w(const wchar_t* text) {
  return start(nullptr, text);
}
void NVTX_API range_end(nvtxRangeId_t range) {
  end(range);
}
int NVTX_API push_ex(const nvtxEventAttributes_t* a) {
  return push(nullptr, a);
}
int NVTX_API push_a(const char* text) {
  return push(nullptr, text);
}
int NVTX_API push_w(const wchar_t* text) {
  return push(nullptr, text);
}
int NVTX_API range_pop() {
  return pop(nullptr);
}

void NVTX_API domain_mark_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* a) {
  mark(d, a);
}
nvtxRangeId_t NVTX_API domain_start_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* a) {
  return start(d, a);
}
void NVTX_API domain_range_end(nvtxDomainHandle_t, nvtxRangeId_t range) {
  end(range);
}
int NVTX_API domain_push_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* a) {
  return push(d, a);
}
int NVTX_API domain_pop(nvtxDomainHandle_t d) {
  return pop(d);
}

template <typename Handle>
Handle as_handle(const std::string* text) {
  return reinterpret_cast<Handle>(const_cast<std::string*>(text));
}
nvtxStringHandle_t NVTX_API register_a(nvtxDomainHandle_t, const char* text) {
  return guarded(nvtxStringHandle_t{}, [&] { return as_handle<nvtxStringHandle_t>(keep(or_empty(text))); });
}
nvtxStringHandle_t NVTX_API register_w(nvtxDomainHandle_t, const wchar_t* text) {
  return guarded(nvtxStringHandle_t{}, [&] { return as_handle<nvtxStringHandle_t>(keep(to_utf8(text))); });
}
nvtxDomainHandle_t NVTX_API domain_create_a(const char* name) {
  return guarded(nvtxDomainHandle_t{}, [&] { return as_handle<nvtxDomainHandle_t>(keep(or_empty(name))); });
}
nvtxDomainHandle_t NVTX_API domain_create_w(const wchar_t* name) {
  return guarded(nvtxDomainHandle_t{}, [&] { return as_handle<nvtxDomainHandle_t>(keep(to_utf8(name))); });
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

void hear_nvtx(bool is_heard) noexcept {
  g_is_heard.store(is_heard, std::memory_order_relaxed);
}

void before_fork_of_nvtx() noexcept {
  g_kept_mutex.lock();
}

void after_fork_of_nvtx() noexcept {
  g_kept_mutex.unlock();
}

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
