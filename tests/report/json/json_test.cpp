// The JSON report against its contract: every key, every type, null for what is unknown.
#include "report/json/json.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "report/sample_report.h"
#include "trace/format.h"

namespace turnpike::report {
namespace {

using Json = nlohmann::ordered_json;

// What a value may be: i integer, n number, s text, b boolean, a array, o object, 0 null.
using Contract = std::vector<std::pair<std::string, std::string>>;

const Contract kReport = {
    {"schema", "i"},         {"source", "o"},     {"span_ns", "i"},  {"totals", "o"},          {"syncs", "o"},
    {"steps", "o0"},         {"verdict", "o"},    {"idle", "a"},     {"ranges", "a"},          {"memory", "o0"},
    {"sites", "a"},          {"sync_sites", "a"}, {"findings", "a"}, {"saving_pct_all", "n0"}, {"losses", "o"},
    {"loss_sentences", "o"}, {"paths", "a"},      {"lines", "a"},    {"incomplete", "o0"},     {"used_gpu", "b"},
    {"why_no_advice", "s0"}};
const Contract kSource = {{"kind", "s"},     {"paths", "a"},      {"processes", "i"}, {"devices", "a"},
                          {"hosts", "a"},    {"program", "s0"},   {"detail", "s0"},   {"versions", "o"},
                          {"unusable", "a"}, {"unreadable", "a"}, {"notes", "a"},     {"identities", "a"},
                          {"kept", "o0"}};
const Contract kIdentity = {{"pid", "i"},     {"host", "s0"},          {"node", "s0"},       {"node_rank", "i0"},
                            {"rank", "i0"},   {"local_rank", "i0"},    {"world_size", "i0"}, {"local_world_size", "i0"},
                            {"job_id", "s0"}, {"restart_count", "i0"}, {"launcher", "s0"},   {"self_time", "o0"}};
const Contract kSelfTime = {{"count", "i"}, {"ns", "i"}};
const Contract kTotal = {
    {"count", "i"},          {"bytes", "i"},          {"device_time_ns", "i0"}, {"host_blocked_ns", "i0"},
    {"pageable_count", "i"}, {"pageable_bytes", "i"}, {"bandwidth_gbps", "n0"}, {"link_gbps", "n0"},
    {"link_source", "s0"},   {"link_basis", "s0"}};
const Contract kSite = {{"site", "s"},
                        {"file", "s0"},
                        {"line", "i0"},
                        {"function", "s0"},
                        {"op", "s0"},
                        {"inner_op", "s0"},
                        {"api", "s0"},
                        {"phase", "s0"},
                        {"direction", "s"},
                        {"src_kind", "s0"},
                        {"dst_kind", "s0"},
                        {"forward_site", "s0"},
                        {"missing_call", "s0"},
                        {"in_graph", "b"},
                        {"streams", "a"},
                        {"count", "i"},
                        {"blocked_count", "i"},
                        {"bytes", "i"},
                        {"device_time_ns", "i0"},
                        {"host_blocked_ns", "i0"},
                        {"exposed_ns", "i0"},
                        {"gpu_idle_ns", "i0"},
                        {"overlapped_pct", "n0"},
                        {"bandwidth_gbps", "n0"},
                        {"stack", "a"},
                        {"library_site", "s0"}};
const Contract kSyncSite = {{"site", "s"},
                            {"file", "s0"},
                            {"line", "i0"},
                            {"function", "s0"},
                            {"op", "s0"},
                            {"api", "s0"},
                            {"phase", "s0"},
                            {"forward_site", "s0"},
                            {"count", "i"},
                            {"of_transfers_count", "i"},
                            {"host_blocked_ns", "i0"},
                            {"gpu_idle_ns", "i0"},
                            {"stack", "a"},
                            {"library_site", "s0"}};
const Contract kIdleSite = {
    {"site", "s0"},   {"file", "s0"},          {"line", "i0"},       {"function", "s0"},    {"op", "s0"},
    {"phase", "s0"},  {"forward_site", "s0"},  {"device", "i0"},     {"cause", "s"},        {"count", "i"},
    {"time_ns", "i"}, {"in_steps_count", "i"}, {"in_steps_ns", "i"}, {"library_site", "s0"}};
const Contract kFinding = {{"rule", "s"},
                           {"severity", "s"},
                           {"title", "s"},
                           {"site", "s"},
                           {"saving_ns", "i0"},
                           {"saving_step_ns", "i0"},
                           {"saving_pct", "n0"},
                           {"superseded_by", "s0"},
                           {"evidence", "s"},
                           {"advice", "s"},
                           {"docs", "s"},
                           {"library_site", "s0"},
                           {"saving_step_low_ns", "i0"},
                           {"saving_step_high_ns", "i0"},
                           {"saving_reason", "s0"},
                           {"alternatives", "a"},
                           {"change", "o0"},
                           {"saving_step_expected_ns", "i0"},
                           {"id", "s0"},
                           {"file", "s0"},
                           {"relative_file", "s0"},
                           {"line", "i0"},
                           {"function", "s0"},
                           {"op", "s0"},
                           {"per_step", "o0"}};
const Contract kPartVerdict = {
    {"bound_by", "s0"}, {"gpu_busy_pct", "n0"}, {"gpu_idle_pct", "n0"},          {"exposed_transfer_pct", "n0"},
    {"why", "s"},       {"idle", "o0"},         {"exposed_collective_pct", "n0"}};
const Contract kThread = {{"thread", "i"},        {"name", "s0"},        {"role", "s"},        {"launches", "i"},
                          {"calls_pct", "n"},     {"waits_pct", "n"},    {"between_pct", "n"}, {"python_pct", "n0"},
                          {"operator_pct", "n0"}, {"busiest_lines", "a"}};
const Contract kMemory = {{"peak_resident_bytes", "i0"},
                          {"peak_device_bytes", "i"},
                          {"peak_pinned_bytes", "i"},
                          {"sites", "a"},
                          {"points", "a"}};

bool is_one_of(const Json& value, const std::string& types) {
  const std::map<char, bool> is = {
      {'i', value.is_number_integer()}, {'n', value.is_number()}, {'s', value.is_string()}, {'b', value.is_boolean()},
      {'a', value.is_array()},          {'o', value.is_object()}, {'0', value.is_null()}};
  for (const char type : types) {
    if (is.at(type)) return true;
  }
  return false;
}

void expect_contract(const Json& object, const Contract& contract) {
  std::vector<std::string> keys;
  std::vector<std::string> expected;
  for (const auto& item : object.items()) keys.push_back(item.key());
  for (const auto& [key, types] : contract) {
    expected.push_back(key);
    ASSERT_TRUE(object.contains(key)) << key;
    EXPECT_TRUE(is_one_of(object[key], types)) << key << ": " << object[key];
  }
  EXPECT_EQ(keys, expected) << "the order is part of the contract";
}

void expect_whole_contract(const Json& json) {
  expect_contract(json, kReport);
  expect_contract(json["source"], kSource);
  for (const Json& device : json["source"]["devices"]) {
    expect_contract(device, {{"id", "i"},
                             {"name", "s0"},
                             {"memory_bytes", "i0"},
                             {"numa_node", "i0"},
                             {"pcie_generation", "i0"},
                             {"pcie_width", "i0"},
                             {"pcie_max_generation", "i0"},
                             {"pcie_max_width", "i0"}});
  }
  for (const Json& identity : json["source"]["identities"]) {
    expect_contract(identity, kIdentity);
    if (!identity["self_time"].is_null()) expect_contract(identity["self_time"], kSelfTime);
  }
  if (!json["source"]["kept"].is_null()) {
    expect_contract(json["source"]["kept"], {{"last_ns", "i"}, {"of_ns", "i"}, {"because", "a"}});
  }
  Contract verdict = kPartVerdict;
  verdict.insert(verdict.end(), {{"launch_lead", "o0"}, {"threads", "a"}, {"steps_by_bound", "o"}});
  expect_contract(json["verdict"], verdict);
  for (const Json& thread : json["verdict"]["threads"]) expect_contract(thread, kThread);
  for (const Json& range : json["ranges"]) {
    expect_contract(range, {{"name", "s"}, {"count", "i"}, {"total_ns", "i"}, {"verdict", "o"}});
    expect_contract(range["verdict"], kPartVerdict);
  }
  if (!json["memory"].is_null()) expect_contract(json["memory"], kMemory);
  expect_contract(
      json["syncs"],
      {{"count", "i"}, {"host_blocked_ns", "i0"}, {"of_transfers_count", "i"}, {"of_transfers_host_blocked_ns", "i0"}});
  for (const char* direction : {"h2d", "d2h", "d2d", "p2p", "h2h", "memset"}) {
    expect_contract(json["totals"][direction], kTotal);
  }
  EXPECT_EQ(json["totals"].size(), 6u);
  for (const Json& site : json["sites"]) expect_contract(site, kSite);
  for (const Json& site : json["sync_sites"]) expect_contract(site, kSyncSite);
  for (const Json& line : json["lines"]) {
    expect_contract(
        line,
        {{"file", "s"}, {"line", "i"}, {"time_ns", "i"}, {"waits_ns", "i"}, {"copies_ns", "i"}, {"gpu_idle_ns", "i0"}});
  }
  for (const Json& site : json["idle"]) expect_contract(site, kIdleSite);
  for (const Json& finding : json["findings"]) expect_contract(finding, kFinding);
}

TEST(Json, SaysWhyNothingIsAdvised) {
  analyze::Report report = ordinary_report();
  report.verdict.bound_by = analyze::Bound::kTransfer;
  ASSERT_FALSE(report.findings.empty());
  report.findings[0].rule = "blocking_copy";
  EXPECT_TRUE(Json::parse(to_json(report))["why_no_advice"].is_null());
  report.findings.clear();
  const Json why = Json::parse(to_json(report))["why_no_advice"];
  ASSERT_TRUE(why.is_string());
  EXPECT_TRUE(why.get<std::string>().starts_with("Nothing was found that is known to gain 1 % ")) << why;
}

TEST(Json, KeepsTheContract) {
  analyze::Report report = ordinary_report();
  report.findings.push_back({"blocking_copy", analyze::Severity::kWarning, "title", "train.py:23", 5, 1, std::nullopt,
                             std::nullopt, "evidence", "advice", "docs"});
  report.source.identities.resize(1);
  report.idle.resize(1);
  report.idle[0].device = trace::kUnknownId;
  report.lines.resize(1);
  const Json json = Json::parse(to_json(report));
  expect_whole_contract(json);
  EXPECT_TRUE(json["idle"][0]["site"].is_null());
  EXPECT_TRUE(json["idle"][0]["device"].is_null());
  expect_contract(json["steps"], {{"count", "i"},
                                  {"median_ns", "i"},
                                  {"source", "s"},
                                  {"device_median_ns", "i0"},
                                  {"is_host_ahead", "b"},
                                  {"per_step", "o0"}});
}

TEST(Json, HoldsTheFiguresOfTheReport) {
  const Json json = Json::parse(to_json(ordinary_report()));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["span_ns"], 3'012'000'000);
  EXPECT_EQ(json["totals"]["h2d"]["bytes"], 188'260'352);
  EXPECT_EQ(json["sites"][0]["phase"], "loader");
  EXPECT_EQ(json["sites"][0]["direction"], "h2d");
  EXPECT_EQ(json["sites"][1]["forward_site"], "model.py:41");
  EXPECT_EQ(json["losses"]["stack_truncated"], 4);
  EXPECT_FALSE(json["loss_sentences"]["stack_truncated"].get<std::string>().empty());
}

TEST(Json, APythonThatIsNotKnownIsNamed) {
  analyze::Report report;
  report.losses = {{"python_unknown", 7}};
  report.source.versions = {{"python", "3.12.3"}};
  const auto sentence = [&] {
    return Json::parse(to_json(report))["loss_sentences"]["python_unknown"].get<std::string>();
  };
  EXPECT_EQ(sentence().find("3.12.3"), std::string::npos) << "who says that this is the one?";
  report.source.versions["unknown_python"] = "3.16.0 (free-threaded)";
  EXPECT_TRUE(sentence().ends_with(" The recorded one is Python 3.16.0 (free-threaded).")) << sentence();
}

TEST(Json, UnknownIsNull) {
  analyze::Report report = ordinary_report();
  report.sites[1].file.reset();
  report.sites[1].line.reset();
  const Json json = Json::parse(to_json(report));
  for (const char* key : {"file", "line", "function", "device_time_ns", "host_blocked_ns", "overlapped_pct"}) {
    EXPECT_TRUE(json["sites"][1][key].is_null()) << key;
  }
  EXPECT_TRUE(json["totals"]["d2h"]["device_time_ns"].is_null());
}

TEST(Json, AnEmptyReportKeepsTheContractToo) {
  const Json json = Json::parse(to_json(analyze::Report{}));
  expect_whole_contract(json);
  EXPECT_TRUE(json["steps"].is_null());
  EXPECT_TRUE(json["verdict"]["bound_by"].is_null());
  EXPECT_EQ(json["losses"], Json::object());
}

TEST(Json, IsValidWhateverTheBytes) {
  const Json json = Json::parse(to_json(hostile_report()));
  expect_whole_contract(json);
  EXPECT_EQ(json["sites"][0]["count"], std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(json["sites"][0]["overlapped_pct"].is_null()) << "not a number";
}

TEST(Json, IsTextAsItWasAndNoEscape) {
  analyze::Report report;
  report.source.program = "caf\xc3\xa9\n\xff";
  const std::string text = to_json(report);
  EXPECT_NE(text.find("\"program\": \"caf\xc3\xa9\\n\xef\xbf\xbd\""), std::string::npos);
  EXPECT_TRUE(text.starts_with("{\n  \"schema\": 1,\n"));
  EXPECT_TRUE(text.ends_with("\n}\n"));
}

TEST(Json, IsValidWhateverTheBytesOfAPath) {
  analyze::Report report = ordinary_report();
  report.paths = {.frames = {{"a\xff.py:1", "", "a\xff.py", "ma\n\xffin"}}, .nodes = {{}}, .costs = {}};
  report.paths.costs.resize(1);
  report.paths.costs[0].node = 0;
  const Json frame = Json::parse(to_json(report))["paths"][0]["path"][0];
  EXPECT_EQ(frame["site"], "a\xef\xbf\xbd.py:1");
  EXPECT_EQ(frame["function"], "ma\n\xef\xbf\xbdin");
}

TEST(Json, OfVeryManyWaysTheRestIsSummedUp) {
  analyze::Report report = ordinary_report();
  report.paths = {.frames = {{"a.py:1", "", "a.py", "main"}}, .nodes = {{}}, .costs = {}};
  for (std::uint64_t i = 0; i < 10'003; ++i) {
    report.paths.costs.push_back(
        {.node = 0,
         .what = "aten::to",
         .direction = i % 2 == 0 ? std::optional(analyze::Direction::kHostToDevice) : std::nullopt,
         .count = 1,
         .bytes = i,
         .host_blocked_ns = i == 10'002 ? std::optional<std::int64_t>() : 5});
  }
  const Json paths = Json::parse(to_json(report))["paths"];
  ASSERT_EQ(paths.size(), 10'002u);
  EXPECT_EQ(paths[9'999]["path"][0]["site"], "a.py:1");
  EXPECT_EQ(paths[10'000]["what"], "(1 more ways)");
  EXPECT_EQ(paths[10'000]["kind"], "sync");
  EXPECT_EQ(paths[10'001]["what"], "(2 more ways)");
  EXPECT_EQ(paths[10'001]["kind"], "h2d");
  EXPECT_EQ(paths[10'001]["path"], Json::array());
  EXPECT_EQ(paths[10'001]["bytes"], 10'000 + 10'002);
  EXPECT_EQ(paths[10'001]["count"], 2);
  EXPECT_EQ(paths[10'001]["host_blocked_ns"], 5) << "one of the two is unknown";
  EXPECT_EQ(paths[10'001]["exposed_ns"], nullptr);
}

}  // namespace
}  // namespace turnpike::report
