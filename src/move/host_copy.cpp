// Dense copies by memcpy and by streaming stores; strided ones item by item.
#include "move/host_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace turnpike::move {
namespace {

// Of what is stored past the caches into a slot; smaller copies are over before that matters.
constexpr std::size_t kStreamedIntoSlotBytes = 4096;
// Shorter ones are over before the instruction has started.
constexpr std::size_t kStringBytes = 4096;
// Out of the slots likewise, but for pages that the system has just cleared: those are in the caches.
constexpr std::size_t kStreamedOutBytes = std::size_t{128} << 10;

// Walks the items of a layout in dense order from any item on.
class Walk {
 public:
  Walk(const Layout& layout, std::size_t first_item) : layout_(layout), index_(layout.sizes.size()) {
    for (std::size_t d = layout.sizes.size(); d-- > 0;) {
      const auto size = static_cast<std::size_t>(layout.sizes[d]);
      index_[d] = static_cast<std::int64_t>(first_item % size);
      offset_ += index_[d] * layout.strides_bytes[d];
      first_item /= size;
    }
  }

  std::int64_t offset() const { return offset_; }
  // Items that are left in the last dimension, from this one on.
  std::size_t run() const {
    return index_.empty() ? 1 : static_cast<std::size_t>(layout_.sizes.back() - index_.back());
  }
  void advance(std::size_t items) {
    if (index_.empty()) return;
    std::size_t d = index_.size() - 1;
    index_[d] += static_cast<std::int64_t>(items);
    offset_ += static_cast<std::int64_t>(items) * layout_.strides_bytes[d];
    while (d > 0 && index_[d] == layout_.sizes[d]) {
      offset_ -= index_[d] * layout_.strides_bytes[d];
      index_[d] = 0;
      --d;
      ++index_[d];
      offset_ += layout_.strides_bytes[d];
    }
  }

 private:
  const Layout& layout_;
  std::vector<std::int64_t> index_;
  std::int64_t offset_ = 0;
};

template <std::size_t kItemBytes>
void copy_items(std::byte* to, const std::byte* from, std::int64_t stride_bytes, std::size_t items) {
  for (std::size_t i = 0; i < items; ++i) {
    std::memcpy(to + i * kItemBytes, from + static_cast<std::int64_t>(i) * stride_bytes, kItemBytes);
  }
}

void copy_run(std::byte* to, const std::byte* from, std::int64_t stride_bytes, std::size_t items,
              std::uint32_t item_bytes) {
  if (stride_bytes == static_cast<std::int64_t>(item_bytes)) {
    std::memcpy(to, from, items * item_bytes);
    return;
  }
  switch (item_bytes) {
    case 1:
      return copy_items<1>(to, from, stride_bytes, items);
    case 2:
      return copy_items<2>(to, from, stride_bytes, items);
    case 4:
      return copy_items<4>(to, from, stride_bytes, items);
    case 8:
      return copy_items<8>(to, from, stride_bytes, items);
    case 16:
      return copy_items<16>(to, from, stride_bytes, items);
    default:
      for (std::size_t i = 0; i < items; ++i) {
        std::memcpy(to + i * item_bytes, from + static_cast<std::int64_t>(i) * stride_bytes, item_bytes);
      }
  }
}

// `begin` and `end` are bytes in the dense order of the piece.
void gather_strided(const Piece& piece, std::size_t begin, std::size_t end, std::byte* to) {
  const Layout& layout = *piece.layout;
  const auto* base = static_cast<const std::byte*>(piece.host);
  const std::int64_t stride_bytes = layout.sizes.empty() ? layout.item_bytes : layout.strides_bytes.back();
  const std::size_t first = (begin + layout.item_bytes - 1) / layout.item_bytes;
  std::size_t left = (end + layout.item_bytes - 1) / layout.item_bytes - first;
  to += first * layout.item_bytes - begin;
  Walk walk(layout, first);
  while (left > 0) {
    const std::size_t items = std::min(left, walk.run());
    copy_run(to, base + walk.offset(), stride_bytes, items, layout.item_bytes);
    to += items * layout.item_bytes;
    left -= items;
    walk.advance(items);
  }
}

#if defined(__x86_64__)
// Of `size_bytes`, a multiple of 128; `to` lies at a multiple of 64.
void stream_by_16(std::byte* to, const std::byte* from, std::size_t size_bytes) {
  for (std::size_t at = 0; at < size_bytes; at += 64) {
    const auto* source = reinterpret_cast<const __m128i*>(from + at);
    auto* target = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
}

// Whole lines at a time: a thread writes a fifth more, so fewer are needed.
__attribute__((target("avx512f"))) void stream_by_64(std::byte* to, const std::byte* from, std::size_t size_bytes) {
  for (std::size_t at = 0; at < size_bytes; at += 128) {
    const __m512i a = _mm512_loadu_si512(from + at);
    const __m512i b = _mm512_loadu_si512(from + at + 64);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), a);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at + 64), b);
  }
}
#endif

