// The writer on good disks and full ones: whatever happens, the file holds whole chunks and the counters are right.
#include "trace/writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>

#include "trace/trace_file.h"

namespace turnpike::trace {
namespace {

// How the disk behaves; the functions below take the place of the system's.
struct Disk {
  std::optional<std::size_t> room_bytes;  // then ENOSPC; none: as much as there is
  std::size_t most_at_once = SIZE_MAX;    // short writes
  int interruptions = 0;                  // EINTR, that many times
  bool takes_nothing = false;             // writev returns 0
  bool can_cut = true;                    // else ftruncate fails
  int write_calls = 0;
};
Disk disk;

extern "C" ssize_t __real_writev(int file, const iovec* parts, int count);
extern "C" int __real_ftruncate(int file, off_t size);

extern "C" ssize_t __wrap_writev(int file, const iovec* parts, int count) {
  ++disk.write_calls;
  if (disk.takes_nothing) return 0;
  if (disk.interruptions > 0) {
    --disk.interruptions;
    errno = EINTR;
    return -1;
  }
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  const std::size_t room = std::min(disk.room_bytes.value_or(SIZE_MAX), disk.most_at_once);
  if (room == 0) {
    errno = ENOSPC;
    return -1;
  }
  bytes.resize(std::min(bytes.size(), room));
  if (disk.room_bytes) *disk.room_bytes -= bytes.size();
  return ::write(file, bytes.data(), bytes.size());
}

extern "C" int __wrap_ftruncate(int file, off_t size) {
  if (disk.can_cut) return __real_ftruncate(file, size);
  errno = EIO;
  return -1;
}

class WriterTest : public TraceFileTest {
 protected:
  void SetUp() override {
    disk = {};
    path_ = directory_ / "a.tpt";
  }
  void TearDown() override { disk = {}; }

  std::string contents() const {
    std::ostringstream out;
    out << std::ifstream(path_, std::ios::binary).rdbuf();
    return out.str();
  }

  bool append(const std::string& payload, ChunkType type = ChunkType::kRecords) {
    return writer_.append(type, payload.data(), payload.size());
  }

  std::filesystem::path path_;
  FileHeader header_{};
  Writer writer_;
  const std::string copy_ = bytes_of(record<MemcpyRecord>(RecordKind::kMemcpy, 0x11));
  const std::string kernel_ = bytes_of(record<KernelRecord>(RecordKind::kKernel, 0x22));
};

TEST_F(WriterTest, WritesTheBytesOfTheFormat) {
  header_.pid = 4242;
  header_.parent_pid = 4241;
  header_.start_realtime_ns = 1'700'000'000'000'000'000;
  header_.start_monotonic_ns = 5'000;
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  ASSERT_TRUE(append(copy_));
  ASSERT_TRUE(append(metadata("rank", "0"), ChunkType::kMetadata));
  writer_.close();
  const std::string expected =
      file_header() + chunk(ChunkType::kRecords, copy_) + chunk(ChunkType::kMetadata, metadata("rank", "0"));
  EXPECT_EQ(contents(), expected);
  EXPECT_EQ(writer_.written_bytes(), expected.size());
  EXPECT_EQ(writer_.lost_bytes(), 0u);
  EXPECT_EQ(writer_.last_errno(), 0);
}

TEST_F(WriterTest, PadsPayloadsOfEveryLength) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  std::string expected = contents();
  for (std::size_t size = 0; size <= 17; ++size) {
    ASSERT_TRUE(append(std::string(size, 'p'), ChunkType{50}));
    expected += chunk(ChunkType{50}, padded(std::string(size, 'p')));
  }
  EXPECT_EQ(contents(), expected);
}

TEST_F(WriterTest, MakesOneSystemCallPerChunk) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  disk.write_calls = 0;
  ASSERT_TRUE(append("12345"));
  EXPECT_EQ(disk.write_calls, 1);
}

TEST_F(WriterTest, MakesPrivateDescriptorAndReadableFile) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(status.st_mode & 0777, 0644 & ~mask);
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) != path_) continue;
    ++found;
    EXPECT_NE(::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(found, 1);
}

TEST_F(WriterTest, DoesNotTouchFileThatExists) {
  write("precious", "a.tpt");
  EXPECT_FALSE(writer_.open(path_.c_str(), header_));
  EXPECT_EQ(errno, EEXIST);
  EXPECT_FALSE(writer_.is_open());
  EXPECT_EQ(contents(), "precious");
}

