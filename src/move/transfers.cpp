// What a transfer under way can be asked, and what becomes of it when nobody wants it any more.
#include "move/transfers.h"

#include <utility>

namespace turnpike::move {
namespace {

// Makes a stream wait for a mark, whatever context is current. A stream that is being captured cannot wait for what is
// no part of its graph, and needs not where the mark has passed.
Status hold_up(State& state, const Mark& mark, int device, Stream stream) {
  if (mark.was_passed()) return mark.status();
  const auto found = state.device(device);
  if (!found) return found.error();
  const InContext in_context(**found);
  if (const Status status = check_capture(**found, stream); !status) {
    return mark.is_passed() ? mark.status() : status;
  }
  return mark.hold_up(stream);
}

// Whoever gets memory that was allocated for this stream next comes after the copies: the stream waits for them, or,
// where it cannot, the host. The device's context is current.
void put_behind(const Device& device, Stream stream, const Mark& done) {
  if (done.is_passed()) return;
  if (check_capture(device, stream) && done.hold_up(stream)) return;
  done.wait_until_passed();
}

class Counted {
 public:
  explicit Counted(State& state) : state_(state) { ++state_.pending; }
  ~Counted() { --state_.pending; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  State& state_;
};

class StagedTransfer : public Transfer {
 public:
  StagedTransfer(std::shared_ptr<State> state, std::shared_ptr<Job> job, Stream made_for, std::shared_ptr<void> owner)
      : state_(std::move(state)),
        counted_(*state_),
        job_(std::move(job)),
        made_for_(made_for),
        owner_(std::move(owner)) {}

  ~StagedTransfer() override {
    Device& device = job_->device;
    const InContext in_context(device);
    if (!state_->stager().is_over(*job_)) state_->stager().cancel(*job_);
    const std::shared_ptr<Mark> done = state_->stager().outcome(*job_).done;
    if (done == nullptr || done->is_passed()) return;
    if (!is_handed_over_) put_behind(device, made_for_, *done);
    // Copies on their way read and write slots, and device memory behind which its stream is: only page-locked memory
    // is still needed.
    if (!job_->plan.direct.empty()) state_->hold(done, std::move(owner_));
  }

  bool is_staged() override {
    const InContext in_context(job_->device);
    return state_->stager().is_issued(*job_);
  }

  bool is_done() override {
    const InContext in_context(job_->device);
    if (!state_->stager().hand_out_landed(job_)) return false;
    const std::shared_ptr<Mark> done = state_->stager().outcome(*job_).done;
    if (done != nullptr && !done->is_passed()) return false;
    owner_.reset();
    return true;
  }

  Status wait_on(int device, Stream stream) override {
    Stager::JobOutcome outcome;
    {
      const InContext in_context(job_->device);
      state_->stager().help_until_issued(*job_);
      outcome = state_->stager().outcome(*job_);
    }
    if (!outcome.status) return outcome.status;
    const Status status = hold_up(*state_, *outcome.done, device, stream);
    if (status && device == job_->device.ordinal() && stream == made_for_) hand_over();
    return status;
  }

  Status wait() override {
    const InContext in_context(job_->device);
    state_->stager().help_until_over(*job_);
    const auto outcome = state_->stager().outcome(*job_);
    if (!outcome.status) return outcome.status;
    const Status status = outcome.done->wait();
    if (outcome.done->was_passed()) owner_.reset();
    return status;
  }

 private:
  // The stream that the memory was allocated for waits. Of an upload, every pageable byte has been read, too.
  void hand_over() {
    is_handed_over_ = true;
    if (job_->direction == Direction::kUp && job_->plan.direct.empty()) owner_.reset();
  }

  std::shared_ptr<State> state_;
  Counted counted_;
  std::shared_ptr<Job> job_;
  Stream made_for_;
  std::shared_ptr<void> owner_;
  bool is_handed_over_ = false;
};

class InStreamTransfer : public Transfer {
 public:
  InStreamTransfer(std::shared_ptr<State> state, std::shared_ptr<InStream::Fetch> fetch)
      : state_(std::move(state)), counted_(*state_), fetch_(std::move(fetch)) {}

  ~InStreamTransfer() override { state_->in_stream().abandon(*fetch_); }

  bool is_staged() override { return true; }
  bool is_done() override { return state_->in_stream().is_done(*fetch_); }
  Status wait_on(int device, Stream stream) override {
    Arrival& arrival = *fetch_->arrival;
    if (arrival.is_passed()) return arrival.status();
    const auto mark = arrival.mark();
    return mark ? hold_up(*state_, **mark, device, stream) : arrival.wait();
  }
  Status wait() override { return state_->in_stream().wait(*fetch_); }

 private:
  std::shared_ptr<State> state_;
  Counted counted_;
  std::shared_ptr<InStream::Fetch> fetch_;
};

class PeerTransfer : public Transfer {
 public:
  PeerTransfer(std::shared_ptr<State> state, Device& from, Stream from_stream, Device& to, Stream to_stream,
               std::shared_ptr<Mark> done, std::shared_ptr<void> owner)
      : state_(std::move(state)),
        counted_(*state_),
        from_(from),
        from_stream_(from_stream),
        to_(to),
        to_stream_(to_stream),
        done_(std::move(done)),
        owner_(std::move(owner)) {}

  // Both streams wait for the copies: whoever gets memory of either side next comes after them.
  ~PeerTransfer() override {
    {
      const InContext in_context(from_);
      if (done_->is_passed()) return;
      if (!is_from_told_) put_behind(from_, from_stream_, *done_);
    }
    const InContext in_context(to_);
    if (!is_to_told_) put_behind(to_, to_stream_, *done_);
  }

  bool is_staged() override { return true; }
  bool is_done() override {
    const InContext in_context(from_);
    return done_->is_passed();
  }
  Status wait_on(int device, Stream stream) override {
    Status status = hold_up(*state_, *done_, device, stream);
    if (!status) return status;
    is_from_told_ |= device == from_.ordinal() && stream == from_stream_;
    is_to_told_ |= device == to_.ordinal() && stream == to_stream_;
    return {};
  }
  Status wait() override {
    const InContext in_context(from_);
    return done_->wait();
  }

 private:
  std::shared_ptr<State> state_;
  Counted counted_;
  Device& from_;
  Stream from_stream_;
  Device& to_;
  Stream to_stream_;
  std::shared_ptr<Mark> done_;
  std::shared_ptr<void> owner_;
  bool is_from_told_ = false;
  bool is_to_told_ = false;
};

}  // namespace

std::unique_ptr<Transfer> staged_transfer(std::shared_ptr<State> state, std::shared_ptr<Job> job, Stream made_for,
                                          std::shared_ptr<void> owner) {
  return std::make_unique<StagedTransfer>(std::move(state), std::move(job), made_for, std::move(owner));
}

std::unique_ptr<Transfer> in_stream_transfer(std::shared_ptr<State> state, std::shared_ptr<InStream::Fetch> fetch) {
  return std::make_unique<InStreamTransfer>(std::move(state), std::move(fetch));
}

std::unique_ptr<Transfer> peer_transfer(std::shared_ptr<State> state, Device& from, Stream from_stream, Device& to,
                                        Stream to_stream, std::shared_ptr<Mark> done, std::shared_ptr<void> owner) {
  return std::make_unique<PeerTransfer>(std::move(state), from, from_stream, to, to_stream, std::move(done),
                                        std::move(owner));
}

}  // namespace turnpike::move
