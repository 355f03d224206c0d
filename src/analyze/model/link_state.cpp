// Reads the metadata keys `link.N`, `host_memory` and `from_files`.
#include "analyze/model/link_state.h"

#include <string>
#include <string_view>

#include "analyze/model/metadata_words.h"

namespace turnpike::analyze {

LinkState link_state_of(const trace::Process& process, std::uint32_t device) {
  LinkState state;
  for_each_pair(value_of(process, "link." + std::to_string(device)), [&](std::string_view key, std::string_view value) {
    const auto number = number_in<std::uint32_t>(value);
    if (!number) return;
    if (key == "generation") state.generation = number;
    if (key == "width") state.width = number;
    if (key == "max_generation") state.max_generation = number;
    if (key == "max_width") state.max_width = number;
    if (key == "busy_reads") state.busy_reads = *number;
  });
  return state;
}

HostNodes::HostNodes(const trace::Process& process) {
  for_each_word(value_of(process, "host_memory"), [&](std::string_view word) {
    const auto at = word.find('@');
    if (at == std::string_view::npos) return;
    const auto address = number_in<std::uint64_t>(word.substr(0, at), 16);
    const auto node = number_in<std::uint32_t>(word.substr(at + 1));
    if (address && node) node_by_address_[*address] = *node;
  });
}

std::optional<std::uint32_t> HostNodes::node_of(std::uint64_t address) const {
  const auto found = node_by_address_.find(address);
  return found == node_by_address_.end() ? std::nullopt : std::optional(found->second);
}

std::unordered_set<std::uint32_t> copies_from_files(const trace::Process& process) {
  std::unordered_set<std::uint32_t> correlations;
  for_each_word(value_of(process, "from_files"), [&](std::string_view word) {
    if (const auto number = number_in<std::uint32_t>(word)) correlations.insert(*number);
  });
  return correlations;
}

}  // namespace turnpike::analyze
