// See move_owner.h.
#include "python/move_owner.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace turnpike::python {
namespace {

// Never destroyed: threads of the engine may still let something go while the interpreter ends.
struct Released {
  std::mutex mutex;
  std::vector<PyObject*> objects;
};

Released& released() {
  static auto* const list = new Released;
  return *list;
}

std::atomic<bool> is_child{false};

int drop_as_pending_call(void* /*unused*/) {
  drop_released();
  return 0;
}

void release(void* memory) {
  // After a fork the lock may be held by a thread that is not here; after the interpreter's end nobody can let go.
  if (is_forked_child() || Py_IsInitialized() == 0) return;
  bool is_first = false;
  {
    const std::lock_guard lock(released().mutex);
    is_first = released().objects.empty();
    released().objects.push_back(static_cast<PyObject*>(memory));
  }
  // Where the interpreter's queue is full the next call of a binding lets go.
  if (is_first) static_cast<void>(Py_AddPendingCall(&drop_as_pending_call, nullptr));
}

}  // namespace

std::shared_ptr<void> hold(nanobind::object object) {
  return {object.release().ptr(), &release};
}

void drop_released() {
  if (is_forked_child()) return;
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(released().mutex);
    objects.swap(released().objects);
  }
  // Outside the lock: a destructor of Python may come back here.
  for (PyObject* object : objects) Py_DecRef(object);
}

void watch_forks() {
  static const int status = pthread_atfork(nullptr, nullptr, [] { is_child.store(true, std::memory_order_relaxed); });
  static_cast<void>(status);
}

bool is_forked_child() {
  return is_child.load(std::memory_order_relaxed);
}

}  // namespace turnpike::python
