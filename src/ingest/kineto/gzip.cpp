// Drives zlib over the members of a gzip file.
#include "ingest/kineto/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace turnpike::ingest {
namespace {

constexpr std::size_t kPackedBytes = 256u << 10;
// What is kept of a trace is no larger than its text, so this bounds the memory that a small file can take. Traces of
// torch.profiler unpack to some 10 to 30 times their size.
constexpr std::uint64_t kMaxRatio = 100;
constexpr std::uint64_t kTrustedBytes = 64u << 20;
constexpr int kGzipOnly = 16;  // added to the window bits: no zlib or raw streams

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> packed) : packed_(std::move(packed)), buffer_(kPackedBytes) {
    is_broken_ = ::inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK;
    is_initialised_ = !is_broken_;
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override {
    if (is_initialised_) ::inflateEnd(&stream_);
  }

  Result<std::size_t> read(std::span<char> into) override {
    const auto wanted = static_cast<uInt>(std::min<std::size_t>(into.size(), std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = wanted;
    while (stream_.avail_out == wanted && !is_broken_ && !has_ended_) {
      if (stream_.avail_in == 0) {
        if (auto filled = fill(); !filled) return filled.error();
      }
      if (!is_broken_ && !has_ended_) inflate_some();
    }
    unpacked_bytes_ += wanted - stream_.avail_out;
    const std::uint64_t packed_bytes = packed_->consumed_bytes() - stream_.avail_in;
    if (unpacked_bytes_ > kTrustedBytes && unpacked_bytes_ / kMaxRatio > packed_bytes) {
      return Error{"it unpacks to more than " + std::to_string(kMaxRatio) +
                   " times its size, as no trace does. If you trust it, unpack it with gunzip and give that file"};
    }
    return static_cast<std::size_t>(wanted - stream_.avail_out);
  }

  std::uint64_t consumed_bytes() const override { return packed_->consumed_bytes(); }
  std::uint64_t file_bytes() const override { return packed_->file_bytes(); }
  std::uint64_t damaged_bytes() const override {
    if (!is_broken_) return 0;
    // Cut off: every byte was used, and yet the end is missing.
    return std::max<std::uint64_t>(1, packed_->file_bytes() - packed_->consumed_bytes() + stream_.avail_in);
  }

 private:
  Status fill() {
    const auto count = packed_->read(buffer_);
    if (!count) return count.error();
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(*count);
    if (*count > 0) return {};
    (is_in_member_ ? is_broken_ : has_ended_) = true;
    return {};
  }

  void inflate_some() {
    is_in_member_ = true;
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      is_in_member_ = false;
      has_member_ = true;
      is_broken_ = ::inflateReset(&stream_) != Z_OK;
      return;
    }
    const bool is_padding = result == Z_DATA_ERROR && has_member_ && stream_.total_out == 0;
    if (is_padding) {
      has_ended_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      is_broken_ = true;
    }
  }

  std::unique_ptr<ByteSource> packed_;
  std::vector<char> buffer_;
  z_stream stream_{};
  std::uint64_t unpacked_bytes_ = 0;
  bool is_initialised_ = false;
  bool is_in_member_ = true;  // at the start too: a file without a whole member is cut off
  bool has_member_ = false;
  bool is_broken_ = false;
  bool has_ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<GzipSource>(std::move(packed));
}

}  // namespace turnpike::ingest
