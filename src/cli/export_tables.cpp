#include "cli/export_tables.h"

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/output_file.h"
#include "cli/output_folder.h"
#include "cli/progress.h"
#include "cli/same_file.h"
#include "report/table/csv.h"
#include "report/table/table.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;
using report::table::TableStream;

struct Outcome {
  int code = kFine;
  std::string message{};  // what failed
};

// A batch at a time. The file is there when all of it is.
Outcome write_table(TableStream& stream, const fs::path& path) {
  auto batch = stream.next();
  if (!batch) return {kUnreadableInput, batch.error().message};
  auto output = OutputFile::create(path);
  if (!output) return {kFailed, output.error().message};
  output->write(report::table::csv_head(stream.columns()));
  while (*batch != nullptr && !output->has_failed()) {
    output->write(report::table::csv_rows(**batch));
    batch = stream.next();
    if (!batch) return {kUnreadableInput, batch.error().message};
  }
  if (const Status written = output->commit(); !written) return {kFailed, written.error().message};
  return {};
}

int write_all(const std::vector<fs::path>& runs, const fs::path& folder, const analyze::FileReader& reader) {
  const auto made = OutputFolder::create(folder);
  if (!made) return fail("turnpike export", made.error().message, kFailed);
  for (const std::string_view name : report::table::table_names()) {
    auto stream = TableStream::open(name, runs, reader);
    if (!stream) return fail("turnpike export", stream.error().message, kUnreadableInput);
    const fs::path path = folder / (std::string(name) + ".csv");
    if (auto harmless = check_is_no_input(path, runs); !harmless)
      return fail("turnpike export", harmless.error().message, kUsage);
    const Outcome outcome = write_table(*stream, path);
    if (stream->lacks_kernels()) {
      say("turnpike export", "left out the table " + std::string(name) + ": " + outcome.message);
    } else if (outcome.code != kFine) {
      return fail("turnpike export", outcome.message, outcome.code);
    }
  }
  return kFine;
}

}  // namespace

int export_csv(const std::vector<fs::path>& runs, const std::string& table, const std::string& output,
               const analyze::FileReader& reader) {
  if (output == "-" && table.empty())
    return fail("turnpike export", "-o - is for one table: name it with --table.", kUsage);
  const fs::path& first = runs.front();
  const fs::path stem = (first.has_filename() ? first : first.parent_path()).stem();
  const fs::path path =
      !output.empty() ? fs::path(output) : fs::path(stem.string() + (table.empty() ? "" : "." + table) + ".csv");
  if (auto harmless = check_is_no_input(path, runs); !harmless)
    return fail("turnpike export", harmless.error().message, kUsage);
  if (table.empty()) {
    if (const int code = write_all(runs, path, reader); code != kFine) return code;
  } else {
    auto stream = TableStream::open(table, runs, reader);
    if (!stream) return fail("turnpike export", stream.error().message, kUnreadableInput);
    if (const Outcome outcome = write_table(*stream, path); outcome.code != kFine) {
      return fail("turnpike export", outcome.message, outcome.code);
    }
  }
  if (path != "-") say("turnpike export", "wrote " + path.string());
  return kFine;
}

}  // namespace turnpike::cli
