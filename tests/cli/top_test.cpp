// What `turnpike top` makes of live pages: of whole ones, of torn ones and of ones that lie.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/live_process.h"
#include "cli/top_rates.h"
#include "cli/top_text.h"
#include "report/text/text_width.h"

namespace turnpike::cli {
namespace {

using record::LivePage;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000'000;

template <std::size_t kSize>
void put(char (&to)[kSize], const std::string& text) {
  ASSERT_LT(text.size(), kSize);
  std::memcpy(to, text.c_str(), text.size() + 1);
}

std::shared_ptr<LivePage> page_at(std::int64_t seconds) {
  auto page = std::make_shared<LivePage>();
  page->magic = record::kLivePageMagic;
  page->version = record::kLivePageVersion;
  page->struct_bytes = sizeof(LivePage);
  page->pid = static_cast<std::uint32_t>(getpid());
  page->state = record::LiveState::kRecording;
  page->start_monotonic_ns = 100 * kSecond;
  page->updated_monotonic_ns = (100 + seconds) * kSecond;
  put(page->program, std::string("python\x1ftrain.py"));
  return page;
}

void add_site(LivePage& page, const std::string& file, std::uint32_t line, std::uint64_t count,
              std::uint64_t host_time_ns) {
  record::LiveSite& site = page.sites[page.site_count++];
  page.known_sites = page.site_count;
  put(site.file, file);
  site.line = line;
  site.count = count;
  site.bytes = count * 1000;
  site.host_time_ns = host_time_ns;
}

ProcessRate rate_of(const std::shared_ptr<LivePage>& page) {
  return TopHistory(5).add({{4711, page, ""}}).at(0);
}

TEST(TopRates, AreOfTheWindowAndNotOfTheWholeRun) {
  TopHistory history(5);
  const auto first = page_at(10), second = page_at(12);
  first->transfer_count[0] = 1000;
  first->transfer_bytes[0] = 50'000'000'000;
  first->host_time_ns = 9 * kSecond;
  add_site(*first, "/home/u/train.py", 7, 1000, 9 * kSecond);
  *second = *first;
  second->updated_monotonic_ns = 112 * kSecond;
  second->transfer_count[0] += 20;
  second->transfer_bytes[0] += 4'000'000'000;
  second->pageable_bytes[0] += 1'000'000'000;
  second->host_time_ns += kSecond;
  second->sites[0].count += 20;
  second->sites[0].host_time_ns += kSecond / 2;

  const ProcessRate since_start = history.add({{4711, first, ""}}).at(0);
  EXPECT_DOUBLE_EQ(since_start.seconds, 10);
  EXPECT_DOUBLE_EQ(since_start.gbps[0], 5);
  EXPECT_DOUBLE_EQ(since_start.host_time_pct, 90);

  const ProcessRate now = history.add({{4711, second, ""}}).at(0);
  EXPECT_DOUBLE_EQ(now.seconds, 2);
  EXPECT_DOUBLE_EQ(now.gbps[0], 2);
  EXPECT_DOUBLE_EQ(now.gbps[1], 0);
  EXPECT_DOUBLE_EQ(now.transfers_per_second, 10);
  EXPECT_DOUBLE_EQ(now.pageable_pct, 25);
  EXPECT_DOUBLE_EQ(now.host_time_pct, 50);
  ASSERT_THAT(now.sites, SizeIs(1));
  EXPECT_DOUBLE_EQ(now.sites[0].per_second, 10);
  EXPECT_DOUBLE_EQ(now.sites[0].host_time_pct, 25);
}

TEST(TopRates, AProcessThatHangsHasNoneAndTakesNoMemory) {
  TopHistory history(2);
  const auto before = page_at(1), last = page_at(2);
  last->transfer_bytes[0] = 1'000'000'000;
  history.add({{4711, before, ""}});
  EXPECT_GT(history.add({{4711, last, ""}}).at(0).gbps[0], 0);
  ProcessRate rate;
  for (int i = 0; i < 1000; ++i) rate = history.add({{4711, last, ""}}).at(0);
  EXPECT_EQ(rate.gbps[0], 0);
  EXPECT_EQ(rate.seconds, 0);
}

TEST(TopRates, ASiteThatWasNotAmongTheTopOnesIsNotCountedFromItsBeginning) {
  TopHistory history(5);
  const auto before = page_at(10), now = page_at(11);
  before->known_sites = 100;
  add_site(*now, "late.py", 1, 5000, 60 * kSecond);
  history.add({{4711, before, ""}});
  before->known_sites = 100;
  const ProcessRate rate = history.add({{4711, now, ""}}).at(0);
  EXPECT_EQ(rate.sites.at(0).per_second, 0);
}

TEST(TopRates, AnotherRecordingOfTheSameProcessBeginsAnew) {
  TopHistory history(5);
  const auto first = page_at(10), other = page_at(20);
  first->transfer_count[0] = 1'000'000;
  other->start_monotonic_ns = 119 * kSecond;
  other->transfer_count[0] = 30;
  history.add({{4711, first, ""}});
  const ProcessRate rate = history.add({{4711, other, ""}}).at(0);
  EXPECT_DOUBLE_EQ(rate.seconds, 1);
  EXPECT_DOUBLE_EQ(rate.transfers_per_second, 30);
}

TEST(TopRates, AProcessThatEndedComesOnceMore) {
  TopHistory history(5);
  history.add({{4711, page_at(10), ""}});
  const auto rates = history.add({});
  ASSERT_THAT(rates, SizeIs(1));
  EXPECT_TRUE(rates[0].has_ended);
  EXPECT_THAT(to_text(rates[0], {}), HasSubstr("(ended)"));
  EXPECT_EQ(nlohmann::json::parse(to_json(rates))["processes"][0]["state"], "ended");
  EXPECT_THAT(history.add({}), SizeIs(0));
}

TEST(TopText, FitsEveryWidth) {
  const auto page = page_at(10);
  put(page->rank, "3");
  put(page->devices[0].name, "NVIDIA H100 80GB HBM3");
  page->device_count = 1;
  page->transfer_bytes[0] = 123'000'000'000;
  page->transfer_count[0] = 12345;
  add_site(*page, "/home/u/a_project_with_a_long_name/the_training_loop_of_the_second_experiment.py", 123, 12345,
           5 * kSecond);
  put(page->sites[0].op, "_to_copy");
  for (const std::size_t width : {100, 80, 60, 40}) {
    const std::string text = to_text(rate_of(page), {.width = width});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(report::display_width(line), width) << line;
    EXPECT_THAT(text, HasSubstr("process 4711, rank 3 (recording)"));
    EXPECT_THAT(text, HasSubstr("12.3 GB/s of ")) << width;
    EXPECT_THAT(text, HasSubstr("py:123")) << width;
    EXPECT_EQ(text.find('#') != std::string::npos, width >= 60) << "the bar, where it has room: " << text;
  }
  EXPECT_THAT(to_text(rate_of(page), {.width = 40}), HasSubstr("...")) << "shortened in the middle";
}

TEST(TopText, SortsAsAsked) {
  const auto page = page_at(10);
  add_site(*page, "slow.py", 1, 1, 5 * kSecond);
  add_site(*page, "many.py", 2, 900, kSecond);
  const auto is_first = [&](const std::string& first, const std::string& second, TopSort sort) {
    const std::string text = to_text(rate_of(page), {.sort = sort});
    return text.find(first) < text.find(second);
  };
  EXPECT_TRUE(is_first("slow.py:1", "many.py:2", TopSort::kHostTime));
  EXPECT_TRUE(is_first("many.py:2", "slow.py:1", TopSort::kCount));
  EXPECT_TRUE(is_first("many.py:2", "slow.py:1", TopSort::kBytes));
}

TEST(TopText, NeitherCommandsTheTerminalNorBreaksTheJsonNorTheMetrics) {
  const auto page = page_at(10);
  put(page->program, "\x1b]0;owned\x07 evil\nname");
  put(page->rank, "\"} 1\nfake 2");
  put(page->host, "\xff\xfe");
  put(page->job_id, "back\\slash");
  add_site(*page, "a\x1b[2J\"b.py", 3, 1, kSecond);
  const ProcessRate rate = rate_of(page);
  EXPECT_THAT(to_text(rate, {}), Not(HasSubstr("\x1b")));
  EXPECT_EQ(nlohmann::json::parse(to_json({rate}))["processes"][0]["rank"], "\"} 1\nfake 2");
  const std::string metrics = to_metrics({rate.process}, 5);
  EXPECT_THAT(metrics, Not(HasSubstr("\x1b")));
  EXPECT_THAT(metrics, Not(HasSubstr("\nfake")));
  EXPECT_THAT(metrics, HasSubstr("back\\\\slash"));
}

// Prometheus' text format: HELP and TYPE once before the samples of a family, each series once.
void expect_is_valid(const std::string& metrics) {
  static const std::regex kHelp(R"(# HELP ([a-z_]+) [A-Z][^\n]*\.)");
  static const std::regex kType(R"(# TYPE ([a-z_]+) (counter|gauge))");
  static const std::regex kSample(
      R"re(([a-z_]+)\{([a-z_]+="(?:[^"\\\n]|\\[\\n"])*"(?:,[a-z_]+="(?:[^"\\\n]|\\[\\n"])*")*)\} [0-9]+(\.[0-9]+)?)re");
  std::set<std::string> families, series;
  std::string family, type;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, kHelp)) {
      family = found[1];
      EXPECT_TRUE(families.insert(family).second) << line;
    } else if (std::regex_match(line, found, kType)) {
      EXPECT_EQ(found[1], family);
      type = found[2];
      EXPECT_EQ(type == "counter", family.ends_with("_total")) << line;
    } else {
      ASSERT_TRUE(std::regex_match(line, found, kSample)) << line;
      EXPECT_EQ(found[1], family);
      EXPECT_TRUE(series.insert(line.substr(0, line.rfind('}'))).second) << "twice: " << line;
    }
  }
  EXPECT_EQ(metrics.back(), '\n');
}

