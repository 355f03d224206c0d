#include "record/handover/own_thread.h"

#include <pthread.h>
#include <signal.h>

namespace turnpike::record {

int start_own_thread(const char* name, void* (*body)(void*), void* argument) noexcept {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int failure = pthread_create(&thread, nullptr, body, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure != 0) return failure;
  pthread_setname_np(thread, name);
  pthread_detach(thread);
  return 0;
}

}  // namespace turnpike::record
