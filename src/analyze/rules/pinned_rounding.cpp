// Page-locked memory that PyTorch rounded up: its allocator takes powers of two, and each block serves one tensor.
#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;

// What is unused of smaller blocks does not matter.
constexpr std::uint64_t kBlockBytes = 1u << 20;
// All together: what is worth a line in a report.
constexpr std::uint64_t kMinUnusedBytes = 256u << 20;
constexpr double kMinUnusedShare = 0.1;

struct Block {
  std::uint32_t call;  // that allocated it
  std::uint64_t bytes;
  std::uint64_t used_bytes = 0;  // up to the last byte that a copy read or wrote
  bool is_known = true;          // false: a copy of rows, whose end the call does not tell
  std::int64_t end_ns = trace::kUnknownTime;

  // A block that holds less than half was not rounded for what the copies show.
  bool is_rounded() const { return is_known && used_bytes < bytes && std::bit_ceil(used_bytes) == bytes; }
};

// Of the whole process: memory is usually page-locked before the first step.
class Blocks {
 public:
  explicit Blocks(const ProcessModel& model) : model_(model) {
    const auto& calls = model.timeline().calls;
    for (std::uint32_t index = 0; index < calls.size(); ++index) note(index, calls[index]);
  }

  const std::vector<Block>& all() const { return blocks_; }

 private:
  void note(std::uint32_t index, const Call& call) {
    if (call.result != 0 || !call.has_times()) return;
    if (call.kind == CallKind::kHostAlloc) allocate(index, call);
    if (call.kind == CallKind::kHostFree) release(call);
    if (call.kind == CallKind::kCopy && call.bytes != trace::kUnknownSize) {
      use(call.src, call);
      use(call.dst, call);
    }
  }

  void allocate(std::uint32_t index, const Call& call) {
    const bool is_block =
        call.bytes != trace::kUnknownSize && call.bytes >= kBlockBytes && std::has_single_bit(call.bytes);
    // PyTorch's: what a program page-locks by itself has the size that it asked for.
    if (call.dst == 0 || !is_block || !model_.facts(call).place.op) return;
    by_address_[call.dst] = blocks_.size();
    blocks_.push_back({.call = index, .bytes = call.bytes});
  }

  void release(const Call& call) {
    const auto found = by_address_.find(call.dst);
    if (found == by_address_.end()) return;
    blocks_[found->second].end_ns = call.start_ns;
    by_address_.erase(found);
  }

  void use(std::uint64_t address, const Call& call) {
    auto found = by_address_.upper_bound(address);
    if (found == by_address_.begin()) return;
    --found;
    Block& block = blocks_[found->second];
    const std::uint64_t offset = address - found->first;
    if (offset >= block.bytes || call.bytes > block.bytes - offset) return;
    const std::string& name = model_.process().string(call.name);
    if (name.find("2D") != name.npos || name.find("3D") != name.npos) block.is_known = false;
    block.used_bytes = std::max(block.used_bytes, offset + call.bytes);
  }

  const ProcessModel& model_;
  std::vector<Block> blocks_;
  std::map<std::uint64_t, std::size_t> by_address_;  // those that are allocated
};

// The blocks of one place, at the moment when most of their memory was unused.
struct Most {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t unused_bytes() const { return bytes - used_bytes; }
};

Most most_unused(const std::vector<Call>& calls, const std::vector<const Block*>& blocks) {
  std::vector<std::pair<std::int64_t, const Block*>> ends;
  for (const Block* block : blocks) {
    if (block->end_ns != trace::kUnknownTime) ends.emplace_back(block->end_ns, block);
  }
  std::sort(ends.begin(), ends.end());
  Most now, most;
  auto end = ends.begin();
  for (const Block* block : blocks) {  // in the order in which they were allocated
    for (; end != ends.end() && end->first <= calls[block->call].start_ns; ++end) {
      now = {now.count - 1, now.bytes - end->second->bytes, now.used_bytes - end->second->used_bytes};
    }
    now = {now.count + 1, now.bytes + block->bytes, now.used_bytes + block->used_bytes};
    if (now.unused_bytes() > most.unused_bytes()) most = now;
  }
  return most;
}

std::string evidence_of(const Most& most) {
  return std::to_string(most.count) + (most.count == 1 ? " block of " : " blocks of ") + size_text(most.bytes) +
         ", a power of two each; copies used " + size_text(most.used_bytes) + " of it, and " +
         size_text(most.unused_bytes()) + " stayed unused";
}

}  // namespace

void find_pinned_rounding(const RuleInput& input, std::vector<Candidate>& found) {
  const auto& calls = input.model.timeline().calls;
  const Blocks blocks(input.model);
  std::map<std::pair<std::string, std::optional<std::string>>, std::vector<const Block*>> by_place;
  for (const Block& block : blocks.all()) {
    if (!block.is_rounded()) continue;
    const Place& place = input.model.facts(calls[block.call]).place;
    by_place[{place.site, place.library_site}].push_back(&block);
  }
  for (const auto& [place, of_place] : by_place) {
    const Most most = most_unused(calls, of_place);
    const bool is_much = most.unused_bytes() >= kMinUnusedBytes &&
                         static_cast<double>(most.unused_bytes()) >= kMinUnusedShare * static_cast<double>(most.bytes);
    if (!is_much) continue;
    found.push_back(
        {.where = input.model.facts(calls[of_place.front()->call]).place,
         .severity = Severity::kInfo,
         .title = "PyTorch rounds what it page-locks (pins) up to powers of two: " + size_text(most.unused_bytes()) +
                  " of host memory are locked and not used",
         .evidence = evidence_of(most),
         .advice = "with tp.pinned(tensor): page-locks memory that exists and rounds nothing. Or allocate one "
                   "tensor that is a power of two of bytes, and cut the others out of it.",
         .changes = {}});
  }
}

}  // namespace turnpike::analyze
