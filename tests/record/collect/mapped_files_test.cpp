// Which copies count as reading a mapped file.
#include "record/collect/mapped_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

namespace turnpike::record {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

trace::CallRecord copy(std::uint32_t correlation, std::uint64_t source, std::uint64_t bytes = 1 << 20) {
  trace::CallRecord call{};
  call.kind = trace::CallKind::kCopy;
  call.correlation = correlation;
  call.src = source;
  call.bytes = bytes;
  return call;
}

class MappedFilesTest : public testing::Test {
 protected:
  MappedFilesTest() {
    std::string pattern = testing::TempDir() + "maps_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::ofstream(maps()) << "00400000-00500000 r--p 00000000 fd:01 131 /usr/bin/python3.12\n"
                             "10000000-20000000 r--s 00000000 fd:01 4711 /data/my model.safetensors\n"
                             "20000000-30000000 rw-p 00000000 00:00 0 \n"
                             "30000000-40000000 rw-s 00000000 00:1a 77 /dev/shm/torch_1 (deleted)\n"
                             "40000000-50000000 rw-s 00000000 00:01 78 /memfd:cuda (deleted)\n"
                             "50000000-60000000 rw-p 00000000 00:00 0 [heap]\n";
    files_ = MappedFiles(maps());
  }
  ~MappedFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string maps() const { return folder_ / "maps"; }
  std::string text() const {
    Metadata metadata;
    files_.put(metadata);
    return metadata.contains("from_files") ? metadata["from_files"] : "absent";
  }

  std::filesystem::path folder_;
  MappedFiles files_;
};

TEST_F(MappedFilesTest, AreThoseOfData) {
  std::uint32_t correlation = 0;
  for (const std::uint64_t source : {0x10000000, 0x1fffffff, 0x20000000, 0x30000000, 0x40000000, 0x50000000, 0x7000}) {
    files_.note(copy(++correlation, source));
  }
  files_.look(0);
  EXPECT_EQ(text(), "1 2");
}

TEST_F(MappedFilesTest, AreNotAskedForWhereCopiesAreSmallOrHaveNoSource) {
  files_.note(copy(1, 0x10000000, (1 << 20) - 1));
  files_.note(copy(2, 0));
  files_.note(copy(3, 0x10000000, trace::kUnknownSize));
  files_.look(0);
  EXPECT_EQ(text(), "absent");
}

TEST_F(MappedFilesTest, AreLookedForFourTimesASecondAtMostButForTheFirst) {
  std::int64_t now_ns = 0;
  std::uint32_t looks = 0;
  for (const std::int64_t wait_ns : {0, 15'625'000, 31'250'000, 62'500'000, 125'000'000, 250'000'000, 250'000'000}) {
    files_.note(copy(++looks, 0x10000000));
    if (wait_ns > 0) files_.look(now_ns + wait_ns - 1);
    EXPECT_FALSE(text().ends_with(std::to_string(looks))) << text();
    files_.look(now_ns += wait_ns);
    EXPECT_TRUE(text().ends_with(std::to_string(looks))) << text();
  }
  EXPECT_EQ(text(), "1 2 3 4 5 6 7");
}

TEST_F(MappedFilesTest, AreLookedFor64Times) {
  for (std::uint32_t look = 1; look <= 70; ++look) {
    files_.note(copy(look, 0x10000000));
    files_.look(look * kSecond);
  }
  EXPECT_TRUE(text().ends_with(" 63 64")) << text();
}

// A file that is mapped, and the copies whose source it is.
class FilesOfThisProcessTest : public MappedFilesTest {
 protected:
  FilesOfThisProcessTest() {
    const std::string path = folder_ / "weights";
    std::ofstream(path) << std::string(8192, 'w');
    FILE* file = std::fopen(path.c_str(), "r");
    mapping_ = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    std::fclose(file);
    files_ = MappedFiles();
  }
  ~FilesOfThisProcessTest() override { munmap(mapping_, 8192); }

  std::uint64_t in_file() const { return reinterpret_cast<std::uint64_t>(mapping_) + 4096; }

  void* mapping_ = nullptr;
};

TEST_F(FilesOfThisProcessTest, AreFound) {
  ASSERT_NE(mapping_, MAP_FAILED);
  files_.note(copy(5, in_file()));
  files_.note(copy(6, reinterpret_cast<std::uint64_t>(&mapping_)));
  files_.note(copy(7, 4096));
  files_.note(copy(8, in_file()));
  files_.look(0);
  EXPECT_EQ(text(), "5 8");
}

TEST_F(FilesOfThisProcessTest, AreNoFilesOfData) {
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int named = memfd_create("shared", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(named, 4096), 0);
  void* const in_memory = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, named, 0);
  close(named);
  files_.note(copy(1, reinterpret_cast<std::uint64_t>(shared)));
  files_.note(copy(2, reinterpret_cast<std::uint64_t>(in_memory)));
  files_.look(0);
  EXPECT_EQ(text(), "absent");
  munmap(shared, 4096);
  munmap(in_memory, 4096);
}

// Linux before 6.11 answers no queries.
bool has_queries() {
  utsname system{};
  unsigned major = 0, minor = 0;
  return uname(&system) == 0 && std::sscanf(system.release, "%u.%u", &major, &minor) == 2 &&
         std::pair(major, minor) >= std::pair(6u, 11u);
}

TEST_F(FilesOfThisProcessTest, AreLookedForAtEachTurnOfTheFirstHalfSecond) {
  if (!has_queries()) GTEST_SKIP() << "Linux before 6.11 does not answer for one mapping";
  constexpr std::int64_t kTurn = kSecond / 50;
  for (std::uint32_t turn = 0; turn < 25; ++turn) {
    files_.note(copy(turn, in_file()));
    files_.look(kSecond + turn * kTurn);
    EXPECT_TRUE(text().ends_with(std::to_string(turn))) << text();
  }
  files_.note(copy(25, in_file()));
  files_.look(kSecond + 25 * kTurn);
  EXPECT_TRUE(text().ends_with(" 25")) << text();
  files_.note(copy(26, in_file()));
  files_.look(kSecond + 26 * kTurn);
  EXPECT_TRUE(text().ends_with(" 25")) << text();
  files_.look(kSecond + 25 * kTurn + kSecond / 4);
  EXPECT_TRUE(text().ends_with(" 26")) << text();
}

}  // namespace
}  // namespace turnpike::record
