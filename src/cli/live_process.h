// The recorded processes of this user, as their live pages show them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record/live_page.h"

namespace turnpike::cli {

// Of one process at one moment. Every text of the page ends with a zero, and every count of its tables is in range.
struct LiveProcess {
  std::uint32_t pid = 0;  // as this process sees it
  std::shared_ptr<const record::LivePage> page;
  std::string problem;  // why there is no page: "its recorder is of another version"; "" where there is one
};

// The page, if these bytes are one of this version; else nullptr, and `problem` says why not. Trusts nothing in it.
std::shared_ptr<const record::LivePage> checked_page(const void* bytes, std::size_t size, std::string& problem);

// nullopt: the process is not recorded, or not this user's.
std::optional<LiveProcess> live_process(std::uint32_t pid);
// By rising process id.
std::vector<LiveProcess> live_processes();

// In 1e9 bytes per second, of the first GPU whose link is known: h2d and d2h. nullopt: not known.
struct LiveLimit {
  std::optional<double> gbps[2];
};
LiveLimit limit_of(const record::LivePage& page);

}  // namespace turnpike::cli
