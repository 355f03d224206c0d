// Compresses blocks on threads of its own while the caller encodes the next ones.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "report/html/block.h"

namespace turnpike::report::html {

// Pages are the same bytes with any number of threads. One thread uses a packer.
class BlockPacker {
 public:
  using Pack = std::function<std::string(std::string_view planes, Effort effort)>;

  // How many threads compress: one for each core that this process may use, at most kMaxThreads; none with one core.
  static std::size_t usual_threads();
  static constexpr std::size_t kMaxThreads = 4;
  // At most so many blocks wait for each thread; pack() waits until one is taken.
  static constexpr std::size_t kWaitingByThread = 2;

  // Threads start with the first blocks. Without any, or where the system gives none, pack() compresses.
  // `pack_one` is called by several threads at a time.
  explicit BlockPacker(std::size_t most_threads = usual_threads(), Pack pack_one = packed)
      : most_threads_(most_threads), pack_one_(std::move(pack_one)) {}
  // Drops the blocks that wait: their futures throw std::future_error.
  ~BlockPacker();
  BlockPacker(const BlockPacker&) = delete;
  BlockPacker& operator=(const BlockPacker&) = delete;

  // The text of a block, once it is known; what went wrong is thrown by get().
  std::shared_future<std::string> pack(std::string planes, Effort effort = Effort::kSmallPage);

 private:
  using Task = std::packaged_task<std::string()>;

  void start_thread();
  void work();

  std::size_t most_threads_;
  const Pack pack_one_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_room_;
  std::deque<Task> waiting_;
  bool is_ending_ = false;
};

}  // namespace turnpike::report::html
