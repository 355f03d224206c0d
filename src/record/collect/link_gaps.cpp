#include "record/collect/link_gaps.h"

#include "record/handover/own_thread.h"
#include "record/handover/wake_flag.h"

namespace turnpike::record {
namespace {

constexpr std::int64_t kPatienceNs = 300'000'000;

}  // namespace

struct LinkGaps::Shared {
  LoadNvml load;
  LinkWatch links;  // the thread's until it has ended
  WakeFlag has_ended;
};

void LinkGaps::ask(const LinkWatch& links) {
  if (shared_ != nullptr) return;
  shared_ = std::make_shared<Shared>();
  shared_->load = load_;
  shared_->links = links;
  if (start_own_thread<run>("turnpike-nvml", shared_) != 0) shared_->has_ended.set();
}

void LinkGaps::run(Shared& shared) {
  try {
    shared.links.fill_gaps(shared.load());
  } catch (...) {  // out of memory: the gaps stay
  }
  shared.has_ended.set();
}

void LinkGaps::fill(LinkWatch& links) {
  if (shared_ != nullptr && shared_->has_ended.wait(kPatienceNs)) links.fill_gaps_from(shared_->links);
}

}  // namespace turnpike::record
