// Resolves stack ids to frames, and frames to a place.
#include "analyze/model/stacks.h"

#include <algorithm>
#include <limits>

#include "analyze/model/call_path.h"
#include "trace/frames.h"

namespace turnpike::analyze {
namespace {

const std::string kNamelessCall = "unknown call";
const std::string kNoCall = "call not in file";
const std::string kManagedMemory = "managed memory";

// `id`: of a stack or a string.
std::uint64_t key_of(std::uint32_t id, bool is_backward) {
  return std::uint64_t{id} << 1 | (is_backward ? 1 : 0);
}

// Asked for every call, mostly of one thread or two: a walk takes less than a hash.
bool is_among(const Threads& threads, std::uint32_t thread) {
  constexpr std::size_t kFew = 4;
  if (threads.size() > kFew) return threads.contains(thread);
  return std::find(threads.begin(), threads.end(), thread) != threads.end();
}

}  // namespace

Stacks::Stacks(const trace::Process& process, const Timeline& timeline, std::size_t max_full)
    : process_(process),
      timeline_(timeline),
      labels_(process, timeline),
      autograd_threads_(threads_named_for_autograd(process, timeline)),
      folded_(process, timeline, max_full),
      by_stack_(2 * (process.stacks.size() + 1), kNone) {}

std::uint32_t Stacks::first_correlation() {
  if (first_correlation_) return *first_correlation_;
  first_correlation_ = std::numeric_limits<std::uint32_t>::max();
  for (const Call& call : timeline_.calls) {
    if (call.correlation != 0) first_correlation_ = std::min(*first_correlation_, call.correlation);
  }
  return *first_correlation_;
}

bool Stacks::is_backward(const Call& call) const {
  return call.autograd_role == trace::AutogradRole::kBackward || is_among(autograd_threads_, call.thread);
}

std::uint32_t& Stacks::slot_of(std::uint64_t key) {
  return key < by_stack_.size() ? by_stack_[key] : by_far_stack_.try_emplace(key, kNone).first->second;
}

std::uint32_t Stacks::of_call(const Call& call) {
  if (const std::uint32_t label = labels_.of(call); label != trace::kNoId) return of_label(label);
  const bool is_known_backward = is_backward(call);
  // The text of the name is for calls without a stack alone; looking it up takes longer than all the rest.
  if (call.stack == trace::kNoId) {
    const auto [known, is_new] = by_name_id_.try_emplace(key_of(call.name, is_known_backward), 0);
    if (is_new) known->second = find_or_make(call.stack, is_known_backward, name_of(call));
    return known->second;
  }
  const std::uint32_t known = slot_of(key_of(call.stack, is_known_backward));
  return known != kNone ? known : find_or_make(call.stack, is_known_backward, name_of(call));
}

const std::string& Stacks::name_of(const Call& call) const {
  const std::string& name = process_.string(call.name);
  return name.empty() ? kNamelessCall : name;
}

std::uint32_t Stacks::of_transfer(const Transfer& transfer) {
  if (transfer.is_migration) return find_or_make(trace::kNoId, false, kManagedMemory);
  if (transfer.graph_node != 0) {
    const std::uint32_t captured = timeline_.captured_stack(transfer.graph_node);
    if (captured != trace::kNoId) return find_or_make(captured, false, kNoCall);
  }
  if (transfer.call == kNone) return find_or_make(trace::kNoId, false, kNoCall);
  return of_call(timeline_.calls[transfer.call]);
}

bool Stacks::is_at_forward_line(std::uint32_t facts, std::uint32_t forward_facts) const {
  if (forward_facts == kNone) return false;
  const Place& place = facts_[facts].place;
  const Place& forward = facts_[forward_facts].place;
  if (!place.file) return true;
  return place.is_of_library && place.phase == Phase::kBackward && forward.file && !forward.is_of_library;
}

CallSite Stacks::site(std::uint32_t facts, std::uint32_t forward_facts) const {
  const Place& place = facts_[facts].place;
  CallSite site{place, {}, place.stack};
  if (forward_facts == kNone) return site;
  site.forward_site = facts_[forward_facts].place.site;
  if (!site.file || !is_at_forward_line(facts, forward_facts)) return site;
  if (!site.library_site) {
    const LibraryFile of = library_file(*site.file);
    site.library_site = std::string(of.library) + ": " + std::string(of.path);
    if (site.line) *site.library_site += ':' + std::to_string(*site.line);
  }
  site.file.reset();
  site.line.reset();
  site.function.reset();
  return site;
}

// CUDA numbers the calls of a process as they are made.
std::optional<MissingCall> Stacks::missing_call(const Transfer& transfer) {
  if (transfer.is_migration || transfer.call != kNone) return std::nullopt;
  if (timeline_.captured_stack(transfer.graph_node) != trace::kNoId) return std::nullopt;
  const bool is_earlier =
      !timeline_.calls.empty() && transfer.correlation != 0 && transfer.correlation < first_correlation();
  return is_earlier ? MissingCall::kEarlier : MissingCall::kUnknown;
}

std::uint32_t Stacks::of_label(std::uint32_t label) {
  const auto [entry, is_new] = by_label_.try_emplace(label, static_cast<std::uint32_t>(facts_.size()));
  if (is_new) facts_.push_back({.place = place_of_label(process_.string(label)), .is_place_known = true});
  return entry->second;
}

std::uint32_t Stacks::find_or_make(std::uint32_t stack, bool is_backward, const std::string& otherwise) {
  const std::uint64_t key = key_of(stack, is_backward);
  if (const std::uint32_t known = slot_of(key); known != kNone) return known;
  const auto found = process_.stacks.find(stack);
  if (found && !folded_.is_whole(stack)) {
    const std::uint32_t facts = of_folded(stack, is_backward, otherwise);
    slot_of(key) = facts;
    return facts;
  }
  const auto frames = frames_of(stack);
  if (frames.empty()) return of_name(is_backward, otherwise);
  const auto next = static_cast<std::uint32_t>(facts_.size());
  facts_.push_back({.place = place_of(frames, is_backward, otherwise),
                    .stack = stack,
                    .python_frames = python_frames_of(found->frames),
                    .is_place_known = true});
  slot_of(key) = next;
  return next;
}

std::uint32_t Stacks::of_name(bool is_backward, const std::string& name) {
  const auto [entry, is_new] = by_name_.try_emplace({name, is_backward}, static_cast<std::uint32_t>(facts_.size()));
  if (is_new) facts_.push_back({.place = place_of({}, is_backward, name)});
  return entry->second;
}

// Its frames have gaps: neither they nor the lines of libraries among them are shown.
std::uint32_t Stacks::of_folded(std::uint32_t stack, bool is_backward, const std::string& otherwise) {
  const std::vector<std::uint32_t>& rest = folded_.rest_of(stack);
  if (rest.empty()) return of_name(is_backward, otherwise);
  const auto [entry, is_new] = by_rest_.try_emplace({&rest, is_backward}, static_cast<std::uint32_t>(facts_.size()));
  if (!is_new) return entry->second;
  std::vector<const trace::Frame*> frames;
  for (const std::uint32_t id : rest) frames.push_back(&process_.frames.at(id));
  Place place = place_of(frames, is_backward, otherwise);
  place.library_site.reset();
  place.stack.clear();
  facts_.push_back({.place = std::move(place), .python_frames = python_frames_of(rest), .is_place_known = true});
  return entry->second;
}

std::vector<std::uint32_t> Stacks::path_of(const StackFacts& facts) {
  std::vector<std::uint32_t> path;
  const auto stack = process_.stacks.find(facts.stack);
  if (!stack) return path;
  for (const std::uint32_t id : stack->frames) {
    const auto [entry, is_new] = is_on_path_.try_emplace(id, false);
    if (is_new) {
      const auto frame = process_.frames.find(id);
      entry->second = frame != process_.frames.end() && is_on_path(frame->second);
    }
    if (entry->second) path.push_back(id);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<const trace::Frame*> Stacks::frames_of(std::uint32_t stack) const {
  return trace::frames_of(process_, stack);
}

std::uint32_t Stacks::python_frames_of(std::span<const std::uint32_t> frames) {
  std::vector<std::uint32_t> ids;
  for (const std::uint32_t id : frames) {
    const auto frame = process_.frames.find(id);
    if (frame != process_.frames.end() && frame->second.kind == trace::FrameKind::kPython) ids.push_back(id);
  }
  if (ids.empty()) return 0;
  return python_frames_.try_emplace(std::move(ids), static_cast<std::uint32_t>(python_frames_.size() + 1))
      .first->second;
}

}  // namespace turnpike::analyze
