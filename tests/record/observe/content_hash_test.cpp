// The hash of memory: what it sees, and memory that is not there.
#include "record/observe/content_hash.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

namespace turnpike::record {
namespace {

std::uintptr_t address_of(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

std::optional<ContentHash> sample_of(const std::vector<unsigned char>& bytes) {
  return hash_sample(address_of(bytes.data()), bytes.size());
}

TEST(ContentHash, SeesEveryByteOfSmallMemory) {
  std::vector<unsigned char> bytes(kWhollyHashedBytes, 1);
  const auto before = sample_of(bytes);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->hashed_bytes, kWhollyHashedBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = 2;
    EXPECT_NE(sample_of(bytes)->hash, before->hash) << i;
    bytes[i] = 1;
  }
  EXPECT_EQ(sample_of(bytes)->hash, before->hash);
}

TEST(ContentHash, SeesBothEndsAndTheMiddleOfLargeMemory) {
  for (const std::size_t size : {4097u, 5000u, 8191u, 65536u, 1u << 20, (1u << 20) + 3}) {
    std::vector<unsigned char> bytes(size, 1);
    const auto before = sample_of(bytes);
    ASSERT_TRUE(before) << size;
    EXPECT_LT(before->hashed_bytes, size);
    std::size_t seen = 0;
    for (std::size_t i = 0; i < size; i += 64) {
      bytes[i] = 2;
      const bool is_seen = sample_of(bytes)->hash != before->hash;
      bytes[i] = 1;
      EXPECT_TRUE(is_seen || (i >= 512 && i < size - 512)) << size << " at " << i;
      seen += is_seen && i >= 512 && i < size - 512;
    }
    EXPECT_GT(seen, 0u) << size;
    bytes.back() = 2;
    EXPECT_NE(sample_of(bytes)->hash, before->hash) << size;
  }
}

// Both ends and one place for each 8 KiB, twelve at most, each in the middle of its stretch.
TEST(ContentHash, TakesAsManyPlacesAsTheSizeAsksFor) {
  const std::pair<std::size_t, std::size_t> cases[] = {
      {4096, 4096},         {4097, 1024 + 128},   {8192, 1024 + 128},        {16'383, 1024 + 128},
      {16'384, 1024 + 256}, {24'576, 1024 + 384}, {98'304, 1024 + 12 * 128}, {1u << 20, 1024 + 12 * 128},
  };
  for (const auto& [size, hashed] : cases) {
    EXPECT_EQ(sample_of(std::vector<unsigned char>(size, 1))->hashed_bytes, hashed) << size;
  }
  std::vector<unsigned char> bytes(8192, 1);
  const std::uint64_t before = sample_of(bytes)->hash;
  std::vector<std::size_t> seen;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = 2;
    if (sample_of(bytes)->hash != before) seen.push_back(i);
    bytes[i] = 1;
  }
  ASSERT_EQ(seen.size(), 1024u + 128);
  EXPECT_EQ(seen[511], 511u);
  EXPECT_EQ(seen[512], 512u + (8192 - 1024 - 128) / 2);
  EXPECT_EQ(seen[640], 8192u - 512);
}

TEST(ContentHash, DependsOnTheSizeAndNotOnThePlace) {
  const std::vector<unsigned char> bytes(100'000, 0);
  EXPECT_NE(hash_sample(address_of(bytes.data()), 50'000)->hash, hash_sample(address_of(bytes.data()), 50'001)->hash);
  EXPECT_EQ(hash_sample(address_of(bytes.data()), 50'000)->hash,
            hash_sample(address_of(bytes.data()) + 7, 50'000)->hash);
}

TEST(ContentHash, OfEverythingDoesNotDependOnTheWindow) {
  std::vector<unsigned char> bytes(100'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 31);
  std::vector<std::byte> small(100);
  std::vector<std::byte> large(1 << 18);
  const auto in_pieces = hash_all(address_of(bytes.data()), bytes.size(), small);
  const auto at_once = hash_all(address_of(bytes.data()), bytes.size(), large);
  ASSERT_TRUE(in_pieces && at_once);
  EXPECT_EQ(in_pieces->hash, at_once->hash);
  EXPECT_EQ(at_once->hashed_bytes, bytes.size());
  EXPECT_EQ(hash_all(address_of(bytes.data()), 4000, large)->hash, hash_sample(address_of(bytes.data()), 4000)->hash);
  bytes[77'777] ^= 1;
  EXPECT_NE(hash_all(address_of(bytes.data()), bytes.size(), large)->hash, at_once->hash);
}

TEST(ContentHash, IsUnknownForMemoryThatIsNotThere) {
  constexpr std::size_t kPage = 4096;
  void* memory = mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::uintptr_t start = address_of(memory);
  ASSERT_EQ(munmap(reinterpret_cast<void*>(start + 3 * kPage), kPage), 0);
  std::vector<std::byte> window(1000);
  EXPECT_TRUE(hash_sample(start, 3 * kPage));
  EXPECT_FALSE(hash_sample(start, 3 * kPage + 1));
  EXPECT_FALSE(hash_sample(start + 3 * kPage, 100));
  EXPECT_TRUE(hash_all(start, 3 * kPage, window));
  EXPECT_FALSE(hash_all(start, 3 * kPage + 1, window));
  EXPECT_FALSE(hash_sample(0, 100));
  munmap(memory, 3 * kPage);
}

}  // namespace
}  // namespace turnpike::record
