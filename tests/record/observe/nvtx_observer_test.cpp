// Every function of NVTX, as a program calls it, and the ranges that the recorder makes of them.
#include "record/observe/nvtx_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "cuda/nvtx.h"
#include "record/handover/loss_counters.h"
#include "record/handover/one_handover.h"
#include "record/handover/thread_buffer.h"
#include "record/stacks/string_table.h"

namespace turnpike::record {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// What one loaded copy of NVTX shows to its tool: tables of places for functions.
struct FakeNvtx {
  std::array<NvtxFunctionPointer, NVTX_CBID_CORE_SIZE> core{};
  std::array<NvtxFunctionPointer, NVTX_CBID_CORE2_SIZE> domains{};
  std::array<NvtxFunctionPointer*, NVTX_CBID_CORE_SIZE> core_table{};
  std::array<NvtxFunctionPointer*, NVTX_CBID_CORE2_SIZE> domain_table{};
  NvtxExportTableCallbacks callbacks{};
  bool has_core = true;
  bool has_domains = true;
  bool has_callbacks = true;
  bool says_it_has_none = false;  // while it gives tables
  unsigned int core_size = NVTX_CBID_CORE_SIZE;
};
FakeNvtx g_nvtx;

int NVTX_API function_table(NvtxCallbackModule module, NvtxFunctionTable* table, unsigned int* size) {
  if (module == NVTX_CB_MODULE_CORE && g_nvtx.has_core) {
    *table = g_nvtx.core_table.data();
    *size = g_nvtx.core_size;
    return g_nvtx.says_it_has_none ? 0 : 1;
  }
  if (module == NVTX_CB_MODULE_CORE2 && g_nvtx.has_domains) {
    *table = g_nvtx.domain_table.data();
    *size = g_nvtx.domain_table.size();
    return 1;
  }
  return 0;
}

const void* NVTX_API export_table(std::uint32_t id) {
  return id == NVTX_ETID_CALLBACKS && g_nvtx.has_callbacks ? &g_nvtx.callbacks : nullptr;
}

void reset_nvtx() {
  g_nvtx = {};
  for (std::size_t i = 0; i < g_nvtx.core.size(); ++i) g_nvtx.core_table[i] = &g_nvtx.core[i];
  for (std::size_t i = 0; i < g_nvtx.domains.size(); ++i) g_nvtx.domain_table[i] = &g_nvtx.domains[i];
  g_nvtx.callbacks = {sizeof(NvtxExportTableCallbacks), function_table};
}

template <typename Function>
Function* core(unsigned int id) {
  EXPECT_NE(g_nvtx.core[id], nullptr) << id;
  return reinterpret_cast<Function*>(g_nvtx.core[id]);
}
template <typename Function>
Function* domains(unsigned int id) {
  EXPECT_NE(g_nvtx.domains[id], nullptr) << id;
  return reinterpret_cast<Function*>(g_nvtx.domains[id]);
}

using OfText = void(const char*);
using OfWide = void(const wchar_t*);
using PushText = int(const char*);
using PushWide = int(const wchar_t*);
using PushAttributes = int(const nvtxEventAttributes_t*);
using Pop = int();
using StartText = nvtxRangeId_t(const char*);
using StartWide = nvtxRangeId_t(const wchar_t*);
using StartAttributes = nvtxRangeId_t(const nvtxEventAttributes_t*);
using End = void(nvtxRangeId_t);
using Mark = void(const nvtxEventAttributes_t*);
using DomainMark = void(nvtxDomainHandle_t, const nvtxEventAttributes_t*);
using DomainStart = nvtxRangeId_t(nvtxDomainHandle_t, const nvtxEventAttributes_t*);
using DomainEnd = void(nvtxDomainHandle_t, nvtxRangeId_t);
using DomainPush = int(nvtxDomainHandle_t, const nvtxEventAttributes_t*);
using DomainPop = int(nvtxDomainHandle_t);
using RegisterText = nvtxStringHandle_t(nvtxDomainHandle_t, const char*);
using RegisterWide = nvtxStringHandle_t(nvtxDomainHandle_t, const wchar_t*);
using CreateText = nvtxDomainHandle_t(const char*);
using CreateWide = nvtxDomainHandle_t(const wchar_t*);

nvtxEventAttributes_t attributes(const char* text, std::uint32_t color = 0) {
  nvtxEventAttributes_t made{};
  made.colorType = color == 0 ? NVTX_COLOR_UNKNOWN : NVTX_COLOR_ARGB;
  made.color = color == 0 ? 0x77 : color;
  made.messageType = NVTX_MESSAGE_TYPE_ASCII;
  made.message.ascii = text;
  return made;
}

std::vector<std::string> g_heard;

std::string heard(const char* what, const char* domain, const char* text, std::uint32_t color) {
  return std::string(what) + " [" + domain + "] " + text + " " + std::to_string(color);
}

const cuda::NvtxListener kListener = {
    [](const char* domain, const char* text, std::uint32_t color) {
      g_heard.push_back(heard("push", domain, text, color));
      return static_cast<int>(g_heard.size());
    },
    [](const char* domain) {
      g_heard.push_back(std::string("pop [") + domain + "]");
      return static_cast<int>(g_heard.size());
    },
    [](std::uint64_t, const char* domain, const char* text, std::uint32_t color) {
      g_heard.push_back(heard("start", domain, text, color));
    },
    [](std::uint64_t range) { g_heard.push_back("end " + std::to_string(range)); },
    [](const char* domain, const char* text, std::uint32_t color) {
      g_heard.push_back(heard("mark", domain, text, color));
    },
};

void* export_table_address() {
  return reinterpret_cast<void*>(export_table);
}

class NvtxListenerTest : public testing::Test {
 protected:
  NvtxListenerTest() {
    reset_nvtx();
    g_heard.clear();
    cuda::hear_nvtx(true);
  }
  ~NvtxListenerTest() override { cuda::hear_nvtx(false); }
};

TEST_F(NvtxListenerTest, HearsTheDefaultDomain) {
  ASSERT_TRUE(cuda::install_nvtx_listener(export_table_address(), kListener));
  const nvtxEventAttributes_t plain = attributes("plain");
  const nvtxEventAttributes_t red = attributes("red", 0xFFFF0000);
  core<Mark>(NVTX_CBID_CORE_MarkEx)(&red);
  core<OfText>(NVTX_CBID_CORE_MarkA)("mark");
  core<OfWide>(NVTX_CBID_CORE_MarkW)(L"m\u00e4rk");
  EXPECT_EQ(core<PushAttributes>(NVTX_CBID_CORE_RangePushEx)(&plain), 4) << "what the listener says";
  EXPECT_EQ(core<PushText>(NVTX_CBID_CORE_RangePushA)("text"), 5);
  EXPECT_EQ(core<PushWide>(NVTX_CBID_CORE_RangePushW)(L"wide"), 6);
  EXPECT_EQ(core<Pop>(NVTX_CBID_CORE_RangePop)(), 7);
  EXPECT_THAT(g_heard, ElementsAre("mark [] red 4294901760", "mark [] mark 0", "mark [] m\xC3\xA4rk 0",
                                   "push [] plain 0", "push [] text 0", "push [] wide 0", "pop []"));
  g_heard.clear();
  const nvtxRangeId_t first = core<StartAttributes>(NVTX_CBID_CORE_RangeStartEx)(&red);
  const nvtxRangeId_t second = core<StartText>(NVTX_CBID_CORE_RangeStartA)("a");
  const nvtxRangeId_t third = core<StartWide>(NVTX_CBID_CORE_RangeStartW)(L"w");
  EXPECT_EQ(second, first + 1);
  EXPECT_EQ(third, first + 2);
  EXPECT_NE(first, 0u);
  core<End>(NVTX_CBID_CORE_RangeEnd)(second);
  EXPECT_THAT(g_heard,
              ElementsAre("start [] red 4294901760", "start [] a 0", "start [] w 0", "end " + std::to_string(second)));
}

TEST_F(NvtxListenerTest, HearsOtherDomains) {
  ASSERT_TRUE(cuda::install_nvtx_listener(export_table_address(), kListener));
  const auto domain = domains<CreateText>(NVTX_CBID_CORE2_DomainCreateA)("mine");
  const auto wide = domains<CreateWide>(NVTX_CBID_CORE2_DomainCreateW)(L"\u4e2d");
  EXPECT_EQ(domains<CreateText>(NVTX_CBID_CORE2_DomainCreateA)("mine"), domain);
  EXPECT_NE(wide, domain);
  nvtxEventAttributes_t registered = attributes(nullptr);
  registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  registered.message.registered = domains<RegisterText>(NVTX_CBID_CORE2_DomainRegisterStringA)(domain, "kept");
  nvtxEventAttributes_t kept_wide = registered;
  kept_wide.message.registered = domains<RegisterWide>(NVTX_CBID_CORE2_DomainRegisterStringW)(domain, L"kept wide");
  nvtxEventAttributes_t unicode = attributes(nullptr);
  unicode.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  unicode.message.unicode = L"\U0001F600";
  domains<DomainMark>(NVTX_CBID_CORE2_DomainMarkEx)(domain, &registered);
  const nvtxRangeId_t range = domains<DomainStart>(NVTX_CBID_CORE2_DomainRangeStartEx)(wide, &kept_wide);
  domains<DomainEnd>(NVTX_CBID_CORE2_DomainRangeEnd)(domain, range);
  EXPECT_EQ(domains<DomainPush>(NVTX_CBID_CORE2_DomainRangePushEx)(domain, &unicode), 4);
  EXPECT_EQ(domains<DomainPop>(NVTX_CBID_CORE2_DomainRangePop)(domain), 5);
  domains<DomainMark>(NVTX_CBID_CORE2_DomainMarkEx)(nullptr, &registered);
  EXPECT_THAT(g_heard,
              ElementsAre("mark [mine] kept 0", "start [\xE4\xB8\xAD] kept wide 0", "end " + std::to_string(range),
                          "push [mine] \xF0\x9F\x98\x80 0", "pop [mine]", "mark [] kept 0"));
}

TEST_F(NvtxListenerTest, TakesNullsAsNoText) {
  ASSERT_TRUE(cuda::install_nvtx_listener(export_table_address(), kListener));
  core<OfText>(NVTX_CBID_CORE_MarkA)(nullptr);
  core<OfWide>(NVTX_CBID_CORE_MarkW)(nullptr);
  core<Mark>(NVTX_CBID_CORE_MarkEx)(nullptr);
  const nvtxEventAttributes_t empty = attributes(nullptr);
  core<Mark>(NVTX_CBID_CORE_MarkEx)(&empty);
  nvtxEventAttributes_t unregistered = attributes(nullptr);
  unregistered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  core<Mark>(NVTX_CBID_CORE_MarkEx)(&unregistered);
  nvtxEventAttributes_t odd = attributes("text");
  odd.messageType = 99;
  core<Mark>(NVTX_CBID_CORE_MarkEx)(&odd);
  EXPECT_THAT(g_heard, SizeIs(6));
  EXPECT_THAT(g_heard, testing::Each("mark []  0"));
}

TEST_F(NvtxListenerTest, WritesWideTextAsUtf8UpToTheEdges) {
  ASSERT_TRUE(cuda::install_nvtx_listener(export_table_address(), kListener));
  const std::pair<std::uint32_t, const char*> characters[] = {
      {0x7F, "\x7F"},
      {0x80, "\xC2\x80"},
      {0x7FF, "\xDF\xBF"},
      {0x800, "\xE0\xA0\x80"},
      {0xFFFF, "\xEF\xBF\xBF"},
      {0x10000, "\xF0\x90\x80\x80"},
      {0x10FFFF, "\xF4\x8F\xBF\xBF"},
      {0x110000, ""},
  };
  for (const auto& [code, text] : characters) {
    const wchar_t wide[] = {static_cast<wchar_t>(code), L'\0'};
    g_heard.clear();
    core<OfWide>(NVTX_CBID_CORE_MarkW)(wide);
    EXPECT_THAT(g_heard, ElementsAre(std::string("mark [] ") + text + " 0")) << code;
  }
}

TEST_F(NvtxListenerTest, HearsNothingUntilItIsToldTo) {
  ASSERT_TRUE(cuda::install_nvtx_listener(export_table_address(), kListener));
  const auto domain = domains<CreateText>(NVTX_CBID_CORE2_DomainCreateA)("mine");
  const nvtxEventAttributes_t red = attributes("red", 0xFFFF0000);
  cuda::hear_nvtx(false);
  core<OfText>(NVTX_CBID_CORE_MarkA)("mark");
  EXPECT_EQ(core<PushText>(NVTX_CBID_CORE_RangePushA)("text"), NVTX_NO_PUSH_POP_TRACKING);
  EXPECT_EQ(core<Pop>(NVTX_CBID_CORE_RangePop)(), NVTX_NO_PUSH_POP_TRACKING);
  EXPECT_EQ(core<StartText>(NVTX_CBID_CORE_RangeStartA)("a"), 0u) << "as without a tool";
  core<End>(NVTX_CBID_CORE_RangeEnd)(0);
  domains<DomainMark>(NVTX_CBID_CORE2_DomainMarkEx)(domain, &red);
  EXPECT_EQ(domains<DomainPush>(NVTX_CBID_CORE2_DomainRangePushEx)(domain, &red), NVTX_NO_PUSH_POP_TRACKING);
  EXPECT_EQ(domains<DomainPop>(NVTX_CBID_CORE2_DomainRangePop)(domain), NVTX_NO_PUSH_POP_TRACKING);
  EXPECT_EQ(domains<DomainStart>(NVTX_CBID_CORE2_DomainRangeStartEx)(domain, &red), 0u);
  domains<DomainEnd>(NVTX_CBID_CORE2_DomainRangeEnd)(domain, 0);
  EXPECT_THAT(g_heard, IsEmpty());
  cuda::hear_nvtx(true);
  domains<DomainMark>(NVTX_CBID_CORE2_DomainMarkEx)(domain, &red);
  EXPECT_THAT(g_heard, ElementsAre("mark [mine] red 4294901760")) << "a domain of the time before has its name";
}

// A child's copy of a mutex that another thread holds would never be given back.
TEST_F(NvtxListenerTest, LetsAForkedChildRegisterTexts) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer's own locks hang such children";
#endif
  ASSERT_TRUE(cuda::install_nvtx_listener(export_table_address(), kListener));
  const auto register_text = domains<RegisterText>(NVTX_CBID_CORE2_DomainRegisterStringA);
  std::atomic<bool> is_over{false};
  std::thread registering([&] {
    for (std::uint64_t i = 0; !is_over.load(); ++i)
      register_text(nullptr, ("text " + std::to_string(i % 1000)).c_str());
  });
  int good = 0;
  for (int i = 0; i < 200; ++i) {
    cuda::before_fork_of_nvtx();
    const pid_t child = ::fork();
    cuda::after_fork_of_nvtx();
    if (child == 0) {
      ::alarm(10);
      ::_exit(register_text(nullptr, "text 1") == nullptr ? 1 : 9);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    good += WIFEXITED(status) && WEXITSTATUS(status) == 9;
  }
  is_over = true;
  registering.join();
  EXPECT_EQ(good, 200);
}

TEST_F(NvtxListenerTest, InstallsAsMuchAsThereIs) {
  g_nvtx.has_domains = false;
  EXPECT_TRUE(cuda::install_nvtx_listener(export_table_address(), kListener));
  EXPECT_NE(g_nvtx.core[NVTX_CBID_CORE_MarkA], nullptr);
  EXPECT_EQ(g_nvtx.domains[NVTX_CBID_CORE2_DomainMarkEx], nullptr);
  reset_nvtx();
  g_nvtx.has_core = false;
  EXPECT_FALSE(cuda::install_nvtx_listener(export_table_address(), kListener));
  reset_nvtx();
  g_nvtx.has_callbacks = false;
  EXPECT_FALSE(cuda::install_nvtx_listener(export_table_address(), kListener));
  reset_nvtx();
  g_nvtx.callbacks.struct_size = sizeof(NvtxExportTableCallbacks) - 1;
  EXPECT_FALSE(cuda::install_nvtx_listener(export_table_address(), kListener));
  reset_nvtx();
  g_nvtx.says_it_has_none = true;
  EXPECT_FALSE(cuda::install_nvtx_listener(export_table_address(), kListener));
  reset_nvtx();
  g_nvtx.core_size = NVTX_CBID_CORE_RangePop;  // an older copy, with fewer functions
  EXPECT_TRUE(cuda::install_nvtx_listener(export_table_address(), kListener));
  EXPECT_NE(g_nvtx.core[NVTX_CBID_CORE_RangePop - 1], nullptr);
  EXPECT_EQ(g_nvtx.core[NVTX_CBID_CORE_RangePop], nullptr);
  EXPECT_EQ(g_nvtx.core[NVTX_CBID_CORE_NameCategoryA], nullptr);
  reset_nvtx();
  g_nvtx.core_table[NVTX_CBID_CORE_MarkA] = nullptr;  // a function that this copy lacks
  EXPECT_TRUE(cuda::install_nvtx_listener(export_table_address(), kListener));
  EXPECT_EQ(g_nvtx.core[NVTX_CBID_CORE_MarkA], nullptr);
  EXPECT_NE(g_nvtx.core[NVTX_CBID_CORE_MarkW], nullptr);
}

std::vector<std::string> g_captured;

// Ranges as records. All on one observer, because a process has one.
class NvtxObserverTest : public testing::Test {
 protected:
  NvtxObserverTest() {
    reset_nvtx();
    g_captured.clear();
    EXPECT_TRUE(NvtxObserver::install(observer(), export_table_address()));
    observer().set_capture_range("", nullptr);
    observer().begin_recording();
    observer().set_listening(true);
    losses().reset();
    handover().drain([](const std::byte*) {});
  }
  ~NvtxObserverTest() override { observer().end_recording(); }

