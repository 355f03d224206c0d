#include "report/table/table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analyze/process_reader.h"
#include "report/table/rows.h"

namespace turnpike::report::table {

const std::vector<std::string_view>& table_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const TableKind& kind : table_kinds()) names.push_back(kind.name);
    return names;
  }();
  return kNames;
}

namespace {

Result<const TableKind*> find_kind(std::string_view name) {
  const auto& kinds = table_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const TableKind& one) { return one.name == name; });
  if (kind != kinds.end()) return &*kind;
  std::string known;
  for (const std::string_view one : table_names()) known += (known.empty() ? "" : ", ") + std::string(one);
  return Error{"There is no table '" + std::string(name) + "'; there are " + known + "."};
}

}  // namespace

Result<std::vector<Column>> columns_of(std::string_view name) {
  const auto kind = find_kind(name);
  if (!kind) return kind.error();
  return (*kind)->columns();
}

struct TableStream::State {
  State(const TableKind& the_kind, std::size_t rows_of_a_batch)
      : kind(the_kind), batch_rows(rows_of_a_batch), batch(kind.columns()) {}

  // Reads the next process. Returns false after the last one.
  Result<bool> load();
  // Moves on to the next process that has rows. Returns false after the last one.
  Result<bool> advance();

  const TableKind& kind;
  std::size_t batch_rows;
  Batch batch;
  std::optional<analyze::ProcessReader> reader;  // nullopt: the table is made from `report`
  std::optional<analyze::Report> report;
  std::shared_ptr<ProcessRows> process;
  Rows rows;
  std::size_t next_row = 0;
  bool lacks_kernels = false;
};

Result<bool> TableStream::State::load() {
  rows = {};
  next_row = 0;
  process.reset();
  auto loaded = reader->next();
  if (!loaded) return loaded.error();
  if (!*loaded) return false;
  const std::string path = (*loaded)->process.path;
  const bool is_whole = !analyze::is_partly_unread((*loaded)->process);
  process = make_process_rows(std::move(**loaded));
  if (kind.needs_kernels && !are_kernels_known(*process)) {
    lacks_kernels = true;
    // What is damaged or cut off may have held them.
    if (!is_whole) return Error{path + " holds no kernels in what can be read of it."};
    return Error{path + " was recorded without kernels. " + analyze::how_to_record_kernels(reader->kind()) + "."};
  }
  rows = kind.rows_of(*process);
  return true;
}

Result<bool> TableStream::State::advance() {
  while (next_row == rows.count) {
    if (!reader) return false;
    const auto is_loaded = load();
    if (!is_loaded || !*is_loaded) return is_loaded;
  }
  return true;
}

TableStream::TableStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
TableStream::TableStream(TableStream&&) noexcept = default;
TableStream& TableStream::operator=(TableStream&&) noexcept = default;
TableStream::~TableStream() = default;

Result<TableStream> TableStream::open(std::string_view name, const std::vector<std::filesystem::path>& inputs,
                                      analyze::FileReader reader, std::size_t batch_rows) {
  const auto kind = find_kind(name);
  if (!kind) return kind.error();
  auto state = std::make_unique<State>(**kind, std::max<std::size_t>(1, batch_rows));
  if ((*kind)->rows_of == nullptr) {
    auto report = analyze::analyze_run(inputs, reader);
    if (!report) return report.error();
    const analyze::InputRemarks& remarks = report->source.inputs;
    if (!remarks.unreadable.empty()) return Error{remarks.unreadable.front()};
    state->report = std::move(*report);
    state->rows = rows_of_sites(*state->report);
  } else {
    auto opened = analyze::ProcessReader::open(inputs, std::move(reader));
    if (!opened) return opened.error();
    state->reader = std::move(*opened);
  }
  return TableStream(std::move(state));
}

const std::vector<Column>& TableStream::columns() const {
  return state_->batch.columns();
}

bool TableStream::lacks_kernels() const {
  return state_->lacks_kernels;
}

Result<Batch*> TableStream::next() {
  State& state = *state_;
  state.batch.clear();
  while (state.batch.row_count() < state.batch_rows) {
    const auto has_row = state.advance();
    if (!has_row) return has_row.error();
    if (!*has_row) break;
    const std::size_t room = state.batch_rows - state.batch.row_count();
    const std::size_t end = std::min(state.rows.count, state.next_row + room);
    for (; state.next_row < end; ++state.next_row) {
      state.rows.write(state.next_row, state.batch);
      state.batch.end_row();
    }
  }
  return state.batch.row_count() == 0 ? nullptr : &state.batch;
}

}  // namespace turnpike::report::table
