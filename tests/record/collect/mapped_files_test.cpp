// Which copies count as reading a mapped file.
#include "record/collect/mapped_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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
    files_.restart();
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

TEST_F(MappedFilesTest, AreForgottenAtARestart) {
  files_.note(copy(1, 0x10000000));
  files_.look(0);
  EXPECT_EQ(text(), "1");
  files_.restart();
  files_.look(kSecond);
  EXPECT_EQ(text(), "absent");
}

TEST_F(MappedFilesTest, AreFoundInThisProcess) {
  const std::string path = folder_ / "weights";
  std::ofstream(path) << std::string(8192, 'w');
  FILE* file = std::fopen(path.c_str(), "r");
  ASSERT_NE(file, nullptr);
  void* mapping = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE, fileno(file), 0);
  ASSERT_NE(mapping, MAP_FAILED);
  files_ = MappedFiles();
  files_.restart();
  files_.note(copy(5, reinterpret_cast<std::uint64_t>(mapping) + 4096));
  files_.note(copy(6, reinterpret_cast<std::uint64_t>(&path)));
  files_.look(0);
  EXPECT_EQ(text(), "5");
  munmap(mapping, 8192);
  std::fclose(file);
}

}  // namespace
}  // namespace turnpike::record
