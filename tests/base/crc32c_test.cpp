// CRC-32C against the published vectors (RFC 3720, B.4) and against itself in pieces.
#include "base/crc32c.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <string>

namespace turnpike {
namespace {

std::uint32_t crc_of(const std::string& text) {
  return crc32c(text.data(), text.size());
}

// The definition, bit by bit: what the table and the processor's instruction must agree with.
std::uint32_t by_definition(const std::string& text) {
  std::uint32_t crc = ~0u;
  for (const char character : text) {
    crc ^= static_cast<unsigned char>(character);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82F63B78u : 0u);
  }
  return ~crc;
}

TEST(Crc32c, MatchesPublishedVectors) {
  EXPECT_EQ(crc_of("123456789"), 0xE3069283u);
  EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc_of(std::string(32, '\xFF')), 0x62A8AB43u);
  std::string ascending(32, '\0');
  for (std::size_t i = 0; i < ascending.size(); ++i) ascending[i] = static_cast<char>(i);
  EXPECT_EQ(crc_of(ascending), 0x46DD794Eu);
}

TEST(Crc32c, OfNothingIsZero) {
  EXPECT_EQ(crc32c(nullptr, 0), 0u);
}

TEST(Crc32c, MatchesDefinitionAtEveryLengthAndAlignment) {
  std::string text;
  for (int i = 0; i < 300; ++i) text.push_back(static_cast<char>(i * 37 + 11));
  for (std::size_t start = 0; start < 9; ++start) {
    for (std::size_t size = 0; size < 280; ++size) {
      ASSERT_EQ(crc32c(text.data() + start, size), by_definition(text.substr(start, size))) << start << "+" << size;
    }
  }
}

TEST(Crc32c, ReadsNothingBehindItsBytes) {
  void* const pages = mmap(nullptr, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  char* const end = static_cast<char*>(pages) + 4096;
  ASSERT_EQ(mprotect(end, 4096, PROT_NONE), 0);
  for (std::size_t size = 0; size < 40; ++size) {
    EXPECT_EQ(crc32c(end - size, size), crc_of(std::string(size, '\0'))) << size;
  }
  munmap(pages, 2 * 4096);
}

TEST(Crc32c, ContinuesFromSeed) {
  const std::string text = "the same bytes, cut anywhere, have the same checksum";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::uint32_t first = crc32c(text.data(), cut);
    EXPECT_EQ(crc32c(text.data() + cut, text.size() - cut, first), crc_of(text));
  }
}

}  // namespace
}  // namespace turnpike
