// The strings of a recording, each kept once and known by a number.
#include "record/stacks/string_table.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "trace/format.h"

namespace turnpike::record {
namespace {

constexpr std::size_t kMaxEntryBytes = std::size_t{32} << 20;
// Symbols of templates run to kilobytes; nothing longer than this helps anyone.
constexpr std::size_t kMaxTextBytes = 64 * 1024;
constexpr std::size_t kBlockBytes = 64 * 1024;

std::size_t padded(std::size_t bytes) {
  return (bytes + 7) & ~std::size_t{7};
}

// A cut must not split a character: a reader may insist on UTF-8.
std::string_view cut(std::string_view text) {
  if (text.size() <= kMaxTextBytes) return text;
  std::size_t end = kMaxTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

std::uint32_t StringTable::intern(std::string_view text) noexcept {
  try {
    text = cut(text);
    const std::lock_guard lock(mutex_);
    const auto found = numbers_.find(text);
    return found != numbers_.end() ? found->second : add(text);
  } catch (const std::bad_alloc&) {
    return trace::kNoId;
  }
}

std::uint32_t StringTable::add(std::string_view text) {
  const std::size_t bytes = sizeof(trace::StringEntry) + padded(text.size());
  if (entry_bytes_ + bytes > kMaxEntryBytes) return trace::kNoId;
  if (text.size() > block_left_) {
    const std::size_t block_bytes = std::max(kBlockBytes, text.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_bytes));
    block_next_ = blocks_.back().get();
    block_left_ = block_bytes;
  }
  if (!text.empty()) std::memcpy(block_next_, text.data(), text.size());
  const std::string_view kept(block_next_, text.size());
  texts_.push_back(kept);
  const auto number = static_cast<std::uint32_t>(texts_.size());
  try {
    numbers_.emplace(kept, number);
  } catch (...) {
    texts_.pop_back();
    throw;
  }
  block_next_ += text.size();
  block_left_ -= text.size();
  entry_bytes_ += bytes;
  return number;
}

void StringTable::drain(std::vector<std::byte>& payload) noexcept {
  const std::size_t before = payload.size();
  try {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = drained_; i < texts_.size(); ++i) {
      const trace::StringEntry entry{static_cast<std::uint32_t>(i + 1), static_cast<std::uint32_t>(texts_[i].size())};
      const std::size_t at = payload.size();
      payload.resize(at + sizeof(entry) + padded(texts_[i].size()));
      std::memcpy(payload.data() + at, &entry, sizeof(entry));
      if (entry.bytes != 0) std::memcpy(payload.data() + at + sizeof(entry), texts_[i].data(), entry.bytes);
    }
    drained_ = texts_.size();
  } catch (const std::bad_alloc&) {
    payload.resize(before);
  }
}

void StringTable::restart() noexcept {
  const std::lock_guard lock(mutex_);
  drained_ = 0;
}

}  // namespace turnpike::record
