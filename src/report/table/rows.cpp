// Columns and cells stand in the same order: Batch::end_row() notices where they do not.
#include "report/table/rows.h"

#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analyze/model/activity.h"
#include "analyze/model/blocking.h"
#include "analyze/model/direction.h"
#include "analyze/model/forward_line.h"
#include "analyze/model/stacks.h"
#include "analyze/sums/process_analysis.h"
#include "base/demangle.h"

namespace turnpike::report::table {

using analyze::Call;
using analyze::kNone;
using trace::CallKind;

namespace {

// Of Where, in the order of place_columns().
constexpr std::size_t kPlaceCells = 8;
using PlaceNumbers = std::array<std::int64_t, kPlaceCells>;

std::vector<Column> operator+(std::vector<Column> columns, const std::vector<Column>& more) {
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

std::vector<Column> place_columns() {
  return {{"site", ColumnType::kText},         {"file", ColumnType::kText},        {"line", ColumnType::kWhole},
          {"function", ColumnType::kText},     {"op", ColumnType::kText},          {"phase", ColumnType::kText},
          {"forward_site", ColumnType::kText}, {"library_site", ColumnType::kText}};
}

std::vector<Column> process_columns() {
  return {{"pid", ColumnType::kWhole}, {"rank", ColumnType::kWhole}, {"host", ColumnType::kText}};
}

void write_place(const analyze::Where& where, Batch& batch) {
  batch.text_if_any(where.site);
  batch.text(where.file);
  batch.whole(where.line ? std::optional<std::int64_t>(*where.line) : std::nullopt);
  batch.text(where.function);
  batch.text(where.op);
  where.phase ? batch.text(std::string_view(analyze::name_of(*where.phase))) : batch.unknown();
  batch.text(where.forward_site);
  batch.text(where.library_site);
}

std::string metadata_of(const trace::Process& process, const char* key) {
  const auto found = process.metadata.find(key);
  return found == process.metadata.end() ? std::string() : found->second;
}

std::optional<std::int64_t> known(std::uint32_t id) {
  return id == trace::kUnknownId ? std::nullopt : std::optional<std::int64_t>(id);
}

std::optional<std::int64_t> known_time(std::int64_t time_ns) {
  return time_ns == trace::kUnknownTime ? std::nullopt : std::optional(time_ns);
}

std::optional<std::int64_t> rank_of(const trace::Process& process) {
  const std::string text = metadata_of(process, "rank");
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoll(text);
}

}  // namespace

class ProcessRows {
 public:
  explicit ProcessRows(analyze::LoadedProcess given)
      : loaded(std::move(given)),
        process(loaded.process),
        timeline(loaded.timeline),
        stacks(process, timeline),
        are_kernels_known(analyze::are_kernels_recorded(timeline, metadata_of(process, "detail"))),
        rank(rank_of(process)),
        host(metadata_of(process, "host")),
        forward_lines_(timeline) {}

  void write_process(Batch& batch) {
    batch.whole(static_cast<std::int64_t>(process.pid));
    batch.whole(rank);
    if (host.empty()) return batch.unknown();
    write_once(host_number_, batch, [&] { return std::optional(host); });
  }

  void write_direction(analyze::Direction direction, Batch& batch) {
    write_once(direction_numbers_.at(static_cast<std::size_t>(direction)), batch,
               [&] { return std::optional<std::string>(analyze::name_of(direction)); });
  }

  // The memory of both ends.
  void write_ends(const analyze::Transfer& transfer, Batch& batch) {
    const auto write = [&](KindNumbers& numbers, trace::MemoryKind kind) {
      const auto index = static_cast<std::size_t>(kind);
      if (index >= numbers.size()) return batch.text(analyze::name_of(kind));
      write_once(numbers[index], batch, [&] { return analyze::name_of(kind); });
    };
    write(src_kind_numbers_, transfer.src_kind);
    write(dst_kind_numbers_, transfer.dst_kind);
  }

