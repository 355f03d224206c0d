// Pushes records and wakes the collector.
#include "record/handover/thread_handover.h"

#include <pthread.h>
#include <time.h>

#include <cstring>

#include "record/handover/record_batch.h"

namespace turnpike::record {

namespace {

ThreadName name_of_this_thread(std::uint32_t thread) noexcept {
  ThreadName name{};
  name.header = {kThreadNameKind, sizeof(ThreadName)};
  name.thread = thread;
  name.handle = pthread_self();
  pthread_getname_np(pthread_self(), name.text, sizeof(name.text));
  return name;
}

}  // namespace

ThreadBuffer* ThreadHandover::mine() noexcept {
  bool is_new = false;
  ThreadBuffer* buffer = buffers_.mine(is_new);
  if (buffer == nullptr) {
    losses_.add(trace::Loss::kCallBuffersFull);
    return nullptr;
  }
  if (is_new) {
    const ThreadName name = name_of_this_thread(buffer->thread);
    push(*buffer, &name, sizeof(name));
  }
  return buffer;
}

void ThreadHandover::push(ThreadBuffer& buffer, std::uint32_t recording, const void* record,
                          std::size_t size) noexcept {
  using Pushed = ThreadBuffer::Pushed;
  Pushed pushed = buffer.try_push(recording, record, size);
  if (pushed != Pushed::kIsFull) {
    if (buffer.has_become_half_full()) wake();
    buffer.has_waited_in_vain = false;
    return;
  }
  // Longer than the collector needs; a program that calls CUDA faster than a disk can take it is slowed down, not lost.
  // Where the disk hangs, one such wait says enough.
  constexpr int kAttempts = 2000;
  const timespec pause{0, 100'000};
  for (int attempt = 0; attempt < kAttempts && !buffer.has_waited_in_vain; ++attempt) {
    wake();
    nanosleep(&pause, nullptr);
    pushed = buffer.try_push(recording, record, size);
    if (pushed != Pushed::kIsFull) return;
  }
  buffer.has_waited_in_vain = true;
  losses_.add(trace::Loss::kCallBuffersFull);
}

bool ThreadHandover::wait(std::int64_t timeout_ns) {
  woken_.wait(timeout_ns);
  return woken_.take();
}

void ThreadHandover::wake() noexcept {
  woken_.set();
}

}  // namespace turnpike::record
