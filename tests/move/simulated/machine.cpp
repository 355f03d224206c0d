// Puts operations in order, and finds what is wrong with them when they are issued and when the host learns of their
// end.
#include "simulated/machine.h"

#include <algorithm>
#include <cstring>

#include "simulated/hash.h"

namespace turnpike::simulated {
namespace {

constexpr std::size_t kMostViolations = 20;
std::atomic<std::uint64_t> g_machines{0};

Pace drawn(Random& random) {
  static constexpr Pace kPaces[] = {Pace::kAtOnce,  Pace::kOnlyWhenAsked, Pace::kByChance, Pace::kByChance,
                                    Pace::kSomeLag, Pace::kSomeLag,       Pace::kThreads,  Pace::kThreads};
  return random.of(kPaces);
}

}  // namespace

Machine::Machine(std::uint64_t seed, const Options& chosen)
    : random(seed),
      options(chosen),
      poison(static_cast<std::uint8_t>(0xDB ^ (seed % 16))),
      id(++g_machines),
      retained(static_cast<std::size_t>(chosen.devices), 0),
      is_programs(static_cast<std::size_t>(chosen.devices), false),
      pace_(chosen.pace ? *chosen.pace : drawn(random)) {
  for (int device = 0; device < options.devices; ++device) {
    add_stream(device, true, true).handle = nullptr;
  }
}

Machine::~Machine() {
  {
    auto held = lock();
    is_stopping_ = true;
    changed_.notify_all();
  }
  for (const auto& stream : streams_) {
    if (stream->thread.joinable()) stream->thread.join();
  }
}

void Machine::report(Rule rule, std::string sentence) {
  if (violations.size() < kMostViolations) violations.push_back({rule, std::move(sentence)});
}

Stream& Machine::add_stream(int device, bool is_blocking, bool is_the_tests) {
  auto stream = std::make_unique<Stream>();
  stream->index = streams_.size();
  stream->handle = reinterpret_cast<CUstream_st*>(0x51000000 + 64 * stream->index);
  stream->device = device;
  stream->is_blocking = is_blocking;
  stream->is_the_tests = is_the_tests;
  stream->is_laggard = pace_ == Pace::kSomeLag && random.one_in(3);
  streams_.push_back(std::move(stream));
  return *streams_.back();
}

Stream* Machine::stream_of(CUstream_st* handle, int current_device, const char* call) {
  const bool is_default = handle == nullptr || handle == reinterpret_cast<CUstream_st*>(1);  // CU_STREAM_LEGACY
  if (is_default && current_device >= 0) return streams_[static_cast<std::size_t>(current_device)].get();
  for (const auto& stream : streams_) {
    if (!is_default && stream->handle == handle && !stream->is_destroyed) return stream.get();
  }
  report(Rule::kUsedAfterDestroy, std::string(call) + " was given a stream that is not there");
  return nullptr;
}

Event& Machine::add_event(int device, bool has_time, bool is_the_tests) {
  auto event = std::make_unique<Event>();
  event->handle = reinterpret_cast<CUevent_st*>(0xE1000000 + 64 * events_.size());
  event->device = device;
  event->has_time = has_time;
  event->is_the_tests = is_the_tests;
  Event& added = *event;
  events_.emplace(added.handle, std::move(event));
  return added;
}

Event* Machine::event_of(CUevent_st* handle, const char* call) {
  const auto found = events_.find(handle);
  if (found != events_.end() && !found->second->is_destroyed) return found->second.get();
  report(Rule::kUsedAfterDestroy, std::string(call) + " was given an event that is not there");
  return nullptr;
}

void Machine::order_with_default_stream(Stream& stream, Operation& operation) {
  for (const auto& other : streams_) {
    if (other.get() == &stream || other->device != stream.device || !other->is_blocking) continue;
    if (stream.handle != nullptr && other->handle != nullptr) continue;
    operation.after.push_back({other->index, other->issued});
    stream.clock.join(other->clock);
  }
}

Position Machine::issue(Stream& stream, std::shared_ptr<Operation> operation, const std::vector<Access>& accesses) {
  if (stream.is_captured) report(Rule::kWhileCapturing, operation->what + " was put into a stream that is captured");
  stream.clock.join(known_to_host_);
  if (stream.is_blocking) order_with_default_stream(stream, *operation);
  operation->position = {stream.index, ++stream.issued};
  operation->what += " in stream " + std::to_string(stream.index);
  for (const Access& access : accesses) {
    if (const Access* other = accesses_.unordered(access.range, access.is_write, stream.clock)) {
      report(Rule::kUnordered, operation->what + (access.is_write ? " writes" : " reads") + " what " + other->what +
                                   (other->is_write ? " writes" : " reads") + ", and nothing puts them in order");
    }
  }
  stream.clock.advance_to(operation->position);
  prepare(*operation, accesses);
  for (Access access : accesses) {
    access.by = operation->position;
    access.what = operation->what;
    accesses_.add(std::move(access));
  }
  if (!operation->host_side.is_empty()) unknown_to_host_.push_back(operation);
  stream.queue.push_back(std::move(operation));
  if (pace_ == Pace::kThreads) {
    if (!stream.thread.joinable()) stream.thread = std::thread(&Machine::live, this, std::ref(stream));
    changed_.notify_all();
  }
  return {stream.index, stream.issued};
}

// The word around the few bytes that a download writes; nullptr: they are too many, or lie across its border.
std::uint64_t* Machine::word_of(const Operation& operation) {
  constexpr std::uint64_t kWord = sizeof(std::uint64_t);
  const Range side = operation.host_side;
  const std::uint64_t begin = side.begin / kWord * kWord;
  if (operation.kind != Kind::kDownload || side.is_empty() || side.end > begin + kWord) return nullptr;
  return memory.holding({begin, begin + kWord}) == nullptr ? nullptr : reinterpret_cast<std::uint64_t*>(begin);
}

// Takes away the meaning of what will be written, and remembers what the host must leave alone.
void Machine::prepare(Operation& operation, const std::vector<Access>& accesses) {
  for (const Access& access : accesses) {
    const bool is_host_side = access.range.begin == operation.host_side.begin && !operation.host_side.is_empty();
    if (access.is_write && is_host_side) {
      for (const auto& other : unknown_to_host_) {
        if (other->host_side.overlaps(access.range)) other->is_overtaken = true;
      }
    }
    if (std::uint64_t* word = access.is_write && is_host_side ? word_of(operation) : nullptr) {
      operation.word_before = *word;
      operation.clock = streams_[operation.position.stream]->clock;
      operation.patience = random.one_in(30) ? 30 : random.below(4);
    }
    if (access.is_write && operation.to != nullptr && accesses_.find(access.range, false) == nullptr) {
      std::memset(operation.to, poison, operation.size_bytes);
    }
    // Where a device is about to write, the bytes of now mean nothing.
    if (is_host_side && accesses_.find(access.range, !access.is_write) == nullptr) {
      operation.host_hash = hash_of(reinterpret_cast<const std::byte*>(access.range.begin), operation.size_bytes);
    }
  }
}

void Machine::record(Event& event, Stream& stream) {
  auto marker = std::make_shared<Operation>();
  marker->what = "the record of an event";
  auto time_ns = std::make_shared<std::uint64_t>(0);
  marker->body = [this, time_ns] { *time_ns = now_ns_; };
  event.position = issue(stream, std::move(marker), {});
  event.clock = stream.clock;
  event.is_recorded = true;
  event.time_ns = std::move(time_ns);
  event.patience = random.one_in(30) ? 100 : random.below(4);
}

void Machine::make_wait(Stream& stream, const Event& event) {
  if (!event.is_recorded) return;
  auto marker = std::make_shared<Operation>();
  marker->what = "the wait for an event";
  marker->after.push_back(event.position);
  issue(stream, std::move(marker), {});
  stream.clock.join(event.clock);
}

void Machine::learn(const Clock& clock) {
  known_to_host_.join(clock);
  std::erase_if(unknown_to_host_, [&](const std::shared_ptr<Operation>& operation) {
    if (!known_to_host_.covers(operation->position)) return false;
    if (!operation->is_overtaken) check_host_side(*operation);
    return true;
  });
  accesses_.forget(known_to_host_);
}

void Machine::check_host_side(Operation& operation) {
  if (!operation.host_hash) return;
  const auto* bytes = reinterpret_cast<const std::byte*>(operation.host_side.begin);
  if (hash_of(bytes, operation.size_bytes) == *operation.host_hash) return;
  operation.host_hash.reset();
  if (operation.kind == Kind::kUpload) {
    report(Rule::kSourceChanged, "the source of " + operation.what + " changed before the host knew that it is done");
  } else {
    report(Rule::kDestinationTouched,
           "somebody wrote where " + operation.what + " writes, before the host knew that it is done");
  }
}

void Machine::check_unused(const Block& block, const char* call, std::unique_lock<std::mutex>& lock) {
  if (const Access* access = accesses_.find(block.range, false)) {
    report(Rule::kFreedInFlight, std::string(call) + " gives back memory that is in use by " + access->what);
    wait_for_all(lock);
  }
  if (!Memory::are_guards_intact(block)) {
    report(Rule::kHostOverrun,
           "the bytes beside a page-locked block of " + std::to_string(block.size_bytes()) + " bytes were overwritten");
  }
}

void Machine::remove(const Block& block) {
  if (block.device == kHost && !block.is_the_tests) pinned_bytes -= block.size_bytes();
  memory.remove(block);
}

}  // namespace turnpike::simulated