  static ThreadHandover& handover() { return one_handover().handover; }
  static StringTable& strings() {
    static auto& made = *new StringTable;
    return made;
  }
  static NvtxObserver& observer() {
    static auto& made = *new NvtxObserver(strings(), handover(), losses());
    return made;
  }
  static LossCounters& losses() {
    static auto& made = *new LossCounters;
    return made;
  }

  std::vector<trace::RangeRecord> ranges() {
    std::vector<trace::RangeRecord> found;
    handover().drain([&](const std::byte* slot) {
      trace::RangeRecord range;
      std::memcpy(&range, slot, sizeof range);
      if (range.header.kind == trace::RecordKind::kRange) found.push_back(range);
    });
    return found;
  }
};

TEST_F(NvtxObserverTest, MakesARecordOfWhatHasEnded) {
  const auto domain = domains<CreateText>(NVTX_CBID_CORE2_DomainCreateA)("mine");
  const nvtxEventAttributes_t red = attributes("red", 0xFFFF0000);
  core<PushText>(NVTX_CBID_CORE_RangePushA)("outer");
  domains<DomainPush>(NVTX_CBID_CORE2_DomainRangePushEx)(domain, &red);
  EXPECT_THAT(ranges(), IsEmpty());
  core<Pop>(NVTX_CBID_CORE_RangePop)();  // of the default domain: not the last push
  domains<DomainPop>(NVTX_CBID_CORE2_DomainRangePop)(domain);
  core<Pop>(NVTX_CBID_CORE_RangePop)();  // one too many
  core<OfText>(NVTX_CBID_CORE_MarkA)("mark");
  const auto found = ranges();
  ASSERT_THAT(found, SizeIs(3));
  const auto thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  EXPECT_EQ(found[0].name, strings().intern("outer"));
  EXPECT_EQ(found[0].domain, trace::kNoId);
  EXPECT_EQ(found[0].color, 0u);
  EXPECT_EQ(found[0].thread, thread);
  EXPECT_EQ(found[0].end_thread, thread);
  EXPECT_LE(found[0].start_ns, found[1].start_ns);
  EXPECT_LE(found[0].end_ns, found[1].end_ns);
  EXPECT_LT(found[0].start_ns, found[0].end_ns);
  EXPECT_EQ(found[1].name, strings().intern("red"));
  EXPECT_EQ(found[1].domain, strings().intern("mine"));
  EXPECT_EQ(found[1].color, 0xFFFF0000u);
  EXPECT_EQ(found[2].name, strings().intern("mark"));
  EXPECT_EQ(found[2].start_ns, found[2].end_ns);
}

TEST_F(NvtxObserverTest, EndsARangeOnAnotherThread) {
  const nvtxRangeId_t first = core<StartText>(NVTX_CBID_CORE_RangeStartA)("first");
  const nvtxRangeId_t second = core<StartText>(NVTX_CBID_CORE_RangeStartA)("second");
  const auto thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  std::uint32_t other = 0;
  std::thread([&] {
    other = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    core<End>(NVTX_CBID_CORE_RangeEnd)(first);
    core<End>(NVTX_CBID_CORE_RangeEnd)(first);  // ended already
    core<End>(NVTX_CBID_CORE_RangeEnd)(second + 100);
  }).join();
  const auto found = ranges();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].name, strings().intern("first"));
  EXPECT_EQ(found[0].thread, thread);
  EXPECT_EQ(found[0].end_thread, other);
  core<End>(NVTX_CBID_CORE_RangeEnd)(second);
  EXPECT_THAT(ranges(), SizeIs(1));
}

