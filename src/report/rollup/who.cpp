#include "report/rollup/who.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace turnpike::report::rollup {
namespace {

using Text = std::optional<std::string>;

Text text_in(const trace::Process& process, const std::string& key) {
  const auto found = process.metadata.find(key);
  return found == process.metadata.end() ? std::nullopt : Text(found->second);
}

}  // namespace

std::optional<std::int64_t> number_in_metadata(const trace::Process& process, const std::string& key) {
  const std::string text = text_in(process, key).value_or("");
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoll(text);
}

void add_who(ParquetFile& file, const trace::Process& process, const std::string& run, std::int64_t schema,
             std::size_t row_count) {
  const auto whole = [&](const char* name, std::optional<std::int64_t> value) {
    file.add_whole(name, std::vector<std::optional<std::int64_t>>(row_count, value));
  };
  const auto text = [&](const char* name, const Text& value) {
    file.add_text(name, std::vector<Text>(row_count, value));
  };
  whole("schema", schema);
  text("run", run);
  text("trace", std::filesystem::path(process.path).filename().string());
  whole("pid", static_cast<std::int64_t>(process.pid));
  text("host", text_in(process, "host"));
  text("node", text_in(process, "node"));
  text("job", text_in(process, "job_id"));
  text("process_group", text_in(process, "process_group"));
  for (const char* key : {"rank", "local_rank", "world_size", "restart_count"}) {
    whole(key, number_in_metadata(process, key));
  }
  text("driver", text_in(process, "cuda_driver_version"));
  text("detail", text_in(process, "detail"));
}

}  // namespace turnpike::report::rollup
