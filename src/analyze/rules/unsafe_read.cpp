// Results come down without waiting, and nothing waits for them later: what is read may be what stood there before.
//
// A read of memory is no call to CUDA, so it cannot be seen. What can be seen is that a buffer was used again, by the
// next copy into it, before anything that could have waited for the last one: no synchronisation, no copy that held the
// host, no event that someone may ask for. Where a copy up takes the data from the buffer, the GPU may be its only
// reader, and nothing is said.
#include <algorithm>
#include <map>

#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;

// Once may be the end of a program, or its start.
constexpr std::size_t kFewCopies = 2;

struct ReadBuffer {
  std::uint64_t first;
  std::uint64_t end;
  std::uint32_t call;  // the copy that filled it last, and that nothing has waited for
};

bool overlaps(const ReadBuffer& buffer, std::uint64_t first, std::uint64_t bytes) {
  return first < buffer.end && buffer.first < first + bytes;
}

// Follows the calls in order.
class UnawaitedCopies {
 public:
  explicit UnawaitedCopies(const ProcessModel& model) : model_(model) {}

  void pass(std::uint32_t index) {
    const Call& call = model_.call(index);
    if (may_wait(index)) {
      buffers_.clear();
      return;
    }
    for (const std::uint32_t operation : model_.operations_of(index)) {
      const Transfer* transfer = model_.transfer_of(model_.graph().operations[operation]);
      if (transfer == nullptr || transfer->graph_node != 0) continue;
      if (transfer->direction == Direction::kHostToDevice) forget(call.src, transfer->bytes);
      if (transfer->direction == Direction::kDeviceToHost) fill(index, *transfer);
    }
  }

  // Copies that were overwritten by the next one, by the place that made them.
  const std::map<const StackFacts*, Selection>& overwritten() const { return overwritten_; }

 private:
  // Whether the host may know after this call that earlier copies are done. Events can be asked for without a call
  // that is recorded.
  bool may_wait(std::uint32_t index) const {
    switch (model_.call(index).kind) {
      case CallKind::kSynchronize:
      case CallKind::kEventRecord:
      case CallKind::kDeviceAlloc:
      case CallKind::kDeviceFree:
      case CallKind::kHostAlloc:
      case CallKind::kHostFree:
      case CallKind::kHostRegister:
      case CallKind::kHostUnregister:
      case CallKind::kOther:
        return true;
      default:
        return is_held(model_, index);
    }
  }

  void forget(std::uint64_t first, std::uint64_t bytes) {
    std::erase_if(buffers_, [&](const ReadBuffer& buffer) { return overlaps(buffer, first, bytes); });
  }

  void fill(std::uint32_t index, const Transfer& transfer) {
    const Call& call = model_.call(index);
    for (const ReadBuffer& buffer : buffers_) {
      if (overlaps(buffer, call.dst, transfer.bytes)) {
        overwritten_[&model_.facts_of_call(buffer.call)].push_back(buffer.call);
      }
    }
    forget(call.dst, transfer.bytes);
    const bool is_at_large = transfer.is_async && transfer.dst_kind == trace::MemoryKind::kPinned && call.dst != 0;
    if (is_at_large) buffers_.push_back({call.dst, call.dst + transfer.bytes, index});
  }

  const ProcessModel& model_;
  std::vector<ReadBuffer> buffers_;
  std::map<const StackFacts*, Selection> overwritten_;
};

}  // namespace

void find_unsafe_read(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  UnawaitedCopies copies(model);
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) copies.pass(call);
  for (const SiteCalls& site : input.sites) {
    const auto overwritten = copies.overwritten().find(site.facts);
    if (overwritten == copies.overwritten().end() || overwritten->second.size() < kFewCopies) continue;
    const CopyCount& all = count_copies(site, Direction::kDeviceToHost);
    const std::string each = bytes_text(static_cast<double>(all.bytes) / static_cast<double>(all.count));
    found.push_back(
        {.where = site.facts->place,
         .severity = Severity::kError,
         .title = "a result may be read before it has arrived: nothing waits for this copy",
         .evidence = times_a_step(model, all.count) + ", " + each + " each, with non_blocking=True; " +
                     std::to_string(overwritten->second.size()) + " of " + std::to_string(all.count) +
                     " were overwritten by the next before anything waited for them: read by then, they may have been "
                     "incomplete; not read, they were copied for nothing",
         .advice =
             "Wait before you read: event.record() behind the copy, event.synchronize() before the read. The event "
             "is torch.cuda.Event(). Or value = tp.fetch(x), later value.result().",
         .changes = {}});
  }
}

}  // namespace turnpike::analyze
