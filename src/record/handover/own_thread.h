// Threads of the recorder's own in the program's process.
#pragma once

#include <memory>

namespace turnpike::record {

// Starts a detached thread of that name, which takes none of the program's signals. A pthread rather than std::thread,
// because a forked child must be able to forget it. 0, or an errno.
int start_own_thread(const char* name, void* (*body)(void*), void* argument) noexcept;

// The same, with `run` on `shared`, which the thread keeps in memory as well. Throws std::bad_alloc.
template <auto run, typename Shared>
int start_own_thread(const char* name, const std::shared_ptr<Shared>& shared) {
  auto* const own = new std::shared_ptr<Shared>(shared);
  const auto body = [](void* given) -> void* {
    const std::unique_ptr<std::shared_ptr<Shared>> kept(static_cast<std::shared_ptr<Shared>*>(given));
    run(**kept);
    return nullptr;
  };
  const int failure = start_own_thread(name, body, own);
  if (failure != 0) delete own;
  return failure;
}

}  // namespace turnpike::record
