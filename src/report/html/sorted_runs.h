// Times that come in several runs, each sorted, and what would stand where if all of them were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace turnpike::report::html {

// Keeps one time out of many, and reads the run again for those that follow it.
class SortedRuns {
 public:
  // False: it wants no more of them.
  using Take = std::function<bool(std::size_t position, std::int64_t time_ns)>;

  // `scan(from, take)` calls `take` for each time from position `from` on, in order, until `take` returns false. `scan`
  // must stay valid as long as this object is used. A run out of order is copied; only damaged files have one.
  template <typename Scan>
  void add_run(Scan scan) {
    Run run;
    std::int64_t before_ns = 0;
    bool is_sorted = true;
    scan(std::size_t{0}, [&](std::size_t position, std::int64_t time_ns) {
      is_sorted = run.count == 0 || before_ns <= time_ns;
      before_ns = time_ns;
      if (run.count++ % kStride == 0) run.samples.push_back({time_ns, position});
      return is_sorted;
    });
    if (is_sorted) {
      run.scan = std::move(scan);
      add(std::move(run));
    } else {
      add_copy(scan);
    }
  }

  std::size_t size() const { return size_; }
  std::size_t count_before(std::int64_t time_ns) const;
  // `rank`: below size().
  std::int64_t at(std::size_t rank) const;

 private:
  static constexpr std::size_t kStride = 512;

  struct Sample {
    std::int64_t time_ns;
    std::size_t position;
  };
  struct Run {
    std::size_t count = 0;
    std::vector<Sample> samples{};  // the first of every kStride times
    std::function<void(std::size_t from, const Take& take)> scan{};
  };

  void add(Run run);
  void add_copy(const std::function<void(std::size_t from, const Take& take)>& scan);
  static std::size_t count_before(const Run& run, std::int64_t time_ns);

  std::vector<Run> runs_;
  std::size_t size_ = 0;
};

}  // namespace turnpike::report::html
