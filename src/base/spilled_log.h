// Records that are appended and read again in their order, in little memory however many there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/spilled_bytes.h"

namespace turnpike {

// The last records are in memory; those before them are where `SpilledBytes` keeps them, which logs may share.
template <typename Record>
class SpilledLog {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  // So many are written and read at a time.
  static constexpr std::size_t kChunk = std::max<std::size_t>(1, 64 * 1024 / sizeof(Record));

  explicit SpilledLog(std::shared_ptr<SpilledBytes> bytes = std::make_shared<SpilledBytes>())
      : bytes_(std::move(bytes)) {}

  void push_back(const Record& record) {
    if (last_.size() == kChunk) {
      places_.push_back(bytes_->append(std::as_bytes(std::span(last_))));
      last_.clear();
    }
    last_.push_back(record);
  }
  std::size_t size() const { return places_.size() * kChunk + last_.size(); }
  bool empty() const { return last_.empty(); }
  const Record& back() const { return last_.back(); }

  // Reads from one record on. Valid as long as nothing is appended.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Record;
    using difference_type = std::ptrdiff_t;
    using pointer = const Record*;
    using reference = const Record&;

    Iterator(const SpilledLog& log, std::size_t from) : log_(&log), next_chunk_(from / kChunk) {
      load();
      record_ += from % kChunk;
    }
    Iterator(Iterator&&) noexcept = default;
    Iterator& operator=(Iterator&&) noexcept = default;
    reference operator*() const { return *record_; }
    pointer operator->() const { return record_; }
    Iterator& operator++() {
      if (++record_ == end_) load();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return record_ == end_; }

   private:
    void load() {
      std::span<const Record> chunk;
      if (next_chunk_ < log_->places_.size()) {
        chunk_.resize(kChunk);
        log_->bytes_->read(log_->places_[next_chunk_], std::as_writable_bytes(std::span(chunk_)));
        chunk = chunk_;
      } else if (next_chunk_ == log_->places_.size()) {
        chunk = log_->last_;
      }
      ++next_chunk_;
      record_ = chunk.data();
      end_ = chunk.data() + chunk.size();
    }

    const SpilledLog* log_;
    std::size_t next_chunk_;
    std::vector<Record> chunk_;
    const Record* record_ = nullptr;
    const Record* end_ = nullptr;
  };

  Iterator begin() const { return Iterator(*this, 0); }
  // `index`: at most size().
  Iterator from(std::size_t index) const { return Iterator(*this, index); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::shared_ptr<SpilledBytes> bytes_;
  std::vector<std::uint64_t> places_;  // of chunks
  std::vector<Record> last_;
};

}  // namespace turnpike
