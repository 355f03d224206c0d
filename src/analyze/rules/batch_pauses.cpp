// Looks up the samples of each pause.
#include "analyze/rules/batch_pauses.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "analyze/model/thread_samples.h"
#include "trace/frames.h"

namespace turnpike::analyze {
namespace {

// What a sample shows.
struct SampleShows {
  std::optional<Doing> doing;
  std::optional<Where> loop;
};

// By stack: many samples have the same.
class SampleReader {
 public:
  explicit SampleReader(const ProcessModel& model) : model_(model) {}

  const SampleShows& of(std::uint32_t stack) {
    const auto known = by_stack_.find(stack);
    if (known != by_stack_.end()) return known->second;
    const auto frames = trace::frames_of(model_.process(), stack);
    return by_stack_.emplace(stack, SampleShows{doing_of(frames), loop_line_of(frames)}).first->second;
  }

 private:
  const ProcessModel& model_;
  std::map<std::uint32_t, SampleShows> by_stack_;
};

void read_samples(const ProcessModel& model, SampleReader& reader, BatchPause& pause) {
  for (const trace::SampleRecord& sample : samples_in(model.timeline(), model.call(pause.taker).thread, pause.time)) {
    if (!model.process().stacks.contains(sample.stack)) continue;
    const SampleShows& shows = reader.of(sample.stack);
    if (shows.doing) ++pause.samples[static_cast<std::size_t>(*shows.doing)];
    if (shows.loop) pause.loop = shows.loop;
  }
}

// A request to a DataLoader, as PyTorch marks it with a range:
// "enumerate(DataLoader)#_MultiProcessingDataLoaderIter..".
struct Request {
  Interval time;
  std::uint32_t thread;
  Doing doing;
};

std::optional<Doing> doing_of_range(std::string_view name) {
  if (name.find("DataLoaderIter.__next__") == name.npos) return std::nullopt;
  return name.find("_MultiProcessing") != name.npos ? Doing::kAwaitsWorkers : Doing::kLoads;
}

std::vector<Request> requests_of(const ProcessModel& model) {
  std::map<std::uint32_t, std::optional<Doing>> of_name;
  std::vector<Request> requests;
  for (const Range& range : model.timeline().ranges) {
    const auto [known, is_new] = of_name.try_emplace(range.name);
    if (is_new) known->second = doing_of_range(model.process().string(range.name));
    if (known->second) requests.push_back({{range.start_ns, range.end_ns}, range.thread, *known->second});
  }
  return requests;
}

std::int64_t common_ns(const Interval& a, const Interval& b) {
  return std::min(a.end_ns, b.end_ns) - std::max(a.start_ns, b.start_ns);
}

// In the order of their starts. Asked for pauses in the order of time.
class RequestReader {
 public:
  explicit RequestReader(std::vector<Request> requests) : requests_(std::move(requests)) {}

  // If a request to a DataLoader lasts for most of the pause, the thread did its work, whatever samples show.
  void read(const ProcessModel& model, BatchPause& pause) {
    while (first_ < requests_.size() && requests_[first_].time.end_ns <= pause.time.start_ns) ++first_;
    if (pause.of_loader() > 0) return;
    const std::uint32_t thread = model.call(pause.taker).thread;
    for (std::size_t i = first_; i < requests_.size() && requests_[i].time.start_ns < pause.time.end_ns; ++i) {
      const Request& request = requests_[i];
      if (request.thread != thread) continue;
      if (2 * common_ns(request.time, pause.time) <= pause.time.end_ns - pause.time.start_ns) continue;
      pause.samples = {};
      pause.samples[static_cast<std::size_t>(request.doing)] = 1;
      return;
    }
  }

 private:
  std::vector<Request> requests_;
  std::size_t first_ = 0;
};

}  // namespace

bool is_work_of_another_kind(const ProcessModel& model, std::uint32_t call) {
  std::uint32_t before = model.graph().previous_call[call];
  if (before != kNone && model.call(before).kind == trace::CallKind::kSynchronize) {
    before = model.graph().previous_call[before];
  }
  if (before == kNone) return false;
  const trace::CallKind kind = model.call(before).kind;
  if (kind == trace::CallKind::kHostAlloc || kind == trace::CallKind::kHostRegister) return true;
  const std::uint64_t down = link_bytes(model, before, Direction::kDeviceToHost);
  return down > 0 && down == link_bytes(model, call, Direction::kHostToDevice);
}

std::vector<BatchPause> find_batch_pauses(const ProcessModel& model) {
  std::vector<BatchPause> pauses;
  SampleReader reader(model);
  RequestReader requests(requests_of(model));
  std::uint32_t call = 0;
  for (const Interval& gap : model.batch_gaps()) {
    const auto count = static_cast<std::uint32_t>(model.graph().calls.size());
    while (call < count && model.call(call).start_ns < gap.end_ns) ++call;
    if (call == count) break;
    if (model.call(call).start_ns != gap.end_ns) continue;  // outside of the stretch
    if (is_work_of_another_kind(model, call)) continue;
    pauses.push_back({.time = gap, .taker = call, .site = model.facts_of_call(call).place.site});
    read_samples(model, reader, pauses.back());
    requests.read(model, pauses.back());
  }
  return pauses;
}

std::uint64_t link_bytes(const ProcessModel& model, std::uint32_t call, Direction direction) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t operation : model.operations_of(call)) {
    const Transfer* transfer = model.transfer_of(model.graph().operations[operation]);
    if (transfer != nullptr && transfer->direction == direction) bytes += transfer->bytes;
  }
  return bytes;
}

}  // namespace turnpike::analyze