TEST(TopMetrics, AreValidAndCountByMemory) {
  const auto page = page_at(10);
  put(page->rank, "1");
  page->transfer_count[0] = 10;
  page->pageable_count[0] = 6;
  page->pinned_count[0] = 3;
  page->transfer_bytes[1] = 70;
  page->pageable_bytes[1] = 70;
  page->device_time_ns[0] = 1'500'000'000;
  page->host_time_ns = 2'000'000'001;
  add_site(*page, "train.py", 7, 1, 1'000'000'000);
  add_site(*page, "train.py", 7, 1, 500'000'000);  // cut to the same text
  const std::string metrics = to_metrics({{4711, page, ""}, {4712, nullptr, "of another version"}}, 64);
  expect_is_valid(metrics);
  const auto has = [&](const std::string& line) { EXPECT_THAT(metrics, HasSubstr("\n" + line + "\n")); };
  has(R"(turnpike_transfers_total{pid="4711",rank="1",direction="h2d",memory="pageable"} 6)");
  has(R"(turnpike_transfers_total{pid="4711",rank="1",direction="h2d",memory="pinned"} 3)");
  has(R"(turnpike_transfers_total{pid="4711",rank="1",direction="h2d",memory="other"} 1)");
  has(R"(turnpike_transfer_bytes_total{pid="4711",rank="1",direction="d2h",memory="pageable"} 70)");
  has(R"(turnpike_transfer_seconds_total{pid="4711",rank="1",direction="h2d"} 1.500000000)");
  has(R"(turnpike_blocked_seconds_total{pid="4711",rank="1"} 2.000000001)");
  EXPECT_THAT(metrics, HasSubstr("} 1.500000000\n"));
  EXPECT_THAT(metrics, Not(HasSubstr("4712")));
  expect_is_valid(to_metrics({}, 64));
}

// Every byte the worst it can be: nothing is read outside the page, and nothing divided by zero.
TEST(CheckedPage, TrustsNothing) {
  for (const int byte : {0xff, 0x80, 0x7f, 0x01, 0x41}) {
    LivePage page;
    std::memset(&page, byte, sizeof(page));
    std::string problem;
    EXPECT_EQ(checked_page(&page, sizeof(page), problem), nullptr);
    EXPECT_THAT(problem, HasSubstr("another version"));
    page.magic = record::kLivePageMagic;
    page.version = record::kLivePageVersion;
    page.struct_bytes = sizeof(page);
    const auto checked = checked_page(&page, sizeof(page), problem);
    ASSERT_NE(checked, nullptr);
    EXPECT_LE(checked->site_count, LivePage::kMostSites);
    EXPECT_LE(checked->device_count, LivePage::kMostDevices);
    TopHistory history(5);
    for (const auto& rates : {history.add({{1, checked, ""}}), history.add({{1, checked, ""}}), history.add({})}) {
      for (const ProcessRate& one : rates) to_text(one, {.width = 40});
      EXPECT_TRUE(nlohmann::json::accept(to_json(rates)));
    }
    expect_is_valid(to_metrics({{1, checked, ""}}, 64));
  }
  std::string problem;
  EXPECT_EQ(checked_page("", 0, problem), nullptr);
}

// A page of this process, as its recorder would hold one.
class SharedPage {
 public:
  explicit SharedPage(std::size_t size = sizeof(LivePage)) : file_(memfd_create(record::kLivePageName, MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_, static_cast<off_t>(size)), 0);
  }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  ~SharedPage() { close(file_); }
  void write(const LivePage& page) const {
    EXPECT_EQ(pwrite(file_, &page, sizeof(page), 0), static_cast<ssize_t>(sizeof(page)));
  }
  int file() const { return file_; }

 private:
  int file_;
};

