// Opens a file and reads it from the front.
#include "ingest/kineto/open_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "ingest/kineto/gzip.h"

namespace turnpike::ingest {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(int file, std::uint64_t file_bytes, std::string path)
      : file_(file), file_bytes_(file_bytes), path_(std::move(path)) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { ::close(file_); }

  Result<std::size_t> read(std::span<char> into) override {
    ssize_t count;
    do {
      count = ::read(file_, into.data(), into.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) return Error{"Cannot read " + path_ + ": " + std::strerror(errno) + ". Check its disk."};
    consumed_bytes_ += static_cast<std::uint64_t>(count);
    return static_cast<std::size_t>(count);
  }
  std::uint64_t consumed_bytes() const override { return consumed_bytes_; }
  std::uint64_t file_bytes() const override { return file_bytes_; }

 private:
  int file_;
  std::uint64_t file_bytes_;
  std::string path_;
  std::uint64_t consumed_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const std::filesystem::path& path) {
  // Not blocking, so that a named pipe in the place of a file does not hang.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return Error{"Cannot read " + path.string() + ": " + std::strerror(errno) +
                 ". Check the name and the file's permissions."};
  }
  struct stat status{};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    return Error{path.string() + " is not a regular file. Copy the trace to a file and give that."};
  }
  unsigned char magic[2] = {};
  const ssize_t magic_bytes = ::pread(file, magic, sizeof magic, 0);
  const bool is_gzip = magic_bytes == sizeof magic && magic[0] == 0x1f && magic[1] == 0x8b;
  std::unique_ptr<ByteSource> plain =
      std::make_unique<FileSource>(file, static_cast<std::uint64_t>(status.st_size), path.string());
  if (!is_gzip) return plain;
  return unpacked(std::move(plain));
}

}  // namespace turnpike::ingest
