// Finds, makes and reuses the rings of threads.
#include "record/handover/thread_buffer.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

namespace turnpike::record {
namespace {

thread_local ThreadBuffer* t_buffer = nullptr;

// Without a key (a process has 1024), rings of threads that have ended are not reused.
pthread_key_t g_leave_key;
bool g_has_leave_key = false;
pthread_once_t g_leave_key_once = PTHREAD_ONCE_INIT;

// Runs when a thread ends. The thread may still make CUDA calls in later destructors: it then gets another ring.
void leave(void* buffer) {
  t_buffer = nullptr;
  ThreadBuffers::mark_left(*static_cast<ThreadBuffer*>(buffer));
}

void make_leave_key() {
  g_has_leave_key = pthread_key_create(&g_leave_key, leave) == 0;
}

}  // namespace

ThreadBuffer* ThreadBuffers::mine(bool& is_new) noexcept {
  is_new = false;
  if (t_buffer != nullptr) return t_buffer;
  ThreadBuffer* buffer = free_.take();
  if (buffer == nullptr) buffer = add();
  if (buffer == nullptr) return nullptr;
  buffer->use_.store(ThreadBuffer::Use::kOwned, std::memory_order_release);
  buffer->thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  buffer->open_correlation.store(0, std::memory_order_relaxed);
  buffer->pending_downloads.clear();
  buffer->stream_ids.clear();
  buffer->last_copy = {};
  pthread_once(&g_leave_key_once, make_leave_key);
  if (g_has_leave_key) pthread_setspecific(g_leave_key, buffer);
  t_buffer = buffer;
  is_new = true;
  return buffer;
}

void ThreadBuffers::before_fork() noexcept {
  // The first look at it makes malloc find room for this library's thread locals.
  asm volatile("" : : "r"(&t_buffer));
}

void ThreadBuffers::forget() noexcept {
  first_.store(nullptr, std::memory_order_relaxed);
  free_.forget();
  if (t_buffer != nullptr && g_has_leave_key) pthread_setspecific(g_leave_key, nullptr);
  t_buffer = nullptr;
}

void* ThreadBuffers::memory_for_one() noexcept {
  const std::size_t room = memory_.size() / sizeof(ThreadBuffer);
  if (made_ != nullptr) {
    std::uint32_t made = made_->load(std::memory_order_relaxed);
    while (made < room) {
      if (made_->compare_exchange_weak(made, made + 1, std::memory_order_relaxed)) {
        return memory_.data() + made * sizeof(ThreadBuffer);
      }
    }
  }
  void* memory =
      mmap(nullptr, sizeof(ThreadBuffer), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

ThreadBuffer* ThreadBuffers::add() noexcept {
  void* memory = memory_for_one();
  if (memory == nullptr) return nullptr;
  auto* buffer = new (memory) ThreadBuffer;  // default-initialised: the slots are not touched
  ThreadBuffer* first = first_.load(std::memory_order_relaxed);
  do {
    buffer->next_ = first;
  } while (!first_.compare_exchange_weak(first, buffer, std::memory_order_release, std::memory_order_relaxed));
  return buffer;
}

}  // namespace turnpike::record
