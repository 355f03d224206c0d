#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/spilled_bytes.h"
#include "base/spilled_log.h"
#include "base/spilled_numbers.h"

namespace turnpike {
namespace {

std::uint64_t append(SpilledBytes& bytes, const std::string& text) {
  return bytes.append(std::as_bytes(std::span(text)));
}

std::string text_at(const SpilledBytes& bytes, std::uint64_t place, std::size_t size) {
  std::string text(size, '\0');
  bytes.read(place, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST(SpilledBytes, AreTheSameInMemoryAndInTheFile) {
  for (const std::size_t most_in_memory : {0, 1, 5, 6, 11, 12, 100}) {
    SpilledBytes bytes(most_in_memory);
    const std::uint64_t hello = append(bytes, "hello ");
    const std::uint64_t world = append(bytes, "world!");
    EXPECT_EQ(bytes.has_file(), most_in_memory < 12) << most_in_memory;
    EXPECT_EQ(bytes.size(), 12u);
    EXPECT_EQ(text_at(bytes, world, 6) + text_at(bytes, hello, 6), "world!hello ");
    EXPECT_EQ(text_at(bytes, 3, 6), "lo wor");
    const std::string other = "p, w";
    bytes.replace(3, std::as_bytes(std::span(other)));
    EXPECT_EQ(text_at(bytes, 0, 12), "help, world!") << most_in_memory;
  }
}

// A soft limit on the size of files, which every write beyond it breaks.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST(SpilledBytes, SayWhereAndWhyTheyCannotBeWritten) {
  const FileSizeLimit limit(1000);
  SpilledBytes bytes(100);
  append(bytes, std::string(1100, 'x'));
  try {
    append(bytes, "y");
    FAIL() << "written beyond the limit";
  } catch (const std::runtime_error& failure) {
    EXPECT_THAT(failure.what(), testing::MatchesRegex("cannot write a temporary file in /[^:]*: File too large\\. .*"
                                                      "TMPDIR.*"));
  }
}

class TmpdirTest : public testing::Test {
 protected:
  TmpdirTest() {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
  }
  ~TmpdirTest() override {
    if (before_.empty()) {
      ::unsetenv("TMPDIR");
    } else {
      ::setenv("TMPDIR", before_.c_str(), 1);
    }
  }

 private:
  std::string before_;
};

TEST_F(TmpdirTest, SpilledBytesTakeAnotherFolderWhereTheNamedOneIsNone) {
  ::setenv("TMPDIR", "/no/such/folder", 1);
  SpilledBytes bytes(0);
  append(bytes, "hello");
  EXPECT_EQ(text_at(bytes, 0, 5), "hello");
}

TEST(SpilledLog, HandsOnWhatWasAppended) {
  using Log = SpilledLog<std::uint64_t>;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, Log::kChunk - 1, Log::kChunk, Log::kChunk + 1,
                                  2 * Log::kChunk, 3 * Log::kChunk + 7}) {
    // Two logs share the bytes, and part of them is in a file.
    const auto bytes = std::make_shared<SpilledBytes>(100'000);
    Log log(bytes);
    Log other(bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      log.push_back(3 * i);
      other.push_back(5 * i);
    }
    ASSERT_EQ(log.size(), count);
    EXPECT_EQ(log.empty(), count == 0);
    for (const std::size_t from : {std::size_t{0}, count / 3, count - std::min<std::size_t>(count, 1), count}) {
      std::uint64_t next = from;
      for (auto at = log.from(from); at != log.end(); ++at) ASSERT_EQ(*at, 3 * next++);
      EXPECT_EQ(next, count);
    }
    std::uint64_t next = 0;
    for (const std::uint64_t number : other) ASSERT_EQ(number, 5 * next++);
    EXPECT_EQ(next, count);
  }
}

TEST(SpilledNumbers, AreThoseThatWereSet) {
  constexpr std::size_t kCount = 3 * SpilledNumbers::kPagesInMemory * SpilledNumbers::kPage;
  SpilledNumbers numbers;
  EXPECT_EQ(numbers[5], SpilledNumbers::kNone);
  for (std::size_t i = 0; i < kCount; i += 7) numbers.set(i, static_cast<std::uint32_t>(2 * i));
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t index = random() % kCount;
    ASSERT_EQ(numbers[index], index % 7 == 0 ? static_cast<std::uint32_t>(2 * index) : SpilledNumbers::kNone);
    if (index % 7 == 0) numbers.set(index, static_cast<std::uint32_t>(2 * index));  // a page is written twice
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(numbers[i], i % 7 == 0 ? static_cast<std::uint32_t>(2 * i) : SpilledNumbers::kNone);
  }
}

}  // namespace
}  // namespace turnpike
