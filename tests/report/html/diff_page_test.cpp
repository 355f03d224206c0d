// The page of two runs: its document, its one time axis, and that no name of a recording gets out of its place.
#include "report/html/diff_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "report/html/hostile.h"
#include "report/html/page_data.h"

namespace turnpike::report::html {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

void add(DiffPage& page, Recording& recording, bool is_after) {
  const analyze::Timeline timeline = recording.loader.take();
  const analyze::ProcessView view{recording.process, timeline, nullptr, nullptr, nullptr};
  is_after ? page.add_after(view) : page.add_before(view);
}

std::string written(const DiffPage& page, const analyze::Report& before, const analyze::Report& after) {
  std::string html;
  page.write(before, after, [&](std::string_view bytes) { html += bytes; });
  return html;
}

std::string page_of(Recording& before, Recording& after, const analyze::Report& report_before = {},
                    const analyze::Report& report_after = {}, PageOptions options = {}) {
  DiffPage page(options, 1, 1);
  add(page, before, false);
  add(page, after, true);
  return written(page, report_before, report_after);
}

// One site that cost something, so that there is something to compare.
analyze::Report report_of(const std::string& name, std::int64_t blocked_ns) {
  analyze::Report report;
  analyze::Site site;
  site.site = site.file.emplace(name);
  site.line = 42;
  site.count = 5;
  site.bytes = 100;
  site.host_blocked_ns = blocked_ns;
  site.exposed_ns = 0;
  report.sites = {site};
  report.source.paths = {name + ".tpk"};
  report.verdict.gpu_busy_pct = 40;
  report.verdict.gpu_idle_pct = 60;
  report.span_ns = 1'000'000;
  return report;
}

// When the steps of a run start, on the page's axis.
std::vector<std::int64_t> step_starts(const std::string& html, int group) {
  const Json contents = contents_of(html);
  for (const Json& lane : contents["lanes"]) {
    if (lane["kind"] != "steps" || lane["group"] != group) continue;
    std::vector<std::int64_t> starts;
    for (const Decoded& event : events_of(html, lane)) starts.push_back(event.start);
    return starts;
  }
  return {};
}

TEST(HtmlDiffPage, PutsBothMedianStepsAtOneMoment) {
  Recording before;
  add_loop(before, 40);
  // Other steps, recorded years apart, with a lead of another length.
  Recording after;
  after.kernel("start-up", 0, -7'777'777, -7'700'000);
  add_loop(after, 11);
  const std::string html = page_of(before, after);
  expect_lanes(html);
  const Json contents = contents_of(html);
  EXPECT_EQ(contents["after_group"], 1);
  const auto starts = step_starts(html, 0);
  const auto starts_after = step_starts(html, 1);
  ASSERT_EQ(starts.size(), 40u);
  ASSERT_EQ(starts_after.size(), 11u);
  // The median step of each is the first of its second half that is as long.
  EXPECT_EQ(starts[20], starts_after[5]);
  const std::int64_t from = contents["window"][0];
  const std::int64_t to = contents["window"][1];
  EXPECT_LT(from, starts[20]);
  EXPECT_GT(to, starts[21]);
  EXPECT_LT(to - from, 1'200'000);
  EXPECT_LE(to, contents["span_ns"].get<std::int64_t>());
}

// A loop that also logs in its third step, at a line of its own.
void add_logging_loop(Recording& recording, int steps) {
  add_loop(recording, steps);
  const std::uint32_t place = recording.stack("log", "/home/me/log.py", 7);
  recording.call(trace::CallKind::kCopy, "cudaMemcpy", 1000, 2'700'000, 2'800'000, place);
  recording.copy(trace::CopyKind::kDeviceToHost, 4, 1000, 2'720'000, 2'780'000);
}

TEST(HtmlDiffPage, OpensOnTheStepWithTheLargestChange) {
  Recording before;
  add_logging_loop(before, 40);
  Recording after;
  add_loop(after, 11);
  analyze::Report report = report_of("train.py", 500'000);
  report.sites[0].site = "log.py:7";
  const std::string html = page_of(before, after, report, {});
  const auto starts = step_starts(html, 0);
  // The median step of the run after it, which has nothing of the kind.
  EXPECT_EQ(starts[2], step_starts(html, 1)[5]);
  const Json contents = contents_of(html);
  EXPECT_LT(contents["window"][0].get<std::int64_t>(), starts[2]);
  EXPECT_GT(contents["window"][1].get<std::int64_t>(), starts[3]);
}

TEST(HtmlDiffPage, OpensOnTheMedianStepWhereThatShowsTheLargestChange) {
  Recording before;
  add_logging_loop(before, 40);
  Recording after;
  add_loop(after, 11);
  analyze::Report report = report_of("train.py", 500'000);
  report.sites[0].site = "train.py:42";
  const std::string html = page_of(before, after, report, {});
  EXPECT_EQ(step_starts(html, 0)[20], step_starts(html, 1)[5]);
}

TEST(HtmlDiffPage, LinksPointIntoTheirOwnRun) {
  Recording before;
  add_loop(before, 5);
  Recording after;
  add_loop(after, 9);
  const std::string html = page_of(before, after);
  std::vector<int> group_of_number;
  const Json contents = contents_of(html);
  for (const Json& lane : contents["lanes"]) {
    group_of_number.insert(group_of_number.end(), events_of(html, lane).size(), lane["group"].get<int>());
  }
  std::size_t linked = 0;
  for (const Json& lane : contents["lanes"]) {
    if (lane["kind"] != "stream") continue;
    for (const Decoded& event : events_of(html, lane)) {
      if (event.link == kNoLink) continue;
      ++linked;
      EXPECT_EQ(group_of_number.at(event.link), lane["group"].get<int>());
    }
  }
  EXPECT_EQ(linked, 14u);
}

TEST(HtmlDiffPage, TheDocumentIsCompleteWithoutTheScript) {
  Recording before;
  add_loop(before, 20);
  Recording after;
  add_loop(after, 20);
  const std::string html = page_of(before, after, report_of("train.py", 900'000), report_of("train.py", 0));
  const std::string document = between(html, "<main", "</main>");
  for (const char* part :
       {"<h1>", "Before, the run", "After, the run", "Before: a median step", "After: a median step",
        "Places that changed", "train.py", "Verdict", "Transfers of the run", "<div id=\"tp-app\">"}) {
    EXPECT_THAT(document, HasSubstr(part));
  }
  EXPECT_THAT(document, Not(HasSubstr("style=")));
  EXPECT_THAT(html.substr(0, html.rfind("<script>")), Not(HasSubstr("://")));
  const Json comparison = Json::parse(between(html, "id=\"tp-report\">", "</script>"));
  EXPECT_EQ(comparison["sites"][0]["change"], "changed");
}

TEST(HtmlDiffPage, StepsAreDrawnOnOneScale) {
  Recording before;
  add_loop(before, 20);
  Recording after;
  for (int i = 0; i < 20; ++i) after.range("step " + std::to_string(i), i * 500'000, i * 500'000 + 450'000);
  after.kernel("work", 0, 0, 9'900'000);
  const std::string document = between(page_of(before, after), "<main", "</main>");
  const std::string long_one = between(document, "Before: a median step", "</table>");
  const std::string short_one = between(document, "After: a median step", "</table>");
  EXPECT_THAT(long_one, Not(HasSubstr("p-step")));
  EXPECT_THAT(short_one, HasSubstr("p-step\" fill=\"#c3cad3\" y=\"2\" width=\"50.0%\""));
  // Both axes end at the length of the longer step.
  const auto axis = [](const std::string& picture) { return picture.substr(picture.find("class=\"row axis\"")); };
  EXPECT_EQ(axis(long_one), axis(short_one));
}

TEST(HtmlDiffPage, NamesOfARecordingStayText) {
  for (const std::string& name : hostile_names()) {
    Recording before;
    before.process.metadata = {{"program", name}};
    add_loop(before, 4, name);
    Recording after;
    add_loop(after, 4, name);
    analyze::Report report_before = report_of(name, 100);
    report_before.losses[name] = 3;
    report_before.source.inputs.notes = {name};
    analyze::Report report_after = report_of(name + "x", 5000);
    report_after.source.program = name;
    analyze::Finding finding;
    finding.site = finding.title = finding.evidence = finding.advice = finding.rule = name;
    report_after.findings = {finding};
    const std::string html = page_of(before, after, report_before, report_after);
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
    expect_lanes(html);
  }
}

TEST(HtmlDiffPage, ShowsNoFolderWhenPathsAreRedacted) {
  Recording before;
  before.process.metadata["program"] = "python3 /home/me/train.py";
  add_loop(before, 3);
  Recording after;
  add_loop(after, 3);
  analyze::Report report_before = report_of("/home/me/old/train.py", 100);
  report_before.source.program = "python3 /home/me/old/train.py";
  analyze::Report report_after = report_of("/home/me/new/train.py", 9000);
  report_after.source.program = "python3 /home/me/new/train.py";
  report_before.source.hosts = {"box17"};
  report_after.source.hosts = {"box18"};
  PageOptions options;
  options.redacts_paths = true;
  const std::string html = page_of(before, after, report_before, report_after, options);
  EXPECT_THAT(html.substr(0, html.rfind("<script>")), Not(HasSubstr("/home")));
  EXPECT_THAT(html, AllOf(Not(HasSubstr("box17")), Not(HasSubstr("box18")), HasSubstr("The machines differ.")));
  EXPECT_THAT(html, HasSubstr("train.py"));
}

TEST(HtmlDiffPage, OfNothingIsAPage) {
  Recording before;
  Recording after;
  const std::string html = page_of(before, after);
  EXPECT_TRUE(contents_of(html)["lanes"].empty());
  EXPECT_THAT(html, HasSubstr("nothing to compare"));
}

TEST(HtmlDiffPage, EachRunHasHalfOfTheRoom) {
  Recording before;
  add_loop(before, 2000);
  Recording after;
  add_loop(after, 10);
  PageOptions options;
  options.max_events = 10'000;
  const Json contents = contents_of(page_of(before, after, {}, {}, options));
  ASSERT_EQ(contents["left_out"].size(), 1u);
  EXPECT_THAT(contents["left_out"][0].get<std::string>(), testing::StartsWith("before: "));
}

}  // namespace
}  // namespace turnpike::report::html
