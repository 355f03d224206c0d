// What the stacks of one process say, worked out once for each stack.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyze/model/folded_stacks.h"
#include "analyze/model/labels.h"
#include "analyze/model/place.h"
#include "analyze/model/threads.h"
#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::analyze {

struct StackFacts {
  Place place;
  std::uint32_t stack = trace::kNoId;  // kNoId: known without one, or folded, or not at all
  std::uint32_t python_frames = 0;     // equal for stacks with the same frames of Python; 0: none
  bool is_place_known = false;         // false: `place.site` is only the name of the call
};

class Stacks {
 public:
  // Keeps references to both. `max_full`: of more stacks than this, only so many lead to facts of their own; the facts
  // of others are those of their line (folded_stacks.h).
  Stacks(const trace::Process& process, const Timeline& timeline, std::size_t max_full = kAllStacks);

  // An index for `facts`, the same for calls with the same stack on the same side of autograd, and for those that the
  // engine made for the same line.
  std::uint32_t of_call(const Call& call);
  // Whether more than its name can be known of a call; asking takes less than of_call().
  bool has_stack(const Call& call) const { return call.stack != trace::kNoId || labels_.of(call) != trace::kNoId; }
  // Of a sample; with an empty place where nothing is known of the stack.
  std::uint32_t of_stack(std::uint32_t stack) { return find_or_make(stack, false, ""); }
  // Of device work: of the line that captured it when it is part of a graph, else of its call.
  std::uint32_t of_transfer(const Transfer& transfer);
  // Nullopt where its call or the line that captured it is known, and for managed memory, which moves without a call.
  std::optional<MissingCall> missing_call(const Transfer& transfer);
  // The stacks of copies, waits and allocations that were folded to their line.
  std::size_t folded_count() const { return folded_.count(); }
  // Valid as long as this object.
  const StackFacts& facts(std::uint32_t index) const { return facts_[index]; }
  // The frames of Python that led to the calls of `facts`, without wrappers, outermost first.
  std::vector<std::uint32_t> path_of(const StackFacts& facts);
  // Whether the line of the forward pass is the place of a backward call: the engine made it, or a hook of a library
  // that the engine ran (save_on_cpu).
  bool is_at_forward_line(std::uint32_t facts, std::uint32_t forward_facts) const;
  // The place of `facts`, as rows name it. `forward_facts`: of the forward call of a backward one; kNone for others.
  CallSite site(std::uint32_t facts, std::uint32_t forward_facts) const;

 private:
  std::uint32_t of_label(std::uint32_t label);
  std::uint32_t find_or_make(std::uint32_t stack, bool is_backward, const std::string& otherwise);
  // Where the facts of a stack are kept; kNone: they are not known yet.
  std::uint32_t& slot_of(std::uint64_t key);
  std::uint32_t of_name(bool is_backward, const std::string& name);
  std::uint32_t of_folded(std::uint32_t stack, bool is_backward, const std::string& otherwise);
  std::vector<const trace::Frame*> frames_of(std::uint32_t stack) const;
  std::uint32_t python_frames_of(std::span<const std::uint32_t> frames);
  bool is_backward(const Call& call) const;
  // Of all calls; the largest of all numbers where they have none.
  std::uint32_t first_correlation();
  const std::string& name_of(const Call& call) const;

  const trace::Process& process_;
  const Timeline& timeline_;
  const Labels labels_;
  const Threads autograd_threads_;
  FoldedStacks folded_;
  std::optional<std::uint32_t> first_correlation_;  // looked for when it is first asked for
  std::deque<StackFacts> facts_;
  std::vector<std::uint32_t> by_stack_;  // by stack and side of autograd, as far as stacks are numbered without gaps
  std::unordered_map<std::uint64_t, std::uint32_t> by_far_stack_;  // the others
  std::map<std::pair<const void*, bool>, std::uint32_t> by_rest_;  // of folded stacks
  std::unordered_map<std::uint32_t, std::uint32_t> by_label_;
  std::map<std::pair<std::string, bool>, std::uint32_t> by_name_;  // calls without a stack
  std::unordered_map<std::uint64_t, std::uint32_t> by_name_id_;    // the same by the name's string id, found faster
  std::map<std::vector<std::uint32_t>, std::uint32_t> python_frames_;
  std::unordered_map<std::uint32_t, bool> is_on_path_;  // by frame
};

}  // namespace turnpike::analyze
