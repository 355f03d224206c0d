// The whole page: its parts, its policy, and that no name of a recording gets out of its place.
#include "report/html/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyze/rules/step_program.h"
#include "base/base64.h"
#include "base/sha256.h"
#include "report/html/hostile.h"
#include "report/html/page_data.h"
#include "report/html/program.h"

namespace turnpike::report::html {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string written(Page& page, const analyze::Report& report) {
  std::string html;
  page.write(report, [&](std::string_view bytes) { html += bytes; });
  return html;
}

void add(Page& page, Recording& recording) {
  const analyze::Timeline timeline = recording.loader.take();
  page.add({recording.process, timeline, nullptr, nullptr, nullptr});
}

std::string page_of(Recording& recording, const analyze::Report& report = {}, PageOptions options = {}) {
  Page page(options, 1);
  add(page, recording);
  return written(page, report);
}

TEST(HtmlPage, HasItsPartsInTheirOrder) {
  Recording recording;
  add_loop(recording, 5);
  const std::string html = page_of(recording);
  std::size_t last = 0;
  for (const char* part :
       {"<!doctype html>", "<meta charset=\"utf-8\">", "Content-Security-Policy", "<title>", "<style>",
        "<main id=\"tp-static\" class=\"document\">", "<h1>", "</main>", "<div id=\"tp-app\"></div>",
        "id=\"tp-report\"", "id=\"tp-toc\"", "id=\"tp-b0\"", "</script>\n<script>", "</html>"}) {
    const auto at = html.find(part, last);
    ASSERT_NE(at, std::string::npos) << part;
    last = at;
  }
}

TEST(HtmlPage, LetsOnlyItsOwnProgramAndStyleRun) {
  Recording recording;
  add_loop(recording, 5);
  const std::string html = page_of(recording);
  const auto hash = [](std::string_view bytes) {
    const auto digest = sha256(bytes);
    return "&#39;sha256-" + base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "&#39;";
  };
  const std::string style = between(html, "<style>", "</style>");
  const auto last = html.rfind("<script>");
  const std::string script = html.substr(last + 8, html.rfind("</script>") - last - 8);
  const std::string head = between(html, "<head>", "<title>");
  EXPECT_EQ(style, page_style());
  EXPECT_EQ(script, page_script());
  EXPECT_THAT(head, HasSubstr("script-src " + hash(script) + ";"));
  EXPECT_THAT(head, HasSubstr("style-src " + hash(style) + ";"));
  EXPECT_THAT(head, HasSubstr("default-src &#39;none&#39;"));
  EXPECT_THAT(head, HasSubstr("require-trusted-types-for &#39;script&#39;; trusted-types turnpike"));
  EXPECT_THAT(head, Not(HasSubstr("unsafe")));
  // What the policy would block must not be there.
  const std::string document = between(html, "<main", "</main>");
  EXPECT_THAT(document, Not(HasSubstr("style=")));
  EXPECT_THAT(html.substr(0, last), Not(HasSubstr("://")));
}

TEST(HtmlPage, KeepsEventsSortedApartAndLinked) {
  Recording recording;
  add_loop(recording, 50);
  recording.kernel("beside", 0, 520'000, 700'000);
  recording.kernel("inside", 0, 530'000, 540'000);
  recording.call(trace::CallKind::kOther, "outer", 900, 100, 400'000);
  const std::string html = page_of(recording);
  expect_lanes(html);
  const Json contents = contents_of(html);
  std::uint64_t first = 0;
  bool is_linked = false;
  std::map<std::uint64_t, std::uint64_t> class_of_number;
  for (const Json& lane : contents["lanes"]) {
    const auto events = events_of(html, lane);
    for (std::size_t i = 0; i < events.size(); ++i) class_of_number[first + i] = events[i].event_class;
    if (lane["kind"] == "stream") {
      for (const Decoded& event : events) {
        if (event.link == kNoLink) continue;
        is_linked = true;
        EXPECT_EQ(class_of_number.at(event.link), static_cast<std::uint64_t>(Class::kLaunch));
      }
    }
    if (lane["kind"] == "copy_up") {
      for (const Decoded& event : events) {
        EXPECT_EQ(class_of_number.at(event.link), static_cast<std::uint64_t>(Class::kBlocked));
        EXPECT_EQ(event.event_class, static_cast<std::uint64_t>(Class::kPageable));
      }
    }
    first += events.size();
  }
  EXPECT_TRUE(is_linked);
}

TEST(HtmlPage, OpensAroundTheMedianStep) {
  Recording recording;
  add_loop(recording, 40);
  const Json contents = contents_of(page_of(recording));
  const std::int64_t from = contents["window"][0];
  const std::int64_t to = contents["window"][1];
  EXPECT_GE(from, 18'000'000);
  EXPECT_LE(to, contents["span_ns"].get<std::int64_t>());
  EXPECT_NEAR(static_cast<double>(to - from), 2.5e6, 1e5);
  EXPECT_EQ(contents["lanes"][0]["kind"], "steps");
  EXPECT_EQ(contents["strings"][contents["lanes"][0]["names"][3].get<std::size_t>()], "step 3");
}

void add_everywhere(const std::string& name, Recording& recording) {
  recording.process.metadata = {{"program", name}, {"rank", name}};
  add_loop(recording, 4, name);
  recording.range(name, 0, 10'000'000);
}

analyze::Report report_full_of(const std::string& name) {
  analyze::Report report;
  report.source.program = name;
  report.source.paths = report.source.hosts = report.source.unusable = {name};
  report.source.devices = {{.name = name}};
  report.source.versions = {{"python", name}};
  report.source.inputs.notes = {name};
  report.losses[name] = 3;
  report.verdict.why = name;
  analyze::Site site;
  site.site = name;
  site.library_site = site.forward_site = site.function = site.file = name;
  site.line = 3;
  site.op = name;
  site.stack = {name};
  site.host_blocked_ns = 5;
  report.sites = {site};
  analyze::SyncSite sync;
  sync.site = sync.api.emplace(name);
  report.sync_sites = {sync};
  analyze::IdleSite idle;
  idle.site = name;
  report.idle = {idle};
  report.ranges.emplace_back().name = name;
  analyze::HostThread thread;
  thread.name = name;
  thread.busiest_lines = {name, name};
  report.verdict.threads = {thread};
  analyze::Finding finding;
  finding.site = finding.title = finding.evidence = finding.advice = finding.rule = finding.saving_reason = name;
  finding.saving_pct = 10;
  finding.alternatives = {{.advice = name}};
  report.findings = {finding};
  report.paths.frames = {{name, name, name, name}};
  report.paths.nodes = {{.parent = analyze::kNoParent, .frame = 0}};
  report.paths.costs = {{.node = 0, .what = name, .direction = std::nullopt}};
  report.paths.costs[0].host_blocked_ns = report.paths.costs[0].count = 5;
  return report;
}

// The script element of that id, as JSON.
Json json_of(const std::string& html, const std::string& id) {
  return Json::parse(between(html, "<script type=\"application/json\" id=\"" + id + "\">", "</script>"));
}

TEST(HtmlPage, OfNamesOfAMegabyteIsSmallAndWhole) {
  const std::string name = "first" + std::string(1'000'000, '<') + "last";
  constexpr const char* kLength = "(1000009 bytes in all)";
  Recording recording;
  add_everywhere(name, recording);
  const std::string html = page_of(recording, report_full_of(name));
  EXPECT_LT(html.size(), 2'000'000u);
  expect_lanes(html);
  const Json contents = contents_of(html);
  std::map<std::string, std::size_t> counts;
  for (const Json& lane : contents["lanes"]) counts[lane["kind"]] += events_of(html, lane).size();
  EXPECT_EQ(counts["copy_up"], 4u);
  EXPECT_EQ(counts["stream"], 4u);
  EXPECT_EQ(counts["host"], 8u);
  const Json report = json_of(html, "tp-report");
  // Everywhere the same text, by which the page finds a place again.
  const std::string site = report["sites"][0]["site"];
  EXPECT_THAT(site, testing::AllOf(testing::StartsWith("first<<<"), testing::EndsWith("<<<last"), HasSubstr(kLength)));
  EXPECT_EQ(report["findings"][0]["site"], site);
  EXPECT_EQ(report["losses"][site], 3);
  EXPECT_THAT(contents["strings"], testing::Contains(site));
  const std::string document = html.substr(0, html.find("</main>"));
  for (const char* place : {"one line: first&lt;", "<td>first&lt;", "<p class=\"advice\">Fix: first&lt;"}) {
    EXPECT_THAT(document, HasSubstr(place));
  }
  EXPECT_GT(count_of(document, kLength), 10u);
}

TEST(HtmlPage, SaysOfALongWaitThatItIsNoCause) {
  Recording recording;
  add_loop(recording, 5);
  analyze::Report report;
  report.span_ns = 2'000'000'000;
  analyze::SyncSite sync;
  sync.site = "ddp.py:<40>";
  sync.host_blocked_ns = 500'000'000;
  sync.gpu_idle_ns = 20'000'000;
  report.sync_sites = {sync};
  constexpr const char* kRemark =
      "Not a problem: the CPU waits 500\u00a0ms at ddp.py:&lt;40&gt;. The GPU is at work for 96\u00a0% of it";
  const auto findings_in = [](const std::string& html) {
    return between(html, "aria-label=\"Findings\">", "</section>");
  };
  const std::string html = page_of(recording, report);
  EXPECT_THAT(findings_in(html), HasSubstr(kRemark));
  EXPECT_THAT(contents_of(html)["wait_remark"],
              testing::StartsWith("Not a problem: the CPU waits 500 ms at ddp.py:<40>."));
  report.sync_sites[0].gpu_idle_ns = 400'000'000;
  const std::string other = page_of(recording, report);
  EXPECT_THAT(findings_in(other), Not(HasSubstr("is no cause")));
  EXPECT_FALSE(contents_of(other).contains("wait_remark"));
}

TEST(HtmlPage, NamesOfARecordingStayText) {
  for (const std::string& name : hostile_names()) {
    Recording recording;
    add_everywhere(name, recording);
    const std::string html = page_of(recording, report_full_of(name));
    // The parts of a page without any name, and no others.
    const std::string label = name.substr(0, 40);
    EXPECT_EQ(count_of(html, "<script"), count_of(html, "</script>")) << label;
    EXPECT_EQ(count_of(html, "<script"), 3 + contents_of(html)["lanes"].size()) << label;
    EXPECT_EQ(count_of(html, "<img"), 0u) << label;
    EXPECT_EQ(count_of(html, "</title>"), 1u) << label;
    const std::string document = html.substr(0, html.find("</main>"));
    for (const char* handler : {" onerror=\"", " onmouseover=\"", " onfocus='"}) {
      EXPECT_EQ(count_of(document, handler), 0u) << label;
    }
    EXPECT_TRUE(Json::accept(between(html, "id=\"tp-report\">", "</script>"))) << label;
    EXPECT_THAT(html, Not(HasSubstr("\xE2\x80\xA8")));
    EXPECT_THAT(html, Not(HasSubstr("\xE2\x80\xAE override</")));
    expect_lanes(html);
  }
}

TEST(HtmlPage, BearsTimesThatMakeNoSense) {
  Recording recording;
  add_loop(recording, 5);
  // Differences of these still fit into 64 bits.
  constexpr std::int64_t kMax = std::int64_t{1} << 61;
  constexpr std::int64_t kMin = -kMax;
  for (const auto& [start, end] : {std::pair{kMin, kMin}, {kMin + 1, kMax}, {kMax - 1, kMax}, {0l, 0l}, {10l, 5l}}) {
    recording.kernel_at("odd", 0, start, end);
  }
  const std::string html = page_of(recording);
  expect_lanes(html);
  EXPECT_THAT(html, HasSubstr("records have no usable times"));
}

TEST(HtmlPage, OfNothingIsAPage) {
  Recording recording;
  const std::string html = page_of(recording);
  const Json contents = contents_of(html);
  EXPECT_TRUE(contents["lanes"].empty());
  EXPECT_EQ(contents["span_ns"], 0);
}

TEST(HtmlPage, LeavesOutWhatIsTooMuchAndSaysSo) {
  Recording recording;
  add_loop(recording, 2000);
  PageOptions options;
  options.max_events = 5000;  // 2000 ranges, copies and blocked calls each are always there
  const std::string html = page_of(recording, {}, options);
  expect_lanes(html);
  const Json contents = contents_of(html);
  ASSERT_EQ(contents["left_out"].size(), 1u);
  EXPECT_THAT(contents["left_out"][0].get<std::string>(), HasSubstr("not in this file"));
  std::map<std::string, std::size_t> counts;
  bool is_drawn = false;
  for (const Json& lane : contents["lanes"]) {
    const auto events = events_of(html, lane);
    counts[lane["kind"]] += events.size();
    for (const Decoded& event : events) {
      if (event.event_class == static_cast<std::uint64_t>(Class::kLeftOut)) is_drawn = true;
    }
  }
  EXPECT_EQ(counts["copy_up"], 2000u);
  EXPECT_LT(counts["stream"], 10u);
  EXPECT_TRUE(is_drawn);
  EXPECT_THAT(between(html, "<main", "</main>"), HasSubstr("not in this file"));
}

TEST(HtmlPage, KeepsTheMostItMay) {
  Recording recording;
  add_loop(recording, 2000);
  PageOptions options;
  options.max_events = 7000;
  const std::string html = page_of(recording, {}, options);
  expect_lanes(html);
  std::size_t launches = 0;
  std::size_t kernels = 0;
  const Json contents = contents_of(html);
  for (const Json& lane : contents["lanes"]) {
    for (const Decoded& event : events_of(html, lane)) {
      if (event.event_class == static_cast<std::uint64_t>(Class::kLaunch)) ++launches;
      if (event.event_class == static_cast<std::uint64_t>(Class::kKernel)) ++kernels;
    }
  }
  EXPECT_EQ(launches + kernels, 1000u);
}

TEST(HtmlPage, PutsProcessesBesideEachOther) {
  Recording first;
  add_loop(first, 5);
  first.process.metadata["rank"] = "0";
  Recording second;
  add_loop(second, 5);
  second.process.metadata["rank"] = "1";
  Page page({}, 2);
  add(page, first);
  add(page, second);
  const std::string html = written(page, {});
  expect_lanes(html);
  const Json contents = contents_of(html);
  ASSERT_EQ(contents["groups"].size(), 2u);
  EXPECT_THAT(contents["groups"][1].get<std::string>(), HasSubstr("rank 1"));
  std::set<int> groups;
  for (const Json& lane : contents["lanes"]) groups.insert(lane["group"].get<int>());
  EXPECT_EQ(groups, (std::set<int>{0, 1}));
}

// Of a rank: its page data, and one collective from `start` to `end`, which another launch follows.
void add_rank(Page& page, const std::string& rank, std::int64_t start, std::int64_t end) {
  Recording recording;
  recording.process.metadata["rank"] = rank;
  recording.call(trace::CallKind::kLaunch, "cudaLaunchKernel", 1, start - 20'000, start - 15'000);
  recording.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", 1, start, end);
  recording.call(trace::CallKind::kLaunch, "cudaLaunchKernel", 2, end, end + 5'000);
  recording.kernel("gemm", 2, end + 10'000, end + 20'000);
  const analyze::Timeline timeline = recording.loader.take();
  const auto run = analyze::rank_run(recording.process, timeline, {0, 0}, 1);
  ASSERT_TRUE(run);
  page.add({recording.process, timeline, nullptr, nullptr, nullptr, nullptr, nullptr, &*run});
}

TEST(HtmlPage, DrawsWaitsForOtherRanksInTheLaneOfTheDevice) {
  Page page({}, 2);
  add_rank(page, "3", 100'000, 500'000);
  add_rank(page, "5", 400'000, 500'000);
  const std::string html = written(page, {});
  expect_lanes(html);
  const Json contents = contents_of(html);
  std::size_t waits = 0;
  for (const Json& lane : contents["lanes"]) {
    for (const Decoded& event : events_of(html, lane)) {
      if (event.event_class != static_cast<std::uint64_t>(Class::kIdleRank)) continue;
      ++waits;
      EXPECT_EQ(lane["kind"], "state");
      EXPECT_EQ(lane["title"], "GPU 0: what it waits for");
      EXPECT_EQ(lane["group"], 0);
      EXPECT_EQ(event.start, 20'000);
      EXPECT_EQ(event.duration, 300'000u);
      const std::size_t name = lane["names"][event.name];
      EXPECT_THAT(contents["strings"][name].get<std::string>(), testing::StartsWith("waits for rank 5 in "));
    }
  }
  EXPECT_EQ(waits, 1u);
  EXPECT_THAT(html, HasSubstr("<tr><th scope=\"row\">GPU 0: waits for other ranks</th><td><svg class=\"row\" "
                              "width=\"100%\" height=\"26\" role=\"img\" aria-label=\"GPU 0: waits for other "
                              "ranks: waiting 300 us"));
}

TEST(HtmlPage, OfOneRankShowsNoWaitForAnother) {
  Page page({}, 1);
  add_rank(page, "3", 100'000, 500'000);
  EXPECT_THAT(written(page, {}), Not(HasSubstr("waits for rank")));
}

// A chain of lines, each 1 us of cost deeper, under "main.py:1"; every other branch costs little.
analyze::CallPaths chain_of(std::uint32_t depth) {
  analyze::CallPaths paths;
  for (std::uint32_t i = 0; i < depth; ++i) {
    paths.frames.push_back({"main.py:" + std::to_string(i + 1), "", "/main.py", ""});
    paths.nodes.push_back({.parent = i == 0 ? analyze::kNoParent : i - 1, .frame = i});
    paths.costs.push_back({.node = i, .what = "aten::to", .direction = analyze::Direction::kHostToDevice, .count = 1});
    paths.costs.back().host_blocked_ns = 1'000'000;
  }
  return paths;
}

TEST(HtmlPage, ShowsTheCallPathsAsATree) {
  Recording recording;
  add_loop(recording, 3);
  analyze::Report report;
  report.paths = chain_of(3);
  report.paths.frames.push_back({"rare.py:7", "", "/rare.py", ""});
  report.paths.nodes.push_back({.parent = 0, .frame = 3});
  report.paths.costs.push_back({.node = 3, .what = "aten::item", .direction = std::nullopt, .count = 1});
  report.paths.costs.back().host_blocked_ns = 200'000;
  const std::string tree = between(page_of(recording, report), "id=\"tp-paths\">", "</section>");
  // All, then each line within the one before; what costs less than a tenth is folded.
  EXPECT_THAT(tree,
              testing::ContainsRegex("<details open><summary><b>3.20\u00a0ms</b> <i>100\u00a0%</i> all</summary>"));
  EXPECT_THAT(tree, HasSubstr("<details open><summary><b>2.00\u00a0ms</b> <i>62\u00a0%</i> main.py:2</summary>"));
  EXPECT_THAT(tree, HasSubstr("<details><summary><b>200\u00a0us</b> <i>6\u00a0%</i> rare.py:7</summary>"));
  EXPECT_THAT(tree, HasSubstr("aten::item, sync: 1 x"));
  EXPECT_EQ(count_of(tree, "<details"), count_of(tree, "</details>"));
  EXPECT_EQ(count_of(tree, "<ul"), count_of(tree, "</ul>"));
  EXPECT_EQ(count_of(tree, "<li>"), count_of(tree, "</li>"));
}

TEST(HtmlPage, TheTreeOfCallPathsIsBounded) {
  Recording recording;
  add_loop(recording, 3);
  analyze::Report report;
  report.paths = chain_of(90);  // each line has more than 1 % of all cost
  const std::string tree = between(page_of(recording, report), "id=\"tp-paths\">", "</section>");
  std::size_t depth = 0;
  std::size_t deepest = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (tree.compare(i, 8, "<details") == 0) deepest = std::max(deepest, ++depth);
    if (tree.compare(i, 9, "</details") == 0) --depth;
  }
  EXPECT_EQ(depth, 0u);
  EXPECT_LE(deepest, 60u);
  EXPECT_GT(deepest, 40u);
  EXPECT_THAT(tree, HasSubstr("main.py:90"));
  report.paths.costs.clear();
  EXPECT_THAT(page_of(recording, report), Not(HasSubstr("id=\"tp-paths\"")));
}

TEST(HtmlPage, IsTheSameForTheSameRun) {
  const auto once = [] {
    Recording recording;
    add_loop(recording, 20);
    return page_of(recording);
  };
  EXPECT_EQ(once(), once());
}

TEST(HtmlPage, SaysWhyThereIsNoSource) {
  Recording recording;
  add_loop(recording, 3);
  PageOptions options;
  options.has_source = false;
  EXPECT_THAT(contents_of(page_of(recording, {}, options))["no_source"].get<std::string>(), HasSubstr("--no-source"));
}

// A report of two lines of a file, and what was recorded around them.
analyze::Report report_with_source() {
  analyze::Report report;
  for (const std::uint32_t line : {60u, 10u}) report.lines.push_back({.file = "/home/me/train.py", .line = line});
  report.source_text.add("/home/me/train.py", "", 6, "six\nseven\neight\n");
  report.source_text.add("/home/me/train.py", "", 58, "fifty-eight\n<b>\n");
  return report;
}

TEST(HtmlPage, HasAnExcerptForEachStretchOfRecordedSource) {
  Recording recording;
  add_loop(recording, 3);
  const Json source = contents_of(page_of(recording, report_with_source()))["source"];
  const Json expected = {{{"file", "/home/me/train.py"}, {"first_line", 6}, {"lines", {"six", "seven", "eight"}}},
                         {{"file", "/home/me/train.py"}, {"first_line", 58}, {"lines", {"fifty-eight", "<b>"}}}};
  EXPECT_EQ(source, expected);
}

TEST(HtmlPage, SaysThatTheRecordingHoldsNoSource) {
  Recording recording;
  add_loop(recording, 3);
  analyze::Report report = report_with_source();
  report.source_text = {};
  EXPECT_THAT(contents_of(page_of(recording, report))["no_source"].get<std::string>(),
              HasSubstr("The recording holds none"));
}

TEST(HtmlPage, ShowsNoFolderWhenPathsAreRedacted) {
  Recording recording;
  add_loop(recording, 3);
  recording.process.metadata["program"] = "python3 /home/me/train.py";
  analyze::Report report;
  analyze::Site site;
  site.site = "train.py:42";
  site.file = "/home/me/train.py";
  site.line = 42;
  site.host_blocked_ns = 100;
  report.sites = {site};
  report.source.program = "python3 /home/me/train.py";
  PageOptions options;
  options.redacts_paths = true;
  const std::string html = page_of(recording, report, options);
  EXPECT_THAT(html.substr(0, html.rfind("<script>")), Not(HasSubstr("/home")));
  EXPECT_EQ(contents_of(html)["sites"][0]["file"], "train.py");
}

// Durations of the uploads as they would be with the fix of a finding, each once.
std::set<std::uint64_t> uploads_with_fix(const std::string& html, std::size_t finding) {
  std::set<std::uint64_t> durations;
  const Json contents = contents_of(html);
  for (const Json& lane : contents["lanes"]) {
    if (lane.value("fix", Json()) != Json(finding) || lane["kind"] != "copy_up") continue;
    for (const Decoded& event : events_of(html, lane)) durations.insert(event.duration);
  }
  return durations;
}

// In the recording the GPU waits for each read of the loss; with the fix it waits less, and every moment of its step
// has a kernel or a cause.
TEST(Page, WithTheFixTheGpuHasARowOfWhatItWaitsFor) {
  analyze::StepProgram program;
  const std::uint32_t stack = program.stack(15, {"_local_scalar_dense", "item"});
  program.steps(8, [&](int) {
    program.kernel(400'000);
    program.download({.stack = stack, .bytes = 4, .duration_ns = 2'000, .wait = analyze::Wait::kBehind});
    program.work(300'000);
    program.kernel(200'000);
  });
  const analyze::LoadedProcess processes[] = {program.builder().take()};
  Page page({}, 1);
  const analyze::Report report =
      analyze::analyze_processes(processes, {}, [&](const analyze::ProcessView& view) { page.add(view); });
  const std::string html = written(page, report);
  ASSERT_FALSE(report.findings.empty());
  const Json contents = contents_of(html);
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  std::string recorded_title;
  std::uint64_t idle_ns = 0;
  for (const Json& lane : contents["lanes"]) {
    if (lane["kind"] == "state" && !lane.contains("fix")) recorded_title = lane["title"];
    if (lane.value("fix", Json()) != Json(0) || (lane["kind"] != "state" && lane["kind"] != "stream")) continue;
    if (lane["kind"] == "state") {
      EXPECT_EQ(lane["title"], recorded_title);
    }
    for (const Decoded& event : events_of(html, lane)) {
      times.emplace_back(event.start, event.start + static_cast<std::int64_t>(event.duration));
      if (lane["kind"] == "state") idle_ns += event.duration;
    }
  }
  std::sort(times.begin(), times.end());
  ASSERT_GT(idle_ns, 0u);
  EXPECT_LT(idle_ns, 300'000u) << "the recorded step is idle for that long";
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_EQ(times[i - 1].second, times[i].first) << i;
}

TEST(Page, LinesOfALibraryThatOneLineLedToHaveAFixEach) {
  analyze::StepProgram program;
  analyze::ProcessBuilder& builder = program.builder();
  const auto upload_at = [&](std::uint32_t line, std::int64_t duration_ns) {
    const std::uint32_t stack =
        builder.stack({builder.op("copy_"), builder.op("to_dtype_layout"),
                       builder.python("move", "/opt/lib/python3.12/site-packages/lib/move.py", line),
                       builder.python("main", "/home/me/train.py", 15)});
    program.upload({.stack = stack,
                    .bytes = 4 * analyze::kMiB,
                    .duration_ns = duration_ns,
                    .host = trace::MemoryKind::kPageable,
                    .wait = analyze::Wait::kInCall});
  };
  program.steps(8, [&](int) {
    upload_at(1, 600'000);
    program.work(200'000);
    upload_at(2, 800'000);
    program.work(200'000);
    program.kernel(400'000);
  });
  const analyze::LoadedProcess processes[] = {builder.take()};
  Page page({}, 1);
  const analyze::Report report = analyze::analyze_processes(processes, analyze::link_of(55),
                                                            [&](const analyze::ProcessView& view) { page.add(view); });
  const std::string html = written(page, report);
  std::map<std::string, std::set<std::uint64_t>> uploads;  // by the library's line
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    if (report.findings[i].rule != "pageable_async_copy") continue;
    uploads[report.findings[i].library_site.value_or("")] = uploads_with_fix(html, i);
  }
  ASSERT_EQ(uploads.size(), 2u);
  EXPECT_TRUE(uploads["lib: move.py:1"].contains(800'000)) << "as it was";
  EXPECT_FALSE(uploads["lib: move.py:1"].contains(600'000));
  EXPECT_TRUE(uploads["lib: move.py:2"].contains(600'000));
  EXPECT_FALSE(uploads["lib: move.py:2"].contains(800'000));
}

}  // namespace
}  // namespace turnpike::report::html