void copy_as_string(std::byte* to, const std::byte* from, std::size_t size_bytes) {
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size_bytes) : : "memory");
#else
  std::memcpy(to, from, size_bytes);
#endif
}

void copy(Way way, std::byte* to, const std::byte* from, std::size_t size_bytes) {
  static const bool is_by_64 = has_registers_of_64_bytes();
  switch (way) {
    case Way::kThroughCaches:
      std::memcpy(to, from, size_bytes);
      break;
    case Way::kPastCaches:
      copy_past_caches(to, from, size_bytes, is_by_64);
      break;
    case Way::kAsString:
      copy_as_string(to, from, size_bytes);
      break;
  }
}

// Calls `act` with each part, or what of it lies between `begin` and `end`.
template <typename Act>
void for_parts(const Plan& plan, const Chunk& chunk, std::size_t begin, std::size_t end, Act act) {
  for (std::size_t i = part_at(plan, chunk, begin); i < chunk.end_part; ++i) {
    const Part& part = plan.parts[i];
    if (part.chunk_offset >= end) break;
    const std::size_t from = std::max(begin, part.chunk_offset);
    const std::size_t to = std::min(end, part.chunk_offset + part.size_bytes);
    const Piece& piece = plan.pieces[part.piece];
    if (!piece.is_padding) act(piece, part.piece_offset + from - part.chunk_offset, from, to - from);
  }
}

}  // namespace

Way way_in(Store store, const Chunk& chunk, std::size_t size_bytes) {
  if (store == Store::kString && size_bytes >= kStringBytes) return Way::kAsString;
  const bool is_streamed = store == Store::kStreaming && chunk.is_streamed;
  return is_streamed && size_bytes >= kStreamedIntoSlotBytes ? Way::kPastCaches : Way::kThroughCaches;
}

Way way_out(const Plan& plan, std::size_t size_bytes) {
  return !plan.is_fresh && size_bytes >= kStreamedOutBytes ? Way::kPastCaches : Way::kThroughCaches;
}

#if defined(__x86_64__)
bool has_registers_of_64_bytes() {
  return __builtin_cpu_supports("avx512f") != 0;
}

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t size_bytes, bool is_by_64) {
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) & 63;
  std::memcpy(to, from, head);
  to += head;
  from += head;
  size_bytes -= head;
  const std::size_t whole = size_bytes & ~std::size_t{127};
  if (is_by_64) {
    stream_by_64(to, from, whole);
  } else {
    stream_by_16(to, from, whole);
  }
  _mm_sfence();  // all bytes must be written before the caller goes on
  std::memcpy(to + whole, from + whole, size_bytes - whole);
}
#else
bool has_registers_of_64_bytes() {
  return false;
}

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t size_bytes, bool /*is_by_64*/) {
  std::memcpy(to, from, size_bytes);
}
#endif

void gather(const Plan& plan, const Chunk& chunk, std::size_t begin, std::size_t end, Store store, std::byte* slot) {
  for_parts(plan, chunk, begin, end, [&](const Piece& piece, std::size_t offset, std::size_t at, std::size_t size) {
    if (piece.layout != nullptr) {
      gather_strided(piece, offset, offset + size, slot + at);
    } else {
      copy(way_in(store, chunk, size), slot + at, static_cast<const std::byte*>(piece.host) + offset, size);
    }
  });
}

void scatter(const Plan& plan, const Chunk& chunk, std::size_t begin, std::size_t end, const std::byte* slot) {
  for_parts(plan, chunk, begin, end, [&](const Piece& piece, std::size_t offset, std::size_t at, std::size_t size) {
    copy(way_out(plan, size), static_cast<std::byte*>(piece.host) + offset, slot + at, size);
  });
}

}  // namespace turnpike::move