TEST_F(WriterTest, SaysWhyItCannotOpen) {
  EXPECT_FALSE(writer_.open((directory_ / "none/a.tpt").c_str(), header_));
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(WriterTest, LeavesNoFileWhenTheHeaderDoesNotFit) {
  disk.room_bytes = 63;
  EXPECT_FALSE(writer_.open(path_.c_str(), header_));
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(WriterTest, RefusesPayloadsBeyondTheLimit) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  const std::string most(kMaxChunkBytes, 'x');
  EXPECT_TRUE(append(most));
  const std::uint64_t written = writer_.written_bytes();
  EXPECT_FALSE(append(most + "x"));
  EXPECT_EQ(writer_.last_errno(), EMSGSIZE);
  EXPECT_EQ(writer_.written_bytes(), written);
  EXPECT_EQ(writer_.lost_bytes(), sizeof(ChunkHeader) + kMaxChunkBytes + 8);
  EXPECT_TRUE(append("fits"));
}

TEST_F(WriterTest, CountsWhatIsAppendedWhileClosedAsLost) {
  EXPECT_FALSE(append("12345678"));
  EXPECT_EQ(writer_.lost_bytes(), 24u);
  EXPECT_EQ(writer_.last_errno(), EBADF);
}

TEST_F(WriterTest, RepeatsInterruptedWrites) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  disk.interruptions = 5;
  EXPECT_TRUE(append(copy_));
  EXPECT_EQ(writer_.lost_bytes(), 0u);
}

TEST_F(WriterTest, FinishesShortWritesOfAnyLength) {
  for (std::size_t step = 1; step < 40; ++step) {
    std::filesystem::remove(path_);
    disk.most_at_once = step;
    ASSERT_TRUE(writer_.open(path_.c_str(), header_));
    const std::string start = contents();
    ASSERT_TRUE(append("a payload of odd length"));
    ASSERT_EQ(contents(), start + chunk(ChunkType::kRecords, padded("a payload of odd length"))) << step;
  }
}

TEST_F(WriterTest, GivesUpOnDiskThatTakesNothing) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  disk.takes_nothing = true;
  EXPECT_FALSE(append(copy_));
  EXPECT_EQ(writer_.last_errno(), EIO);
}

TEST_F(WriterTest, CutsOffPartlyWrittenChunkAndGoesOnWhenThereIsRoom) {
  const std::size_t chunk_bytes = sizeof(ChunkHeader) + copy_.size();
  for (std::size_t room = 0; room < chunk_bytes; ++room) {
    SCOPED_TRACE(room);
    std::filesystem::remove(path_);
    disk = {};
    ASSERT_TRUE(writer_.open(path_.c_str(), header_));
    ASSERT_TRUE(append(kernel_));
    disk.room_bytes = room;
    errno = ENOTTY;
    ASSERT_FALSE(append(copy_));
    ASSERT_EQ(errno, ENOTTY) << "the program's errno is not ours";
    ASSERT_EQ(writer_.last_errno(), ENOSPC);
    ASSERT_EQ(writer_.lost_bytes(), chunk_bytes);
    ASSERT_EQ(writer_.written_bytes(), std::filesystem::file_size(path_));
    disk.room_bytes.reset();
    ASSERT_TRUE(append(kernel_));
    ASSERT_EQ(writer_.written_bytes(), std::filesystem::file_size(path_));
    Collector found;
    const auto process = read_file(path_, found);
    ASSERT_TRUE(process);
    ASSERT_THAT(found.records, testing::ElementsAre(kernel_, kernel_));
    ASSERT_EQ(loss_of(*process, Loss::kDamagedBytes), 0u);
  }
}

TEST_F(WriterTest, KeepsLaterChunksReadableWhenRemainsCannotBeCutOff) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  disk.can_cut = false;
  disk.room_bytes = 21;
  ASSERT_FALSE(append(copy_));
  disk.room_bytes.reset();
  ASSERT_TRUE(append(kernel_));
  disk.can_cut = true;
  disk.room_bytes = 5;
  ASSERT_FALSE(append(copy_)) << "and this must not cut off the chunk before it";
  disk.room_bytes.reset();
  ASSERT_TRUE(append(kernel_));
  Collector found;
  const auto process = read_file(path_, found);
  ASSERT_TRUE(process);
  EXPECT_THAT(found.records, testing::ElementsAre(kernel_, kernel_));
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), 21u);
  EXPECT_EQ(writer_.written_bytes() + 21, std::filesystem::file_size(path_));
}

// The signal of an exceeded limit would kill the recorded program.
TEST_F(WriterTest, StaysWithinFileSizeLimitWithoutSignal) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{200, 200};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const bool first = append(copy_);   // ends at byte 152
    const bool second = append(copy_);  // would end at 240
    _exit(first && !second && writer_.last_errno() == EFBIG && writer_.lost_bytes() == 88 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(std::filesystem::file_size(path_), 152u);
}

