#include "report/rollup/compact_writer.h"

#include <utility>

namespace turnpike::report::rollup {
namespace {

// Thrift's numbers of types.
constexpr unsigned kNumber32 = 5;
constexpr unsigned kNumber64 = 6;
constexpr unsigned kBinary = 8;
constexpr unsigned kList = 9;
constexpr unsigned kStruct = 12;

}  // namespace

void append_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  bytes += static_cast<char>(value);
}

void CompactWriter::signed_number(std::int64_t value) {
  append_varint(bytes_, (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
}

void CompactWriter::bytes_of(std::string_view text) {
  append_varint(bytes_, text.size());
  bytes_ += text;
}

// The distance from the field before; those of Parquet are all below 16.
void CompactWriter::begin_field(int field, unsigned type) {
  const int distance = field - std::exchange(last_fields_.back(), field);
  bytes_ += static_cast<char>(static_cast<unsigned>(distance) << 4 | type);
}

void CompactWriter::begin_list(int field, unsigned type, std::size_t count) {
  begin_field(field, kList);
  if (count < 15) {
    bytes_ += static_cast<char>(count << 4 | type);
  } else {
    bytes_ += static_cast<char>(0xF0 | type);
    append_varint(bytes_, count);
  }
}

void CompactWriter::number32(int field, std::int64_t value) {
  begin_field(field, kNumber32);
  signed_number(value);
}

void CompactWriter::number64(int field, std::int64_t value) {
  begin_field(field, kNumber64);
  signed_number(value);
}

void CompactWriter::text(int field, std::string_view value) {
  begin_field(field, kBinary);
  bytes_of(value);
}

void CompactWriter::begin_struct(int field) {
  begin_field(field, kStruct);
  begin_element();
}

void CompactWriter::end_struct() {
  bytes_ += '\0';
  last_fields_.pop_back();
}

void CompactWriter::begin_structs(int field, std::size_t count) {
  begin_list(field, kStruct, count);
}

void CompactWriter::numbers32(int field, const std::vector<std::int64_t>& values) {
  begin_list(field, kNumber32, values.size());
  for (const std::int64_t value : values) signed_number(value);
}

void CompactWriter::texts(int field, const std::vector<std::string_view>& values) {
  begin_list(field, kBinary, values.size());
  for (const std::string_view value : values) bytes_of(value);
}

std::string CompactWriter::take() {
  end_struct();
  last_fields_ = {0};
  return std::exchange(bytes_, {});
}

}  // namespace turnpike::report::rollup