  // As the rows of the report name it.
  void write_place_of(std::uint32_t facts, std::uint32_t forward_facts, Batch& batch) {
    const std::uint64_t key = std::uint64_t{facts} << 32 | forward_facts;
    if (latest_place_ == nullptr || latest_place_->first != key) {
      const auto [entry, is_new] = places_.try_emplace(key);
      if (is_new) entry->second = numbers_of(stacks.site(facts, forward_facts), batch.next_column(), batch);
      latest_place_ = &*entry;  // rows beside each other are mostly of one place
    }
    for (const std::int64_t value : latest_place_->second) value < 0 ? batch.unknown() : batch.whole(value);
  }

  void write_place_of(const Call& call, Batch& batch) {
    write_place_of(stacks.of_call(call), forward_facts_of(call), batch);
  }

  // As in the sums of the report (analyze/sums/process_analysis).
  std::uint32_t forward_facts_of(const Call& call) {
    if (!are_kernels_known) return kNone;
    const std::uint32_t forward = forward_lines_.find(call);
    if (forward == kNone) return kNone;
    const std::uint32_t facts = stacks.of_call(timeline.calls[forward]);
    return stacks.facts(facts).place.file ? facts : kNone;
  }

  void write_kernel_name(std::uint32_t name, Batch& batch) {
    const auto [entry, is_new] = kernel_names_.try_emplace(name, -1);
    if (is_new) entry->second = batch.number_of(batch.next_column(), demangled(process.string(name)));
    batch.number(entry->second);
  }

  std::vector<std::uint32_t> calls_that(const std::function<bool(CallKind)>& is_wanted) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < timeline.calls.size(); ++i) {
      if (is_wanted(timeline.calls[i].kind)) found.push_back(i);
    }
    return found;
  }

  const analyze::LoadedProcess loaded;
  const trace::Process& process;
  const analyze::Timeline& timeline;
  analyze::Stacks stacks;
  const bool are_kernels_known;
  const std::optional<std::int64_t> rank;
  const std::string host;

 private:
  static PlaceNumbers numbers_of(const analyze::Where& where, std::size_t first, Batch& batch) {
    const auto number = [&](std::size_t column, const std::optional<std::string>& text) -> std::int64_t {
      return text ? batch.number_of(first + column, *text) : -1;
    };
    const std::optional<std::string> phase =
        where.phase ? std::optional<std::string>(analyze::name_of(*where.phase)) : std::nullopt;
    const std::optional<std::string> site = where.site.empty() ? std::nullopt : std::optional(where.site);
    return {number(0, site),
            number(1, where.file),
            where.line ? std::int64_t{*where.line} : -1,
            number(3, where.function),
            number(4, where.op),
            number(5, phase),
            number(6, where.forward_site),
            number(7, where.library_site)};
  }

  // The number of a text in its column, which is asked for once.
  struct Number {
    std::int32_t value = kNotAsked;  // negative otherwise: not known
  };
  static constexpr std::int32_t kNotAsked = -2;
  using KindNumbers = std::array<Number, 8>;  // by trace::MemoryKind

  template <typename MakeText>
  static void write_once(Number& number, Batch& batch, const MakeText& make_text) {
    if (number.value == kNotAsked) {
      const std::optional<std::string> text = make_text();
      number.value = text ? batch.number_of(batch.next_column(), *text) : -1;
    }
    batch.number(number.value);
  }

  analyze::ForwardLines forward_lines_;
  std::unordered_map<std::uint64_t, PlaceNumbers> places_;
  const std::pair<const std::uint64_t, PlaceNumbers>* latest_place_ = nullptr;
  Number host_number_;
  std::array<Number, 6> direction_numbers_{};
  KindNumbers src_kind_numbers_{};
  KindNumbers dst_kind_numbers_{};
  std::unordered_map<std::uint32_t, std::int32_t> kernel_names_;
};

std::shared_ptr<ProcessRows> make_process_rows(analyze::LoadedProcess loaded) {
  return std::make_shared<ProcessRows>(std::move(loaded));
}

bool are_kernels_known(const ProcessRows& process) {
  return process.are_kernels_known;
}

