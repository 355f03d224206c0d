// The devices of the simulated driver: their memory, their streams, and the order in which operations run.
//
// Streams run in one of two ways. Pulled: operations run on the threads of the host, when they call the driver and as
// the seed says; then a whole run depends on the seed alone as long as the host has one thread. In threads: every
// stream has a thread of its own that goes on with delays that the seed says. In both, a stream may lag behind the host
// without limit until the host waits for it or asks. What comes before what is known at the issue, by vector clocks, so
// an order that is missing is found in every run and not only where it does harm.
//
// The threads of the host count as one: what one of them knows, it may have told the others by means that no driver
// sees. ThreadSanitizer looks at these.
//
// Every function but lock() is called with the lock held.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "simulated/accesses.h"
#include "simulated/memory.h"
#include "simulated/random.h"
#include "simulated/stream.h"
#include "simulated/violation.h"

namespace turnpike::simulated {

enum class Pace {
  kAtOnce,         // operations run nearly as they are issued
  kOnlyWhenAsked,  // nothing runs until the host waits or asks
  kByChance,       // some run at each call
  kSomeLag,        // the same, but a third of the streams go on only when asked
  kThreads         // a thread for each stream
};

struct Options {
  int devices = 2;
  std::optional<Pace> pace = std::nullopt;  // drawn by the seed when there is none
  bool has_peer_access = true;
  bool breaks_peer_copies = false;  // bytes between two devices arrive wrong, as behind a faulty IOMMU
};

struct Failure {
  std::size_t nth = 0;  // call of the function, counted from 1
  cuda::DriverCode code = 0;
};

class Machine {
 public:
  Machine(std::uint64_t seed, const Options& options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  std::unique_lock<std::mutex> lock() { return std::unique_lock<std::mutex>(mutex_); }
  // Whether this thread runs the body of a kernel, and so holds the lock.
  static bool is_in_body() { return is_in_body_; }

  Stream& add_stream(int device, bool is_blocking, bool is_the_tests);
  // The stream of a handle; nullptr stands for the default stream of that device. nullptr and a violation: there is
  // none.
  Stream* stream_of(CUstream_st* handle, int current_device, const char* call);
  Event& add_event(int device, bool has_time, bool is_the_tests);
  Event* event_of(CUevent_st* handle, const char* call);

  // Puts an operation at the end of a stream, and looks whether anything under way may touch the same bytes.
  Position issue(Stream& stream, std::shared_ptr<Operation> operation, const std::vector<Access>& accesses);
  void record(Event& event, Stream& stream);
  void make_wait(Stream& stream, const Event& event);

  bool is_done(Position position) const { return streams_[position.stream]->done >= position.number; }
  // Runs what is needed until that operation is done, and the host knows it.
  void wait_for(Position position, const Clock& clock, std::unique_lock<std::mutex>& lock);
  void wait_for_stream(Stream& stream, std::unique_lock<std::mutex>& lock);
  void wait_for_device(int device, std::unique_lock<std::mutex>& lock);
  void wait_for_all(std::unique_lock<std::mutex>& lock);
  // Whether the event has happened; asking makes its stream go on, some time.
  bool ask(Event& event);
  // What the host sees in a word of page-locked memory, in one piece. Looking makes the stream that writes it go on,
  // some time. Where a copy of few bytes writes, that is what was there before, until the copy has run; then the host
  // knows so. Whoever reads in any other way finds poison until then.
  std::uint64_t look(std::uint64_t* word);
  // Whether the stream has nothing to do. What was in it before is then known to the host.
  bool is_idle(Stream& stream);
  // Lets streams go on by chance: at every call of the driver.
  void drift();
  void let_go(Operation& hold);

  // Looks whether memory that is given back is still in use, and lets its operations end when it is.
  void check_unused(const Block& block, const char* call, std::unique_lock<std::mutex>& lock);
  void remove(const Block& block);

  void report(Rule rule, std::string sentence);

  // State that the calls of the driver change.
  Memory memory;
  Random random;
  const Options options;
  const std::uint8_t poison;
  const std::uint64_t id;  // no other machine of this process has it
  std::vector<Violation> violations;
  std::map<std::string, std::size_t> calls;  // by name of the function
  std::map<std::string, Failure> failures;
  std::vector<int> retained;               // primary contexts, by device
  std::vector<std::pair<int, int>> peers;  // from, to: access was enabled
  std::size_t pinned_bytes = 0;            // that are not the test's
  std::size_t most_pinned_bytes = 0;
  std::vector<bool> is_programs;  // by device: the program around the code under test has its context open
  // The capture under way; the thread is 0 while there is none.
  std::uint64_t capturing_thread = 0;
  int capture_mode = cuda::kCaptureModeGlobal;  // what it was begun with
  int captured_device = 0;

  const std::vector<std::unique_ptr<Stream>>& streams() const { return streams_; }
  const std::map<CUevent_st*, std::unique_ptr<Event>>& events() const { return events_; }

 private:
  void live(Stream& stream);
  bool falls_asleep(Stream& stream);
  bool is_ready(const Stream& stream) const;
  bool goes_on_by_itself(const Stream& stream) const;
  bool step_towards(Position position);
  void step(Stream& stream);
  void start(Operation& operation);
  void finish(Operation& operation);
  void check_host_side(Operation& operation);
  void prepare(Operation& operation, const std::vector<Access>& accesses);
  void order_with_default_stream(Stream& stream, Operation& operation);
  void learn(const Clock& clock);
  void start_threads();
  std::uint64_t* word_of(const Operation& operation);

  std::mutex mutex_;
  static inline thread_local bool is_in_body_ = false;
  std::condition_variable changed_;
  bool is_stopping_ = false;
  Pace pace_;
  std::uint64_t steps_ = 0;
  std::uint64_t now_ns_ = 1000;
  std::vector<std::unique_ptr<Stream>> streams_;  // the default streams of the devices come first
  std::map<CUevent_st*, std::unique_ptr<Event>> events_;
  Clock known_to_host_;
  Accesses accesses_;
  std::vector<std::shared_ptr<Operation>> unknown_to_host_;  // copies that the host does not know to be done
};

}  // namespace turnpike::simulated
