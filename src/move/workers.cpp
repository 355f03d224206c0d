// Threads sleep while nobody needs them.
#include "move/workers.h"

#include <system_error>
#include <utility>

#include "move/cores.h"

namespace turnpike::move {

void Workers::start(std::size_t count, const std::function<void()>& work) {
  try {
    while (threads_.size() < count) {
      threads_.emplace_back([work] {
        use_cores_of_process();
        work();
      });
    }
  } catch (const std::system_error&) {
    // The system allows no more threads. Those that run, and the callers that wait, do the work.
  }
}

void Workers::wake(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) woken_.notify_one();
}

std::vector<std::thread> Workers::dismiss() {
  are_dismissed_ = true;
  return std::exchange(threads_, {});
}

void Workers::join(std::vector<std::thread> threads) {
  woken_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace turnpike::move
