// Runs the operations of the simulated streams: by chance, because the host waits, or each stream in a thread.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "simulated/hash.h"
#include "simulated/machine.h"

namespace turnpike::simulated {
namespace {

constexpr auto kLongestHold = std::chrono::seconds(20);
constexpr std::uint64_t kStepNs = 1000;

}  // namespace

bool Machine::is_ready(const Stream& stream) const {
  if (stream.queue.empty()) return false;
  const Operation& next = *stream.queue.front();
  if (next.kind == Kind::kHold && !next.is_released) return false;
  for (const Position position : next.after) {
    if (!is_done(position)) return false;
  }
  return true;
}

bool Machine::goes_on_by_itself(const Stream& stream) const {
  return !stream.is_laggard && !stream.is_asleep && stream.resume_at <= steps_ && is_ready(stream);
}

void Machine::start(Operation& operation) {
  check_host_side(operation);
  if (operation.to != nullptr) std::memset(operation.to, poison, operation.size_bytes);
  for (const auto& [bytes, size_bytes] : operation.scratch) std::memset(bytes, poison, size_bytes);
  if (!operation.host_side.is_empty()) {
    operation.host_hash = hash_of(reinterpret_cast<const std::byte*>(operation.host_side.begin), operation.size_bytes);
  }
  operation.is_started = true;
}

void Machine::finish(Operation& operation) {
  check_host_side(operation);
  if (operation.to != nullptr) std::memcpy(operation.to, operation.from, operation.size_bytes);
  if (operation.breaks_a_byte && operation.size_bytes > 0) operation.to[operation.size_bytes / 2] ^= std::byte{0x10};
  if (operation.kind == Kind::kDownload) operation.host_hash = hash_of(operation.to, operation.size_bytes);
  if (operation.body) {
    is_in_body_ = true;
    operation.body();
    is_in_body_ = false;
  }
}

void Machine::step(Stream& stream) {
  const std::shared_ptr<Operation> operation = stream.queue.front();
  ++steps_;
  now_ns_ += kStepNs;
  if (!operation->is_started) start(*operation);
  if (operation->steps_left > 0) {
    --operation->steps_left;
    return;
  }
  finish(*operation);
  stream.queue.pop_front();
  stream.done = operation->position.number;
}

// One step that the operation at `position` needs. False: only somebody who holds a stream can let it go on.
bool Machine::step_towards(Position position) {
  Stream& stream = *streams_[position.stream];
  stream.is_asleep = false;
  stream.resume_at = 0;
  for (const Position other : stream.queue.front()->after) {
    if (!is_done(other)) return step_towards(other);
  }
  if (!is_ready(stream)) return false;
  step(stream);
  return true;
}

void Machine::drift() {
  if (pace_ == Pace::kOnlyWhenAsked || pace_ == Pace::kThreads || streams_.empty()) return;
  std::size_t steps = random.one_in(2) ? 0 : random.between(1, 4);
  if (pace_ == Pace::kAtOnce) steps = random.one_in(8) ? 0 : 1000;
  for (; steps > 0; --steps) {
    const std::size_t first = random.below(streams_.size());
    Stream* chosen = nullptr;
    for (std::size_t i = 0; i < streams_.size() && chosen == nullptr; ++i) {
      Stream& stream = *streams_[(first + i) % streams_.size()];
      if (goes_on_by_itself(stream)) chosen = &stream;
    }
    if (chosen == nullptr) return;
    step(*chosen);
  }
}

void Machine::wait_for(Position position, const Clock& clock, std::unique_lock<std::mutex>& lock) {
  const auto end = std::chrono::steady_clock::now() + kLongestHold;
  while (!is_done(position)) {
    // Others of the host and of the device may come in between.
    if (random.one_in(4)) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
      drift();
      continue;
    }
    if (step_towards(position)) {
      changed_.notify_all();
    } else if (changed_.wait_until(lock, end) == std::cv_status::timeout) {
      report(Rule::kNeverEnds, "the host waits for a stream that nobody lets go on");
      for (const auto& stream : streams_) {
        for (const auto& operation : stream->queue) operation->is_released = true;
      }
    }
  }
  learn(clock);
}

