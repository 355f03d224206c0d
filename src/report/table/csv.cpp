#include "report/table/csv.h"

#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <iterator>

#include "base/cleaned_text.h"
#include "base/utf8.h"

namespace turnpike::report::table {
namespace {

constexpr std::int64_t kNsOfSecond = 1'000'000'000;
constexpr std::int64_t kNsOfDay = 86'400 * kNsOfSecond;

// A spreadsheet takes what begins like this for a formula, and evaluates it; some also behind blanks, and some take the
// full-width forms of these characters for them.
bool is_formula(std::string_view text) {
  constexpr std::u32string_view kStarts = U"=+-@\uFF1D\uFF0B\uFF0D\uFF20";
  if (text.starts_with('\t') || text.starts_with('\r')) return true;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!is_blank(point.value)) return kStarts.find(point.value) != std::u32string_view::npos;
    text.remove_prefix(point.bytes);
  }
  return false;
}

// Names of a recording: anybody's. The line breaks that are left stand in quotes.
std::string as_text(std::string_view name) {
  return (is_formula(name) ? "'" : "") + cleaned(name, "\t\r\n");
}

// Also in quotes: what separates cells where a spreadsheet is set to another separator, which would begin a new cell.
void add_quoted(std::string_view text, std::string& out) {
  if (!text.empty() && text.find_first_of(",;\t\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char letter : text) out += letter == '"' ? std::string_view("\"\"") : std::string_view(&letter, 1);
  out += '"';
}

void add_time(std::int64_t time_ns, std::string& out) {
  std::int64_t day = time_ns / kNsOfDay;
  if (time_ns % kNsOfDay < 0) --day;
  const std::int64_t of_day_ns = time_ns - day * kNsOfDay;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  const std::int64_t second = of_day_ns / kNsOfSecond;
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", static_cast<int>(date.year()),
                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), second / 3600,
                 second / 60 % 60, second % 60, of_day_ns % kNsOfSecond);
}

void add_cell(const Column& column, const Cells& cells, std::size_t row, std::string& out) {
  if (!cells.are_known[row]) return;
  const std::int64_t value = cells.values[row];
  switch (column.type) {
    case ColumnType::kText:
      add_quoted(as_text(cells.texts.texts()[static_cast<std::size_t>(value)]), out);
      break;
    case ColumnType::kWhole:
      fmt::format_to(std::back_inserter(out), "{}", value);
      break;
    case ColumnType::kReal:
      fmt::format_to(std::back_inserter(out), "{}", std::bit_cast<double>(value));
      break;
    case ColumnType::kFlag:
      out += value != 0 ? "true" : "false";
      break;
    case ColumnType::kTime:
      add_time(value, out);
      break;
  }
}

}  // namespace

std::string csv_head(const std::vector<Column>& columns) {
  std::string text;
  for (const Column& column : columns) {
    if (!text.empty()) text += ',';
    add_quoted(column.name, text);
  }
  return text + "\n";
}

std::string csv_rows(const Batch& batch) {
  std::string text;
  for (std::size_t row = 0; row < batch.row_count(); ++row) {
    for (std::size_t column = 0; column < batch.columns().size(); ++column) {
      if (column > 0) text += ',';
      add_cell(batch.columns()[column], batch.cells(column), row, text);
    }
    text += '\n';
  }
  return text;
}

}  // namespace turnpike::report::table
