#include "report/chrome/chrome.h"

#include <algorithm>
#include <map>

#include "report/chrome/events.h"
#include "trace/losses.h"

namespace turnpike::report {
namespace {

std::int64_t first_time_of(const std::vector<ChromeIndex>& indexes) {
  std::optional<std::int64_t> first;
  for (const ChromeIndex& index : indexes) {
    if (index.first_ns()) first = std::min(first.value_or(*index.first_ns()), *index.first_ns());
  }
  return first.value_or(0);
}

std::string losses_of(const std::vector<ChromeIndex>& indexes) {
  std::map<std::uint32_t, std::uint64_t> losses;
  for (const ChromeIndex& index : indexes) {
    for (const auto& [number, count] : index.process().losses) losses[number] += count;
  }
  JsonFields fields;
  for (const auto& [number, count] : losses) {
    const trace::LossInfo* info = trace::find_loss(number);
    fields.add(info == nullptr ? "loss_" + std::to_string(number) : std::string(info->name), count);
  }
  return "{" + fields.text() + "}";
}

// The base is text: JavaScript cannot hold so many digits in a number.
JsonFields other_data(const std::vector<ChromeIndex>& indexes) {
  std::uint64_t untimed_count = 0;
  for (const ChromeIndex& index : indexes) untimed_count += index.untimed_count();
  JsonFields fields;
  fields.add("written_by", "turnpike " TURNPIKE_VERSION)
      .add("base_time_ns", std::to_string(first_time_of(indexes)))
      .add("records_without_times", untimed_count)
      .add_json("losses", losses_of(indexes));
  return fields;
}

}  // namespace

ChromeExporter::ChromeExporter(const std::vector<ChromeIndex>& indexes, TraceEventWriter::Output output)
    : indexes_(indexes), layout_(indexes), writer_(std::move(output), first_time_of(indexes), other_data(indexes)) {
  layout_.write_names(writer_);
}

std::unique_ptr<trace::RecordSink> ChromeExporter::second_pass(std::size_t i) {
  auto events = std::make_unique<ChromeEvents>(indexes_[i], layout_, i, writer_);
  events->draw_idle();
  return events;
}

}  // namespace turnpike::report
