// Finds the rate that the links of all devices of a run have in common.
#include "analyze/link_rates.h"

#include <algorithm>
#include <optional>
#include <span>

namespace turnpike::analyze {
namespace {

bool is_learnt(const KnownRate& rate) {
  return rate.source == LinkSource::kLearnt;
}

std::optional<KnownRate> common_rate(std::span<const Link> links, Direction direction) {
  std::vector<KnownRate> rates;
  for (const Link& link : links) {
    if (link.of(direction)) rates.push_back(*link.of(direction));
  }
  if (rates.empty()) return std::nullopt;
  const auto is_slower = [](const KnownRate& a, const KnownRate& b) { return a.gbps < b.gbps; };
  if (std::all_of(rates.begin(), rates.end(), is_learnt)) {
    return *std::max_element(rates.begin(), rates.end(), is_slower);
  }
  // A link of which nothing but copies is known is taken for one of the others.
  std::erase_if(rates, is_learnt);
  const auto differs = [&](const KnownRate& rate) { return rate.gbps != rates.front().gbps; };
  if (std::any_of(rates.begin(), rates.end(), differs)) return std::nullopt;
  return rates.front();
}

}  // namespace

void RunLinks::add(const std::map<std::uint32_t, Link>& links) {
  for (const auto& [device, link] : links) links_.push_back(link);
}

void RunLinks::apply_to(Report& report) const {
  for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
    const auto rate = common_rate(links_, direction);
    if (!rate) continue;
    Total& total = report.totals[static_cast<std::size_t>(direction)];
    total.link_gbps = rate->gbps;
    total.link_source = rate->source;
    total.link_basis = rate->basis;
  }
}

}  // namespace turnpike::analyze