TEST_F(NvtxObserverTest, RecordsOnlyWhileItListens) {
  core<PushText>(NVTX_CBID_CORE_RangePushA)("ends while not listening");
  observer().set_listening(false);
  core<Pop>(NVTX_CBID_CORE_RangePop)();
  core<OfText>(NVTX_CBID_CORE_MarkA)("mark");
  core<PushText>(NVTX_CBID_CORE_RangePushA)("pushed before");
  const nvtxRangeId_t idle = core<StartText>(NVTX_CBID_CORE_RangeStartA)("started while idle");
  EXPECT_THAT(ranges(), IsEmpty());
  observer().set_listening(true);
  core<Pop>(NVTX_CBID_CORE_RangePop)();
  core<End>(NVTX_CBID_CORE_RangeEnd)(idle);
  const auto found = ranges();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].name, strings().intern("pushed before"));
}

TEST_F(NvtxObserverTest, TellsWhenTheWantedRangeStartsAndEnds) {
  observer().set_listening(false);
  observer().set_capture_range("wanted", [](bool is_start) { g_captured.emplace_back(is_start ? "start" : "end"); });
  core<PushText>(NVTX_CBID_CORE_RangePushA)("wanted");
  core<PushText>(NVTX_CBID_CORE_RangePushA)("other");
  EXPECT_THAT(g_captured, ElementsAre("start"));
  core<Pop>(NVTX_CBID_CORE_RangePop)();
  EXPECT_THAT(g_captured, ElementsAre("start"));
  core<Pop>(NVTX_CBID_CORE_RangePop)();
  EXPECT_THAT(g_captured, ElementsAre("start", "end"));
  const nvtxRangeId_t range = core<StartText>(NVTX_CBID_CORE_RangeStartA)("wanted");
  core<End>(NVTX_CBID_CORE_RangeEnd)(range);
  EXPECT_THAT(g_captured, ElementsAre("start", "end", "start", "end"));
  observer().set_capture_range("", nullptr);
  core<PushText>(NVTX_CBID_CORE_RangePushA)("wanted");
  core<Pop>(NVTX_CBID_CORE_RangePop)();
  EXPECT_THAT(g_captured, SizeIs(4)) << "nothing special in the next recording";
}