namespace {

std::vector<Column> transfer_columns() {
  return std::vector<Column>{
             {"start", ColumnType::kTime},    {"device_time_ns", ColumnType::kWhole}, {"direction", ColumnType::kText},
             {"bytes", ColumnType::kWhole},   {"count", ColumnType::kWhole},          {"src_kind", ColumnType::kText},
             {"dst_kind", ColumnType::kText}, {"device", ColumnType::kWhole},         {"stream", ColumnType::kWhole},
             {"is_async", ColumnType::kFlag}, {"is_migration", ColumnType::kFlag},    {"in_graph", ColumnType::kFlag},
             {"api", ColumnType::kText},      {"thread", ColumnType::kWhole},         {"call_start", ColumnType::kTime},
             {"call_ns", ColumnType::kWhole}} +
         place_columns() + process_columns();
}

Rows transfer_rows(ProcessRows& all) {
  return {all.timeline.transfers.size(), [&all](std::size_t row, Batch& batch) {
            const analyze::Transfer& transfer = all.timeline.transfers[row];
            const Call* const call = transfer.call == kNone ? nullptr : &all.timeline.calls[transfer.call];
            batch.whole(known_time(transfer.start_ns));
            batch.whole(transfer.has_times() ? std::optional(transfer.duration_ns()) : std::nullopt);
            all.write_direction(transfer.direction, batch);
            batch.whole(static_cast<std::int64_t>(transfer.bytes));
            batch.whole(static_cast<std::int64_t>(transfer.count));
            all.write_ends(transfer, batch);
            batch.whole(known(transfer.device));
            batch.whole(known(transfer.stream));
            batch.flag(transfer.is_async);
            batch.flag(transfer.is_migration);
            batch.flag(transfer.graph_node != 0);
            if (call != nullptr) {
              batch.text_if_any(all.process.string(call->name));
              batch.whole(static_cast<std::int64_t>(call->thread));
              batch.whole(known_time(call->start_ns));
              batch.whole(call->has_times() ? std::optional(call->duration_ns()) : std::nullopt);
            } else {
              for (int i = 0; i < 4; ++i) batch.unknown();
            }
            // A node of a graph belongs to the line that captured it, which has no forward line.
            const bool has_forward = call != nullptr && transfer.graph_node == 0;
            all.write_place_of(all.stacks.of_transfer(transfer), has_forward ? all.forward_facts_of(*call) : kNone,
                               batch);
            all.write_process(batch);
          }};
}

std::vector<Column> call_columns() {
  return {{"start", ColumnType::kTime},
          {"host_ns", ColumnType::kWhole},
          {"api", ColumnType::kText},
          {"thread", ColumnType::kWhole}};
}

void write_call(const ProcessRows& all, const Call& call, Batch& batch) {
  batch.whole(known_time(call.start_ns));
  batch.whole(call.has_times() ? std::optional(call.duration_ns()) : std::nullopt);
  batch.text_if_any(all.process.string(call.name));
  batch.whole(static_cast<std::int64_t>(call.thread));
}

std::vector<Column> sync_columns() {
  return call_columns() +
         std::vector<Column>{
             {"device", ColumnType::kWhole}, {"stream", ColumnType::kWhole}, {"is_of_transfer", ColumnType::kFlag}} +
         place_columns() + process_columns();
}

Rows sync_rows(ProcessRows& all) {
  std::vector<std::uint32_t> calls = all.calls_that([](CallKind kind) { return kind == CallKind::kSynchronize; });
  std::vector<bool> is_of_transfer(all.timeline.calls.size());
  const std::vector<std::uint32_t> paired = analyze::pair_synchronisations(all.timeline, all.stacks);
  for (const analyze::Transfer& transfer : all.timeline.transfers) {
    if (transfer.call != kNone && paired[transfer.call] != kNone) is_of_transfer[paired[transfer.call]] = true;
  }
  const std::size_t count = calls.size();
  return {count,
          [&all, calls = std::move(calls), is_of_transfer = std::move(is_of_transfer)](std::size_t row, Batch& batch) {
            const Call& call = all.timeline.calls[calls[row]];
            write_call(all, call, batch);
            batch.whole(known(call.device));
            batch.whole(known(call.stream));
            batch.flag(is_of_transfer[calls[row]]);
            all.write_place_of(call, batch);
            all.write_process(batch);
          }};
}

std::vector<Column> kernel_columns() {
  return std::vector<Column>{{"start", ColumnType::kTime},        {"device_time_ns", ColumnType::kWhole},
                             {"name", ColumnType::kText},         {"device", ColumnType::kWhole},
                             {"stream", ColumnType::kWhole},      {"in_graph", ColumnType::kFlag},
                             {"launch_start", ColumnType::kTime}, {"launch_ns", ColumnType::kWhole},
                             {"thread", ColumnType::kWhole}} +
         process_columns();
}

Rows kernel_rows(ProcessRows& all) {
  return {all.timeline.kernels.size(), [&all](std::size_t row, Batch& batch) {
            const analyze::Kernel& kernel = all.timeline.kernels[row];
            const Call* const call = kernel.call == kNone ? nullptr : &all.timeline.calls[kernel.call];
            batch.whole(known_time(kernel.start_ns));
            batch.whole(kernel.has_times() ? std::optional(kernel.duration_ns()) : std::nullopt);
            all.write_kernel_name(kernel.name, batch);
            batch.whole(known(kernel.device));
            batch.whole(known(kernel.stream));
            batch.flag(kernel.is_in_graph);
            if (call != nullptr) {
              batch.whole(known_time(call->start_ns));
              batch.whole(call->has_times() ? std::optional(call->duration_ns()) : std::nullopt);
              batch.whole(static_cast<std::int64_t>(call->thread));
            } else {
              for (int i = 0; i < 3; ++i) batch.unknown();
            }
            all.write_process(batch);
          }};
}

std::vector<Column> step_columns() {
  return std::vector<Column>{{"step", ColumnType::kWhole},
                             {"start", ColumnType::kTime},
                             {"duration_ns", ColumnType::kWhole},
                             {"is_whole", ColumnType::kFlag}} +
         process_columns();
}

Rows step_rows(ProcessRows& all) {
  analyze::RunSums sums;
  analyze::ProcessAnalysis analysis(sums, all.process, all.timeline);
  std::optional<analyze::FoundSteps> steps = analysis.steps();
  if (!steps) return {};
  const std::size_t count = steps->starts_ns.size();
  return {count, [&all, steps = std::move(*steps)](std::size_t row, Batch& batch) {
            const auto& starts = steps.starts_ns;
            const bool has_next = row + 1 < starts.size();
            // The last step ends where the window does, if it lies in it; else its end is not known.
            const std::int64_t end_ns = has_next ? starts[row + 1] : steps.window.end_ns;
            const bool has_end = end_ns > starts[row];
            batch.whole(static_cast<std::int64_t>(row));
            batch.whole(starts[row]);
            batch.whole(has_end ? std::optional(end_ns - starts[row]) : std::nullopt);
            batch.flag(has_end && starts[row] >= steps.window.start_ns && end_ns <= steps.window.end_ns);
            all.write_process(batch);
          }};
}

std::vector<Column> idle_columns() {
  return std::vector<Column>{{"start", ColumnType::kTime},
                             {"duration_ns", ColumnType::kWhole},
                             {"device", ColumnType::kWhole},
                             {"cause", ColumnType::kText}} +
         place_columns() + process_columns();
}

const analyze::Where kNowhere;

struct IdleRow {
  analyze::IdleInterval idle;
  std::uint32_t device;
};

Rows idle_rows(ProcessRows& all) {
  const auto span = all.timeline.span;
  if (!span) return {};
  analyze::RunSums sums;
  analyze::ProcessAnalysis analysis(sums, all.process, all.timeline);
  analysis.add_to_sums();
  if (!analysis.activity().is_known()) return {};
  analyze::IdleTimes idle = analysis.idle_times(analysis.steps() ? analysis.steps()->window : *span);
  std::vector<IdleRow> rows;
  for (const std::uint32_t device : idle.devices()) {
    for (const analyze::IdleInterval& one : idle.of(device)) rows.push_back({one, device});
  }
  const std::size_t count = rows.size();
  return {count, [&all, rows = std::move(rows), places = idle.places()](std::size_t row, Batch& batch) {
            const auto& [one, device] = rows[row];
            batch.whole(one.time.start_ns);
            batch.whole(one.time.end_ns - one.time.start_ns);
            batch.whole(known(device));
            batch.text(std::string_view(analyze::name_of(one.cause)));
            write_place(one.place == kNone ? kNowhere : static_cast<const analyze::Where&>(places[one.place]), batch);
            all.write_process(batch);
          }};
}

std::vector<Column> allocation_columns() {
  return std::vector<Column>{{"what", ColumnType::kText}} + call_columns() +
         std::vector<Column>{
             {"bytes", ColumnType::kWhole}, {"address", ColumnType::kWhole}, {"result", ColumnType::kWhole}} +
         place_columns() + process_columns();
}

// "" for calls that allocate nothing and free nothing.
std::string_view allocation_of(CallKind kind) {
  switch (kind) {
    case CallKind::kDeviceAlloc:
      return "device_alloc";
    case CallKind::kDeviceFree:
      return "device_free";
    case CallKind::kHostAlloc:
      return "host_alloc";
    case CallKind::kHostFree:
      return "host_free";
    case CallKind::kHostRegister:
      return "host_register";
    case CallKind::kHostUnregister:
      return "host_unregister";
    case CallKind::kManagedAlloc:
      return "managed_alloc";
    default:
      return "";
  }
}

Rows allocation_rows(ProcessRows& all) {
  std::vector<std::uint32_t> calls = all.calls_that([](CallKind kind) { return !allocation_of(kind).empty(); });
  const std::size_t count = calls.size();
  return {count, [&all, calls = std::move(calls)](std::size_t row, Batch& batch) {
            const Call& call = all.timeline.calls[calls[row]];
            batch.text(allocation_of(call.kind));
            write_call(all, call, batch);
            batch.whole(call.bytes == trace::kUnknownSize ? std::nullopt
                                                          : std::optional(static_cast<std::int64_t>(call.bytes)));
            batch.whole(call.dst == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(call.dst)));
            batch.whole(static_cast<std::int64_t>(call.result));
            all.write_place_of(call, batch);
            all.write_process(batch);
          }};
}

