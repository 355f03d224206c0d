// Draws pieces: of no bytes, of odd ones, of a chunk and of several, many tiny ones in a row, blocks with strides.
#include "cargo.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace turnpike::move {
namespace {

using simulated::Random;
using simulated::Simulation;

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xC3};

std::size_t some_size(Random& random, std::size_t chunk_bytes) {
  switch (random.below(8)) {
    case 0:
      return random.below(2);
    case 1:
    case 2:
      return random.between(1, 99);
    case 3:
      return chunk_bytes;
    case 4:
      return chunk_bytes + random.between(0, 2) - 1;
    case 5:
      return random.between(1, 3) * chunk_bytes + random.below(100);
    default:
      return random.between(1, chunk_bytes);
  }
}

// The sizes of pieces that follow each other on the device.
std::vector<std::size_t> group_sizes(Random& random, const Shape& shape) {
  std::vector<std::size_t> sizes;
  if (random.one_in(3)) {
    for (std::size_t count = random.between(5, 40); count > 0; --count) sizes.push_back(random.between(0, 64));
  } else {
    for (std::size_t count = random.between(1, 4); count > 0; --count) {
      sizes.push_back(some_size(random, shape.chunk_bytes));
    }
  }
  std::size_t left = shape.most_bytes == 0 ? SIZE_MAX : shape.most_bytes;
  for (std::size_t& size : sizes) {
    size = std::min(size, left);
    left -= size;
  }
  return sizes;
}

// Bytes between a piece and the next one on the device.
std::size_t some_gap(Random& random) {
  return random.one_in(3) ? random.between(1, 80) : 0;
}

// A block of up to 3 dimensions with strides of any sign. Fills the piece and the bytes that must be on the device.
void add_strided(Simulation& simulation, Random& random, Cargo& cargo, Piece& piece, std::vector<std::byte>& dense) {
  static constexpr std::uint32_t kItemBytes[] = {1, 2, 3, 4, 8, 16};
  Layout& layout = cargo.layouts.emplace_back();
  layout.item_bytes = random.of(kItemBytes);
  const std::size_t dimensions = random.between(0, 3);
  std::int64_t lowest = 0;
  std::int64_t highest = layout.item_bytes;
  std::size_t items = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const auto size = static_cast<std::int64_t>(random.one_in(20) ? 0 : random.between(1, i == 0 ? 40 : 9));
    const auto step = static_cast<std::int64_t>(random.below(40)) - 20;
    const std::int64_t stride = step * (random.one_in(4) ? 1 : layout.item_bytes);
    layout.sizes.push_back(size);
    layout.strides_bytes.push_back(stride);
    if (size > 0) (stride < 0 ? lowest : highest) += stride * (size - 1);
    items *= static_cast<std::size_t>(size);
  }
  const auto block =
      std::make_shared<HostBlock>(simulation, static_cast<std::size_t>(highest - lowest), random.one_in(3));
  fill(random, block->data(), block->size_bytes());
  cargo.blocks.push_back(block);
  piece.host = block->data() - lowest;
  piece.layout = &layout;
  piece.size_bytes = items * layout.item_bytes;
  piece.is_pinned = block->is_pinned();
  dense.resize(piece.size_bytes);
  std::vector<std::int64_t> at(dimensions, 0);
  for (std::size_t item = 0; item < items; ++item) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < dimensions; ++i) offset += at[i] * layout.strides_bytes[i];
    std::memcpy(dense.data() + item * layout.item_bytes, static_cast<std::byte*>(piece.host) + offset,
                layout.item_bytes);
    for (std::size_t i = dimensions; i-- > 0 && ++at[i] == layout.sizes[i];) at[i] = 0;
  }
}

std::shared_ptr<HostBlock> add_block(Simulation& simulation, Random& random, Cargo& cargo, const Shape& shape,
                                     Piece& piece, std::size_t size_bytes) {
  const auto block = std::make_shared<HostBlock>(simulation, size_bytes, shape.has_pinned && random.one_in(3));
  fill(random, block->data(), size_bytes);
  cargo.blocks.push_back(block);
  piece.host = block->data();
  piece.size_bytes = size_bytes;
  piece.is_pinned = block->is_pinned();
  return block;
}

// Gives a group its device memory: the offsets of its pieces are there, the address is not.
void settle(Cargo& cargo, const Place& place, std::size_t first_piece, std::size_t first_stretch,
            std::size_t size_bytes) {
  const DeviceAddress base = place(std::max<std::size_t>(1, size_bytes));
  for (std::size_t i = first_piece; i < cargo.pieces.size(); ++i) cargo.pieces[i].device += base;
  for (std::size_t i = first_stretch; i < cargo.stretches.size(); ++i) cargo.stretches[i].device += base;
  cargo.groups.push_back(simulated::range_of(base, std::max<std::size_t>(1, size_bytes)));
}

}  // namespace

