// Adds up the edges of the graph that are the host's, thread by thread.
#include "analyze/sums/host_threads.h"

#include <algorithm>
#include <map>
#include <string>

#include "analyze/graph/edits.h"
#include "analyze/model/threads.h"
#include "base/statistics.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

constexpr std::size_t kLines = 3;

struct ThreadSums {
  std::uint64_t launches = 0;
  std::int64_t calls_ns = 0;
  std::int64_t waits_ns = 0;
  std::int64_t between_ns = 0;

  std::int64_t busy_ns() const { return calls_ns + between_ns; }
};

// A call's own work.
std::int64_t own_ns(const Graph& graph, std::uint32_t call) {
  for (const Edge& edge : graph.edges_to(graph.call_end(call))) {
    if (edge.kind == EdgeKind::kCall) return edge.lag_ns;
  }
  return 0;
}

std::map<std::uint32_t, ThreadSums> sums_of(const ProcessModel& model) {
  const Graph& graph = model.graph();
  std::map<std::uint32_t, ThreadSums> threads;
  for (std::uint32_t index = 0; index < graph.calls.size(); ++index) {
    const Call& call = model.call(index);
    ThreadSums& sums = threads[call.thread];
    const std::int64_t own = own_ns(graph, index);
    sums.calls_ns += own;
    sums.waits_ns += call.duration_ns() - own;
    sums.between_ns += gap_ns(graph, index);  // handovers too: its thread had the turn then
    if (is_launch(call)) ++sums.launches;
  }
  std::erase_if(threads, [](const auto& entry) { return entry.second.launches == 0; });
  return threads;
}

// Where a thread's samples found it, without those inside of its calls.
class Samples {
 public:
  Samples(const ProcessModel& model, std::uint32_t thread) : model_(model) {
    const Interval& window = model.graph().window;
    for (const auto& sample : model.timeline().samples) {
      if (sample.thread != thread || sample.time_ns < window.start_ns || sample.time_ns >= window.end_ns) continue;
      add(sample);
    }
  }

  void describe(HostThread& thread) const {
    if (count_ == 0) return;
    // Where only operators are recorded, all samples are in one: that says nothing of Python.
    if (has_operators_ && has_python_) {
      thread.operator_pct = 100.0 * static_cast<double>(in_operator_) / static_cast<double>(count_);
      thread.python_pct = 100.0 - *thread.operator_pct;
    }
    std::vector<std::pair<std::uint64_t, std::string>> ranked;
    for (const auto& [line, seen] : lines_) ranked.emplace_back(seen.count, line);
    std::sort(ranked.rbegin(), ranked.rend());
    for (std::size_t i = 0; i < std::min(kLines, ranked.size()); ++i) {
      const double share = 100.0 * static_cast<double>(ranked[i].first) / static_cast<double>(count_);
      thread.busiest_lines.push_back(ranked[i].second + " (" + rounded_percent_text(share) +
                                     library_text(lines_.at(ranked[i].second)) + ")");
    }
  }

 private:
  struct Line {
    std::uint64_t count = 0;
    std::map<std::string, std::uint64_t> libraries;  // lines of libraries that it led to
  };

  // ", 12 % at transformers: trainer.py:1847": where in libraries most of a line's samples were.
  std::string library_text(const Line& line) const {
    const auto most = std::max_element(line.libraries.begin(), line.libraries.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == line.libraries.end()) return "";
    const double share = 100.0 * static_cast<double>(most->second) / static_cast<double>(count_);
    return ", " + rounded_percent_text(share) + " at " + most->first;
  }

  void add(const trace::SampleRecord& sample) {
    const Place& place = model_.place_of_stack(sample.stack);
    if (place.site.empty()) return;
    ++count_;
    Line& line = lines_[place.site];
    ++line.count;
    if (place.library_site) ++line.libraries[*place.library_site];
    has_python_ = has_python_ || place.file;
    if (place.op) {
      has_operators_ = true;
      ++in_operator_;
    }
  }

  const ProcessModel& model_;
  std::map<std::string, Line> lines_;
  std::uint64_t count_ = 0;
  std::uint64_t in_operator_ = 0;
  bool has_operators_ = false;
  bool has_python_ = false;
};

ThreadRole role_of(const ProcessModel& model, std::uint32_t thread) {
  if (model.is_autograd_thread(thread)) return ThreadRole::kAutograd;
  // The system gives the first thread of a process the id of the process.
  return thread == model.process().pid ? ThreadRole::kMain : ThreadRole::kOther;
}

}  // namespace

std::vector<HostThread> describe_threads(const ProcessModel& model) {
  const auto window_ns = static_cast<double>(model.graph().window.end_ns - model.graph().window.start_ns);
  std::vector<std::pair<std::int64_t, HostThread>> ranked;
  if (window_ns <= 0) return {};
  for (const auto& [id, sums] : sums_of(model)) {
    const auto percent = [&](std::int64_t part_ns) { return 100.0 * static_cast<double>(part_ns) / window_ns; };
    HostThread thread;
    thread.thread = id;
    const auto name = model.timeline().thread_names.find(id);
    if (name != model.timeline().thread_names.end()) thread.name = model.process().string(name->second);
    thread.role = role_of(model, id);
    thread.launches = sums.launches;
    thread.calls_pct = percent(sums.calls_ns);
    thread.waits_pct = percent(sums.waits_ns);
    thread.between_pct = percent(sums.between_ns);
    Samples(model, id).describe(thread);
    ranked.emplace_back(sums.busy_ns(), std::move(thread));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<HostThread> threads;
  for (auto& [busy_ns, thread] : ranked) threads.push_back(std::move(thread));
  return threads;
}

std::optional<Spread> launch_lead_of(const ProcessModel& model) {
  std::vector<std::int64_t> leads_ns;
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    if (!is_launch(model.call(call))) continue;
    const auto& operations = model.operations_of(call);
    if (operations.empty()) continue;
    leads_ns.push_back(model.graph().operations[operations.front()].start_ns - model.call(call).end_ns);
  }
  if (leads_ns.empty()) return std::nullopt;
  return Spread{*decile(leads_ns, 1), *median(leads_ns), *decile(leads_ns, 9)};
}

}  // namespace turnpike::analyze