std::vector<Column> site_columns() {
  return place_columns() + std::vector<Column>{{"api", ColumnType::kText},
                                               {"inner_op", ColumnType::kText},
                                               {"direction", ColumnType::kText},
                                               {"src_kind", ColumnType::kText},
                                               {"dst_kind", ColumnType::kText},
                                               {"in_graph", ColumnType::kFlag},
                                               {"count", ColumnType::kWhole},
                                               {"bytes", ColumnType::kWhole},
                                               {"blocked_count", ColumnType::kWhole},
                                               {"device_time_ns", ColumnType::kWhole},
                                               {"host_blocked_ns", ColumnType::kWhole},
                                               {"exposed_ns", ColumnType::kWhole},
                                               {"gpu_idle_ns", ColumnType::kWhole},
                                               {"overlapped_pct", ColumnType::kReal},
                                               {"bandwidth_gbps", ColumnType::kReal}};
}

}  // namespace

Rows rows_of_sites(const analyze::Report& report) {
  return {report.sites.size(), [&report](std::size_t row, Batch& batch) {
            const analyze::Site& site = report.sites[row];
            write_place(site, batch);
            batch.text(site.api);
            batch.text(site.inner_op);
            batch.text(std::string_view(analyze::name_of(site.direction)));
            batch.text(site.src_kind);
            batch.text(site.dst_kind);
            batch.flag(site.in_graph);
            batch.whole(static_cast<std::int64_t>(site.count));
            batch.whole(static_cast<std::int64_t>(site.bytes));
            batch.whole(static_cast<std::int64_t>(site.blocked_count));
            batch.whole(site.device_time_ns);
            batch.whole(site.host_blocked_ns);
            batch.whole(site.exposed_ns);
            batch.whole(site.gpu_idle_ns);
            batch.real(site.overlapped_pct);
            batch.real(site.bandwidth_gbps);
          }};
}

const std::vector<TableKind>& table_kinds() {
  static const std::vector<TableKind> kKinds = {{"transfers", transfer_columns, transfer_rows, false},
                                                {"syncs", sync_columns, sync_rows, false},
                                                {"sites", site_columns, nullptr, false},
                                                {"kernels", kernel_columns, kernel_rows, true},
                                                {"steps", step_columns, step_rows, false},
                                                {"idle", idle_columns, idle_rows, true},
                                                {"allocations", allocation_columns, allocation_rows, false}};
  return kKinds;
}

}  // namespace turnpike::report::table