TEST_F(NvtxObserverTest, TellsTheDepthOfARange) {
  EXPECT_EQ(core<PushText>(NVTX_CBID_CORE_RangePushA)("outer"), 0);
  EXPECT_EQ(core<PushText>(NVTX_CBID_CORE_RangePushA)("inner"), 1);
  EXPECT_EQ(core<Pop>(NVTX_CBID_CORE_RangePop)(), 1);
  EXPECT_EQ(core<Pop>(NVTX_CBID_CORE_RangePop)(), 0);
  EXPECT_EQ(core<Pop>(NVTX_CBID_CORE_RangePop)(), 0) << "one more pop than pushes";
  EXPECT_EQ(core<PushText>(NVTX_CBID_CORE_RangePushA)("again"), 0);
}

TEST_F(NvtxObserverTest, NotesNothingBetweenTwoRecordings) {
  core<PushText>(NVTX_CBID_CORE_RangePushA)("open at the end");
  observer().end_recording();
  std::thread([] {
    core<PushText>(NVTX_CBID_CORE_RangePushA)("between");
    core<StartText>(NVTX_CBID_CORE_RangeStartA)("started between");
    core<OfText>(NVTX_CBID_CORE_MarkA)("marked between");
    core<Pop>(NVTX_CBID_CORE_RangePop)();
  }).join();
  const std::uint32_t newest = strings().intern("newest");
  EXPECT_EQ(strings().intern("between"), newest + 1) << "it was not entered before";
  observer().begin_recording();
  observer().set_listening(true);
  core<Pop>(NVTX_CBID_CORE_RangePop)();
  EXPECT_THAT(ranges(), IsEmpty()) << "of the recording before";
  EXPECT_EQ(core<PushText>(NVTX_CBID_CORE_RangePushA)("first"), 0);
  core<Pop>(NVTX_CBID_CORE_RangePop)();
  EXPECT_THAT(ranges(), SizeIs(1));
}