std::optional<LiveProcess> own_page() {
  return live_process(static_cast<std::uint32_t>(getpid()));
}

TEST(LiveProcess, IsNotThereWithoutAPage) {
  EXPECT_FALSE(own_page());
  EXPECT_FALSE(live_process(0));
  EXPECT_FALSE(live_process(std::numeric_limits<std::uint32_t>::max()));
  const SharedPage of_no_size(0);
  EXPECT_FALSE(own_page()) << "a recording that begins";
}

TEST(LiveProcess, IsFoundByItsPage) {
  const SharedPage shared;
  const auto page = page_at(3);
  page->sequence = 2;
  shared.write(*page);
  const auto found = own_page();
  ASSERT_TRUE(found && found->page);
  EXPECT_EQ(program_text(*found->page), "python train.py");
}

TEST(LiveProcess, IsNotShownByThePageOfItsParent) {
  const SharedPage shared;
  const auto page = page_at(3);
  page->sequence = 2;
  page->pid = static_cast<std::uint32_t>(getppid());
  shared.write(*page);
  EXPECT_FALSE(own_page());
}

TEST(LiveProcess, SaysWhatIsWrongWithAPage) {
  const auto page = page_at(3);
  {
    const SharedPage shared;
    page->sequence = 7;
    shared.write(*page);
    EXPECT_THAT(own_page()->problem, HasSubstr("not written to its end"));
    page->sequence = 8;
    page->version = 99;
    shared.write(*page);
    EXPECT_THAT(own_page()->problem, HasSubstr("another version"));
  }
  const SharedPage longer(sizeof(LivePage) + 8);
  EXPECT_THAT(own_page()->problem, HasSubstr("another version"));
}

