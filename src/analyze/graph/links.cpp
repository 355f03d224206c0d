// Asks the four sources of a link's rate, one after the other.
#include "analyze/graph/links.h"

#include <algorithm>

#include "analyze/cost_model.h"
#include "analyze/model/link_state.h"
#include "analyze/model/metadata_words.h"
#include "machine/link_limit.h"

namespace turnpike::analyze {
namespace {

using machine::LinkLimit;

constexpr Direction kDirections[] = {Direction::kHostToDevice, Direction::kDeviceToHost};

// Smaller copies say little of what a link can do.
constexpr std::uint64_t kTellingBytes = 1u << 20;
// If the best copy reached less than this of what the link's generation can do, it shows that copies are slow, and not
// what the link can do.
constexpr double kTellingShare = 0.7;

bool is_of_pinned_memory(const Transfer& transfer) {
  return transfer.src_kind == trace::MemoryKind::kPinned || transfer.dst_kind == trace::MemoryKind::kPinned;
}

double gbps_of(const LinkLimit& limit, Direction direction) {
  return direction == Direction::kHostToDevice ? limit.h2d_gbps : limit.d2h_gbps;
}

std::map<std::uint32_t, Link> learn(const Timeline& timeline) {
  std::map<std::uint32_t, Link> links;
  for (const Transfer& transfer : timeline.transfers) {
    if (transfer.direction != Direction::kHostToDevice && transfer.direction != Direction::kDeviceToHost) continue;
    if (!transfer.has_times() || transfer.bytes < kTellingBytes || transfer.duration_ns() <= 0) continue;
    if (!is_of_pinned_memory(transfer)) continue;
    auto& best = links[transfer.device].of(transfer.direction);
    const double gbps = static_cast<double>(transfer.bytes) / static_cast<double>(transfer.duration_ns());
    if (!best || gbps > best->gbps) best = KnownRate{gbps, LinkSource::kLearnt};
  }
  return links;
}

// An idle GPU lowers the generation: what was read while no copy ran says little of it, and the card's own stands.
std::optional<LinkLimit> recorded_limit(const trace::Process& process, std::uint32_t device) {
  const LinkState state = link_state_of(process, device);
  const auto generation = state.busy_reads > 0 ? state.generation : state.max_generation;
  return machine::limit_of_pcie(generation.value_or(0), state.width.value_or(0));
}

// A copy that was faster than the recorded generation allows shows that it was read from an idle GPU.
void compare_with_card(const trace::Process& process, std::uint32_t device, const LinkLimit& recorded, Link& link) {
  constexpr double kSurelyFaster = 1.15;
  const LinkState state = link_state_of(process, device);
  const auto card = machine::limit_of_pcie(state.max_generation.value_or(0), state.max_width.value_or(0));
  if (!card) return;
  link.pcie = recorded.basis;
  link.card_pcie = card->basis;
  for (const Direction direction : kDirections) {
    if (link.of(direction) && link.of(direction)->gbps > kSurelyFaster * gbps_of(recorded, direction)) return;
  }
  link.share_of_card = std::min(1.0, recorded.h2d_gbps / card->h2d_gbps);
}

}  // namespace

std::optional<double> Link::copy_ns(Direction direction, double bytes) const {
  const auto& rate = of(direction);
  if (!rate || rate->gbps <= 0) return std::nullopt;
  const double link_ns = bytes / rate->gbps;
  if (direction != Direction::kDeviceToHost || d2h_cached_gbps.value_or(0) <= 0) return link_ns;
  const double cached_bytes = std::min(bytes, kMostCachedBytes);
  return link_ns + std::max(0.0, cached_bytes / *d2h_cached_gbps - cached_bytes / rate->gbps);
}

std::map<std::uint32_t, Link> find_links(const trace::Process& process, const Timeline& timeline,
                                         const LinkRates& rates) {
  std::map<std::uint32_t, Link> links = learn(timeline);
  for (const auto& device : timeline.devices) {
    Link& link = links[device.device];
    const std::string& name = process.string(device.name);
    const LinkRate measured = rates ? rates(name, std::string(value_of(process, "host"))) : LinkRate{};
    const auto of_model = machine::limit_of_model(name);
    // What PCIe says of a GPU beside a Grace CPU is not the link that its copies take.
    const auto recorded = of_model && of_model->is_c2c ? std::nullopt : recorded_limit(process, device.device);
    link.d2h_cached_gbps = measured.d2h_cached_gbps;
    if (recorded) compare_with_card(process, device.device, *recorded, link);
    for (const Direction direction : kDirections) {
      auto& known = link.of(direction);
      const auto& rate = direction == Direction::kHostToDevice ? measured.h2d_gbps : measured.d2h_gbps;
      if (rate) {
        known = KnownRate{*rate, LinkSource::kMeasured};
      } else if (recorded && (!known || known->gbps < kTellingShare * gbps_of(*recorded, direction))) {
        known = KnownRate{gbps_of(*recorded, direction), LinkSource::kGeneration, recorded->basis};
      } else if (!known && of_model) {
        known = KnownRate{gbps_of(*of_model, direction), LinkSource::kModel, of_model->basis};
      }
    }
  }
  return links;
}

}  // namespace turnpike::analyze