TEST_F(NvtxObserverTest, CountsNestedRangesThatItDoesNotNote) {
  for (int depth = 0; depth < 70; ++depth) {
    EXPECT_EQ(core<PushText>(NVTX_CBID_CORE_RangePushA)(std::to_string(depth).c_str()), depth);
  }
  EXPECT_EQ(losses().get(trace::Loss::kRangesTooMany), 6u);
  for (int depth = 69; depth >= 0; --depth) EXPECT_EQ(core<Pop>(NVTX_CBID_CORE_RangePop)(), depth);
  const auto found = ranges();
  ASSERT_THAT(found, SizeIs(64));
  EXPECT_EQ(found.front().name, strings().intern("63"));
  EXPECT_EQ(found.back().name, strings().intern("0"));
}

TEST_F(NvtxObserverTest, CountsStartedRangesThatItDoesNotNote) {
  const auto start = core<StartText>(NVTX_CBID_CORE_RangeStartA);
  const nvtxRangeId_t first = start("never ends");
  for (int i = 1; i < 65'536; ++i) start("never ends");
  EXPECT_EQ(losses().get(trace::Loss::kRangesTooMany), 0u);
  start("one too many");
  EXPECT_EQ(losses().get(trace::Loss::kRangesTooMany), 1u);
  core<End>(NVTX_CBID_CORE_RangeEnd)(first);
  start("fits again");
  EXPECT_EQ(losses().get(trace::Loss::kRangesTooMany), 1u);
}

}  // namespace
}  // namespace turnpike::record
