#include "report/html/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/shown_text.h"
#include "base/text.h"
#include "report/html/escape.h"

namespace turnpike::report::html {
namespace {

// JSON in pieces of some hundred kilobytes.
class Json {
 public:
  explicit Json(const Output& output) : output_(output) {}

  Json& open(char bracket) {
    separate();
    text_ += bracket;
    is_first_ = true;
    return *this;
  }
  Json& close(char bracket) {
    text_ += bracket;
    is_first_ = false;
    flush_when_full();
    return *this;
  }
  Json& key(std::string_view name) {
    separate();
    append_json_string(text_, name);
    text_ += ':';
    is_first_ = true;
    return *this;
  }
  Json& string(std::string_view value) {
    separate();
    append_json_string(text_, shown(value));
    return *this;
  }
  template <typename Number>
  Json& number(Number value) {
    separate();
    fmt::format_to(std::back_inserter(text_), "{}", value);
    return *this;
  }
  Json& strings(const std::vector<std::string>& values) {
    open('[');
    for (const std::string& value : values) string(value);
    return close(']');
  }
  void flush() {
    output_(text_);
    text_.clear();
  }

 private:
  void separate() {
    if (!is_first_) text_ += ',';
    is_first_ = false;
  }
  void flush_when_full() {
    constexpr std::size_t kFlushBytes = 256 << 10;
    if (text_.size() >= kFlushBytes) flush();
  }

  const Output& output_;
  std::string text_;
  bool is_first_ = true;
};

void add_site(const SiteEntry& site, const Redactor& redactor, Json& json) {
  json.open('{').key("site").string(redactor.text(site.site));
  if (site.file) json.key("file").string(redactor.path(*site.file));
  if (site.line) json.key("line").number(*site.line);
  if (site.function) json.key("function").string(*site.function);
  if (!site.stack.empty()) {
    std::vector<std::string> stack = site.stack;
    redactor.apply(stack);
    json.key("stack").strings(stack);
  }
  json.close('}');
}

void add_block(const BlockHeader& block, std::int64_t base_ns, Json& json) {
  json.open('{').key("id").number(block.id).key("count").number(block.count);
  json.key("first").number(block.first_ns - base_ns);
  if (!block.long_durations.empty()) {
    json.key("long").open('[');
    for (const auto& [place, duration_ns] : block.long_durations) {
      json.open('[').number(place).number(duration_ns).close(']');
    }
    json.close(']');
  }
  json.close('}');
}

void add_lane(const LaneEntry& lane, std::int64_t base_ns, Json& json) {
  json.open('{').key("kind").string(name_of(lane.kind)).key("title").string(lane.title);
  json.key("group").number(lane.group);
  if (lane.depth > 0) json.key("depth").number(lane.depth);
  if (lane.device) json.key("device").number(*lane.device);
  if (lane.fix) json.key("fix").number(*lane.fix);
  json.key("columns").open('[');
  for (const Column column : columns_of(lane.kind)) json.string(name_of(column));
  json.close(']').key("names").open('[');
  for (const std::uint32_t name : lane.names) json.number(name);
  json.close(']').key("blocks").open('[');
  for (const BlockHeader& block : lane.blocks) add_block(block, base_ns, json);
  json.close(']');
  if (!lane.curve.empty()) {
    json.key("curve").open('[');
    for (const auto& [time_ns, bytes] : lane.curve) {
      // Memory is sampled from before the first record on.
      json.open('[').number(std::max<std::int64_t>(0, time_ns - base_ns)).number(bytes).close(']');
    }
    json.close(']');
  }
  json.close('}');
}

void add_source(const Contents& contents, Json& json) {
  if (!contents.no_source.empty()) {
    json.key("no_source").string(contents.no_source);
    return;
  }
  json.key("source").open('[');
  for (const Excerpt& excerpt : contents.excerpts) {
    json.open('{').key("file").string(excerpt.file);
    json.key("first_line").number(excerpt.first_line).key("lines").strings(excerpt.lines).close('}');
  }
  json.close(']');
}

void add_change(const LineChange& change, Json& json) {
  json.key("fix").open('{').key("before").strings({change.before});
  json.key("after").strings(change.after ? std::vector{*change.after} : std::vector<std::string>());
  const std::string needs = joined(imports_for(change), "\n");
  if (!needs.empty()) json.key("needs").string(needs);
  json.close('}');
}

}  // namespace

void write(const Contents& contents, const Output& output) {
  const Redactor& redactor = contents.redactor;
  Json json(output);
  json.open('{').key("version").number(kVersion);
  if (contents.after_group) json.key("after_group").number(*contents.after_group);
  json.key("headline").string(contents.headline).key("details").string(contents.details);
  if (!contents.wait_remark.empty()) json.key("wait_remark").string(contents.wait_remark);
  json.key("span_ns").number(contents.span_ns);
  json.key("window").open('[').number(contents.window.start_ns).number(contents.window.end_ns).close(']');
  json.key("groups").strings(contents.groups);
  json.key("strings").open('[');
  for (const std::string& text : contents.strings.all()) json.string(redactor.text(text));
  json.close(']').key("sites").open('[');
  for (const SiteEntry& site : contents.sites.all()) add_site(site, redactor, json);
  json.close(']').key("lanes").open('[');
  for (const LaneEntry& lane : contents.lanes) add_lane(lane, contents.bases_ns[lane.group], json);
  json.close(']');
  add_source(contents, json);
  json.key("findings").open('[');
  for (std::size_t i = 0; i < contents.sites_of_findings.size(); ++i) {
    json.open('{');
    if (const auto& site = contents.sites_of_findings[i]) json.key("site").number(*site);
    if (const auto& change = contents.changes[i]) add_change(*change, json);
    json.close('}');
  }
  json.close(']').key("left_out").strings(contents.left_out).close('}');
  json.flush();
}

}  // namespace turnpike::report::html
