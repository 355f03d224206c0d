// Structures in Thrift's compact protocol, in which Parquet writes what it says of itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::report::rollup {

void append_varint(std::string& bytes, std::uint64_t value);

// Fields of a structure rise by their number. Starts inside the outermost structure.
class CompactWriter {
 public:
  void number32(int field, std::int64_t value);
  void number64(int field, std::int64_t value);
  void text(int field, std::string_view value);
  void begin_struct(int field);
  void end_struct();
  // Followed by `count` structures, each between begin_element() and end_struct().
  void begin_structs(int field, std::size_t count);
  void begin_element() { last_fields_.push_back(0); }
  void numbers32(int field, const std::vector<std::int64_t>& values);
  void texts(int field, const std::vector<std::string_view>& values);
  // Ends the outermost structure.
  std::string take();

 private:
  void begin_field(int field, unsigned type);
  void begin_list(int field, unsigned type, std::size_t count);
  void signed_number(std::int64_t value);
  void bytes_of(std::string_view text);

  std::string bytes_;
  std::vector<int> last_fields_{0};
};

}  // namespace turnpike::report::rollup
