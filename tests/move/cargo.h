// Random bytes on both sides, in every shape that a transfer may have, and what must become of them.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "move/move.h"
#include "simulated/simulation.h"

namespace turnpike::move {

// Host memory with guards beside it, pageable or page-locked. Given back with the last holder.
class HostBlock {
 public:
  HostBlock(simulated::Simulation& simulation, std::size_t size_bytes, bool is_pinned);
  ~HostBlock();
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }
  bool is_pinned() const { return pageable_.empty(); }
  // Nobody wrote beside it. Of page-locked memory the simulation knows.
  bool is_intact() const;

 private:
  simulated::Simulation& simulation_;
  std::vector<std::byte> pageable_;
  std::byte* data_;
  std::size_t size_bytes_;
};

struct Cargo {
  // Bytes that must be on the device in the end (uploads), or are there at first (downloads).
  struct Stretch {
    DeviceAddress device = 0;
    std::vector<std::byte> bytes;
    std::byte* host = nullptr;  // of downloads: where they must arrive
  };

  std::vector<Piece> pieces;
  std::vector<std::shared_ptr<HostBlock>> blocks;
  std::deque<Layout> layouts;  // pieces point to them
  std::vector<Stretch> stretches;
  std::vector<simulated::Range> groups;  // the device memory, with gaps between pieces

  std::vector<simulated::Range> ranges() const;
  bool is_intact() const;
  // Whether the host side holds what the device had.
  bool has_arrived() const;
  // Overwrites the host side where it is not page-locked.
  void scribble_on_pageable() const;
};

// What a cargo is like.
struct Shape {
  std::size_t chunk_bytes = 4096;  // of the ring: sizes are chosen around it
  std::size_t most_groups = 3;
  bool has_layouts = true;  // uploads only
  bool has_padding = true;  // uploads only
  bool has_pinned = true;
  std::size_t most_bytes = 0;  // of a group; 0: as it comes
};

// Hands out device memory of a size.
using Place = std::function<DeviceAddress(std::size_t)>;

std::shared_ptr<Cargo> upload_cargo(simulated::Simulation& simulation, simulated::Random& random, const Shape& shape,
                                    const Place& place);
std::shared_ptr<Cargo> download_cargo(simulated::Simulation& simulation, simulated::Random& random, const Shape& shape,
                                      const Place& place);

void fill(simulated::Random& random, std::byte* bytes, std::size_t size_bytes);

}  // namespace turnpike::move