// The owner writes all the time. Each read still sees a single update.
TEST(LiveProcess, IsNeverOfTwoUpdates) {
  const SharedPage shared;
  auto* words = static_cast<std::uint64_t*>(
      mmap(nullptr, sizeof(LivePage), PROT_READ | PROT_WRITE, MAP_SHARED, shared.file(), 0));
  ASSERT_NE(words, MAP_FAILED);
  const auto start = page_at(3);
  start->sequence = 2;
  shared.write(*start);
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    auto* page = reinterpret_cast<LivePage*>(words);
    const auto store = [](std::uint64_t& to, std::uint64_t value) {
      std::atomic_ref(to).store(value, std::memory_order_relaxed);
    };
    for (std::uint64_t i = 1; !is_over; ++i) {
      store(page->sequence, 2 * i + 1);
      std::atomic_thread_fence(std::memory_order_release);
      store(page->kernel_count, i);
      store(page->sites[LivePage::kMostSites - 1].count, i);
      store(page->sync_count, i);
      std::atomic_thread_fence(std::memory_order_release);
      store(page->sequence, 2 * i + 2);
      if (i % 4 == 0) usleep(50);
    }
  });
  int seen = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto found = own_page();
    if (!found || !found->page) continue;
    ++seen;
    EXPECT_EQ(found->page->kernel_count, found->page->sync_count);
    EXPECT_EQ(found->page->kernel_count, found->page->sites[LivePage::kMostSites - 1].count);
  }
  is_over = true;
  writer.join();
  munmap(words, sizeof(LivePage));
  EXPECT_GT(seen, 1000);
}

}  // namespace
}  // namespace turnpike::cli
