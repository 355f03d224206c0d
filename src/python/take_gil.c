// See gil.h. In C: a cleanup handler of C is called in the middle of the thread's end, one of C++ is a destructor,
// which needs the unwinding to go through this library.
#include <Python.h>
#include <pthread.h>
#include <unistd.h>

static void stop_here(void* nothing) {
  (void)nothing;
  for (;;) pause();
}

__attribute__((visibility("hidden"))) void turnpike_take_gil(PyThreadState* thread) {
  pthread_cleanup_push(stop_here, NULL);
  PyEval_RestoreThread(thread);
  pthread_cleanup_pop(0);
}