HostBlock::HostBlock(Simulation& simulation, std::size_t size_bytes, bool is_pinned)
    : simulation_(simulation), size_bytes_(size_bytes) {
  if (is_pinned) {
    data_ = simulation.pinned_memory(size_bytes);
  } else {
    pageable_.assign(size_bytes + 2 * kGuardBytes, kGuard);
    data_ = pageable_.data() + kGuardBytes;
  }
}

HostBlock::~HostBlock() {
  if (is_pinned()) simulation_.free_memory(data_);
}

bool HostBlock::is_intact() const {
  const auto is_guard = [](std::byte byte) { return byte == kGuard; };
  return is_pinned() || (std::all_of(data_ - kGuardBytes, data_, is_guard) &&
                         std::all_of(data_ + size_bytes_, data_ + size_bytes_ + kGuardBytes, is_guard));
}

std::vector<simulated::Range> Cargo::ranges() const {
  std::vector<simulated::Range> ranges;
  for (const Stretch& stretch : stretches) {
    if (!stretch.bytes.empty()) ranges.push_back(simulated::range_of(stretch.device, stretch.bytes.size()));
  }
  return ranges;
}

bool Cargo::is_intact() const {
  return std::all_of(blocks.begin(), blocks.end(), [](const auto& block) { return block->is_intact(); });
}

bool Cargo::has_arrived() const {
  return std::all_of(stretches.begin(), stretches.end(), [](const Stretch& stretch) {
    return std::equal(stretch.bytes.begin(), stretch.bytes.end(), stretch.host);
  });
}

void Cargo::scribble_on_pageable() const {
  for (const auto& block : blocks) {
    if (!block->is_pinned()) std::memset(block->data(), 0x5A, block->size_bytes());
  }
}

void fill(Random& random, std::byte* bytes, std::size_t size_bytes) {
  while (size_bytes > 0) {
    const std::uint64_t word = random.next();
    const std::size_t size = std::min(size_bytes, sizeof word);
    std::memcpy(bytes, &word, size);
    bytes += size;
    size_bytes -= size;
  }
}

std::shared_ptr<Cargo> upload_cargo(Simulation& simulation, Random& random, const Shape& shape, const Place& place) {
  auto cargo = std::make_shared<Cargo>();
  for (std::size_t groups = random.between(1, shape.most_groups); groups > 0; --groups) {
    const std::size_t first_piece = cargo->pieces.size();
    const std::size_t first_stretch = cargo->stretches.size();
    std::size_t at = 0;
    for (const std::size_t size : group_sizes(random, shape)) {
      Piece piece;
      piece.device = at;
      piece.joins_previous = cargo->pieces.size() > first_piece;
      Cargo::Stretch stretch{at, {}, nullptr};
      if (shape.has_layouts && random.one_in(4)) {
        add_strided(simulation, random, *cargo, piece, stretch.bytes);
      } else {
        const auto block = add_block(simulation, random, *cargo, shape, piece, size);
        stretch.bytes.assign(block->data(), block->data() + size);
      }
      at += piece.size_bytes;
      cargo->pieces.push_back(piece);
      cargo->stretches.push_back(std::move(stretch));
      const std::size_t gap = some_gap(random);
      if (gap > 0 && shape.has_padding && random.one_in(2)) {
        cargo->pieces.push_back({.device = at, .size_bytes = gap, .joins_previous = true, .is_padding = true});
      }
      at += gap;
    }
    settle(*cargo, place, first_piece, first_stretch, at);
  }
  return cargo;
}

std::shared_ptr<Cargo> download_cargo(Simulation& simulation, Random& random, const Shape& shape, const Place& place) {
  auto cargo = std::make_shared<Cargo>();
  for (std::size_t groups = random.between(1, shape.most_groups); groups > 0; --groups) {
    const std::size_t first_piece = cargo->pieces.size();
    const std::size_t first_stretch = cargo->stretches.size();
    std::size_t at = 0;
    for (const std::size_t size : group_sizes(random, shape)) {
      Piece piece;
      piece.device = at;
      piece.joins_previous = cargo->pieces.size() > first_piece;
      const auto block = add_block(simulation, random, *cargo, shape, piece, size);
      Cargo::Stretch stretch{at, std::vector<std::byte>(size), block->data()};
      fill(random, stretch.bytes.data(), size);
      at += size + some_gap(random);
      cargo->pieces.push_back(piece);
      cargo->stretches.push_back(std::move(stretch));
    }
    settle(*cargo, place, first_piece, first_stretch, at);
  }
  return cargo;
}

}  // namespace turnpike::move
