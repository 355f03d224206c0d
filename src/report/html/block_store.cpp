#include "report/html/block_store.h"

#include <chrono>
#include <span>
#include <utility>

#include "report/html/block_packer.h"

namespace turnpike::report::html {
namespace {

// As many as a packer works at.
constexpr std::size_t kMostPending = BlockPacker::kMaxThreads * (BlockPacker::kWaitingByThread + 1);

bool is_known(const std::shared_future<std::string>& text) {
  return text.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

std::size_t BlockStore::add(std::shared_future<std::string> text) {
  const std::size_t place = known_.size() + pending_.size();
  pending_.push_back(std::move(text));
  while (pending_.size() > kMostPending || (!pending_.empty() && is_known(pending_.front()))) {
    const std::string& first = pending_.front().get();
    known_.push_back({bytes_.append(std::as_bytes(std::span(first))), first.size()});
    pending_.pop_front();
  }
  return place;
}

std::string BlockStore::text(std::size_t place) const {
  if (place >= known_.size()) return pending_[place - known_.size()].get();
  std::string text(known_[place].size, '\0');
  bytes_.read(known_[place].place, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace turnpike::report::html