TEST_F(WriterTest, WritesUpToTheFileSizeLimit) {
  for (const rlim_t limit_bytes : {rlim_t{152}, rlim_t{151}}) {
    std::filesystem::remove(path_);
    ASSERT_TRUE(writer_.open(path_.c_str(), header_));
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit limit{limit_bytes, limit_bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      _exit(append(copy_) ? 0 : writer_.last_errno());  // would end at byte 152
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), limit_bytes == 152 ? 0 : EFBIG);
    EXPECT_EQ(std::filesystem::file_size(path_), limit_bytes == 152 ? 152u : 64u);
  }
}

// The descriptor of a file, as a program finds it that closes what it did not open; -1: there is none.
int descriptor_of(const std::filesystem::path& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code failed;
    if (std::filesystem::read_symlink(entry.path(), failed) == path) return std::stoi(entry.path().filename());
  }
  return -1;
}

TEST_F(WriterTest, GoesOnByNameWhenItsDescriptorWasTaken) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  const int taken = descriptor_of(path_);
  ASSERT_GE(taken, 500) << "out of the way of programs that count";
  const std::filesystem::path other = directory_ / "other";
  const int users = ::open(other.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::dup2(users, taken), taken);
  ASSERT_TRUE(append(copy_));
  writer_.close();
  EXPECT_EQ(std::filesystem::file_size(other), 0u);
  EXPECT_EQ(::fcntl(taken, F_GETFD), 0) << "it is the program's";
  EXPECT_EQ(descriptor_of(path_), -1);
  ::close(users);
  ::close(taken);
  Collector found;
  ASSERT_TRUE(read_file(path_, found));
  EXPECT_THAT(found.records, testing::ElementsAre(copy_));
}

TEST_F(WriterTest, WritesToNoFileThatIsNotItsOwn) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  ::close(descriptor_of(path_));
  std::filesystem::rename(path_, directory_ / "moved");
  std::ofstream(path_) << "of the user";
  EXPECT_FALSE(append(copy_));
  EXPECT_EQ(writer_.last_errno(), ESTALE);
  EXPECT_EQ(writer_.lost_bytes(), sizeof(ChunkHeader) + copy_.size());
  writer_.close();
  EXPECT_EQ(contents(), "of the user");
}

TEST_F(WriterTest, ResumesTheFileOfAnotherAfterItsLastWholeChunk) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  ASSERT_TRUE(append(copy_));
  const std::uint64_t whole = writer_.end_bytes();
  ASSERT_TRUE(append(kernel_));
  struct stat about{};
  ASSERT_EQ(::stat(path_.c_str(), &about), 0);
  const FileIdentity identity{about.st_dev, about.st_ino};
  Writer second;
  EXPECT_FALSE(second.resume(path_.c_str(), {identity.device, identity.inode + 1}, whole));
  EXPECT_EQ(errno, ESTALE);
  EXPECT_FALSE(second.resume(path_.c_str(), identity, writer_.end_bytes() + 1)) << "it has less";
  ASSERT_TRUE(second.resume(path_.c_str(), identity, whole));
  EXPECT_EQ(second.written_bytes(), whole);
  ASSERT_TRUE(second.append(ChunkType::kRecords, copy_.data(), copy_.size()));
  Collector found;
  ASSERT_TRUE(read_file(path_, found));
  EXPECT_THAT(found.records, testing::ElementsAre(copy_, copy_));
}

TEST_F(WriterTest, TakesBackWhatMakesRoom) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  ASSERT_TRUE(append(copy_));
  const std::uint64_t whole = writer_.end_bytes();
  ASSERT_TRUE(append(kernel_));
  const std::uint64_t taken = writer_.end_bytes() - whole;
  writer_.cut_back(writer_.end_bytes());
  EXPECT_EQ(writer_.lost_bytes(), 0u);
  writer_.cut_back(whole);
  EXPECT_EQ(writer_.end_bytes(), whole);
  EXPECT_EQ(writer_.written_bytes(), whole);
  EXPECT_EQ(writer_.lost_bytes(), taken);
  ASSERT_TRUE(append(copy_));
  Collector found;
  ASSERT_TRUE(read_file(path_, found));
  EXPECT_THAT(found.records, testing::ElementsAre(copy_, copy_));
}

TEST_F(WriterTest, CanBeOpenedAgainForAnotherFile) {
  ASSERT_TRUE(writer_.open(path_.c_str(), header_));
  ASSERT_TRUE(append(copy_));
  ASSERT_TRUE(writer_.open((directory_ / "b.tpt").c_str(), header_));
  EXPECT_EQ(writer_.written_bytes(), sizeof(FileHeader));
  ASSERT_TRUE(append(kernel_));
  Collector found;
  ASSERT_TRUE(read_file(directory_ / "b.tpt", found));
  EXPECT_THAT(found.records, testing::ElementsAre(kernel_));
}

}  // namespace
}  // namespace turnpike::trace