void Machine::wait_for_stream(Stream& stream, std::unique_lock<std::mutex>& lock) {
  Clock clock = stream.clock;
  wait_for({stream.index, stream.issued}, clock, lock);
  if (stream.handle != nullptr) return;
  for (const auto& other : streams_) {  // what was put there before is before whatever the default stream gets next
    if (other->device != stream.device || !other->is_blocking || other.get() == &stream) continue;
    clock = other->clock;
    wait_for({other->index, other->issued}, clock, lock);
  }
}

void Machine::wait_for_device(int device, std::unique_lock<std::mutex>& lock) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i]->device != device) continue;
    const Clock clock = streams_[i]->clock;
    wait_for({i, streams_[i]->issued}, clock, lock);
  }
}

void Machine::wait_for_all(std::unique_lock<std::mutex>& lock) {
  for (int device = 0; device < options.devices; ++device) wait_for_device(device, lock);
}

bool Machine::ask(Event& event) {
  if (!event.is_recorded) return true;
  if (!is_done(event.position) && event.patience > 0) {
    --event.patience;
    return false;
  }
  for (std::size_t steps = random.between(1, 4); steps > 0 && !is_done(event.position); --steps) {
    if (!step_towards(event.position)) break;
    changed_.notify_all();
  }
  if (!is_done(event.position)) return false;
  learn(event.clock);
  return true;
}

std::uint64_t Machine::look(std::uint64_t* word) {
  const auto begin = reinterpret_cast<std::uint64_t>(word);
  const Range range{begin, begin + sizeof *word};
  const auto found =
      std::find_if(unknown_to_host_.begin(), unknown_to_host_.end(), [&](const std::shared_ptr<Operation>& operation) {
        return operation->word_before && operation->host_side.overlaps(range);
      });
  if (found != unknown_to_host_.end()) {
    const std::shared_ptr<Operation> copy = *found;
    if (!is_done(copy->position) && copy->patience > 0) {
      --copy->patience;
      return *copy->word_before;
    }
    for (std::size_t steps = random.between(1, 4); steps > 0 && !is_done(copy->position); --steps) {
      if (!step_towards(copy->position)) break;
      changed_.notify_all();
    }
    if (!is_done(copy->position)) return *copy->word_before;
    learn(copy->clock);
  }
  if (const Access* access = accesses_.find(range, true)) {
    report(Rule::kReadTooEarly, "the host reads what " + access->what + " writes");
  }
  return *word;
}

bool Machine::is_idle(Stream& stream) {
  if (!is_done({stream.index, stream.issued})) return false;
  learn(stream.clock);
  return true;
}

void Machine::let_go(Operation& hold) {
  hold.is_released = true;
  changed_.notify_all();
}

// Whether a stream that could go on does not, until others have or the host asks.
bool Machine::falls_asleep(Stream& stream) {
  const std::size_t chance = random.below(100);
  stream.is_asleep = chance < 3;
  if (chance >= 3 && chance < 10) stream.resume_at = steps_ + random.between(1, 6);
  return chance < 10;
}

void Machine::live(Stream& stream) {
  auto held = lock();
  while (!is_stopping_) {
    if (!goes_on_by_itself(stream) || falls_asleep(stream)) {
      changed_.wait(held);
      continue;
    }
    if (random.one_in(4)) {
      const std::size_t delay_us = random.one_in(8) ? random.between(1, 20) : 0;
      held.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
      held.lock();
      if (!goes_on_by_itself(stream)) continue;
    }
    step(stream);
    changed_.notify_all();
  }
}

}  // namespace turnpike::simulated
