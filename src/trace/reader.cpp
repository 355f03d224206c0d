// Opens trace files, says in words why one is none, and drives chunks through the decoder.
#include "trace/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "trace/chunk_reader.h"
#include "trace/decoder.h"

namespace turnpike::trace {
namespace {

constexpr std::uint64_t kProgressStepBytes = 1u << 20;
// A header longer than this is no header of a later writer but damage.
constexpr std::uint32_t kMaxHeaderBytes = 4096;

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

Error cannot_read(const std::filesystem::path& path, int reason) {
  return Error{"Cannot read " + path.string() + ": " + std::strerror(reason) +
               (reason == ENOENT ? ". Check the name, or make a recording with `turnpike record`."
                                 : ". Check the file's permissions and its disk, or copy the run elsewhere.")};
}

// The file, and its size now.
Result<std::pair<File, std::uint64_t>> open_file(const std::filesystem::path& path) {
  // Not blocking, so that a named pipe in the place of a file does not hang.
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.descriptor() < 0) return cannot_read(path, errno);
  struct stat status{};
  if (::fstat(file.descriptor(), &status) != 0) return cannot_read(path, errno);
  if (S_ISDIR(status.st_mode)) {
    return Error{path.string() + " is a directory. Give one of the trace files in it (*" + kFileExtension + ")."};
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{path.string() + " is not a regular file. Copy the trace to a file and give that."};
  }
  if (status.st_size == 0) {
    return Error{path.string() + " is empty: the process ended before anything was recorded. Record again."};
  }
  return std::pair{std::move(file), static_cast<std::uint64_t>(status.st_size)};
}

Result<FileHeader> read_header(int file, const std::filesystem::path& path) {
  FileHeader header{};
  const ssize_t count = ::read(file, &header, sizeof header);
  if (count < 0) return cannot_read(path, errno);
  const auto magic_bytes = std::min(static_cast<std::size_t>(count), sizeof kFileMagic);
  if (std::memcmp(header.magic, kFileMagic, magic_bytes) != 0) {
    return Error{path.string() +
                 " is not a Turnpike trace. Give a run that `turnpike record` made, or a file of one (*" +
                 kFileExtension + ")."};
  }
  if (static_cast<std::size_t>(count) < sizeof header) {
    return Error{path.string() +
                 " is cut off inside its header, so that nothing can be read. Copy the run again from "
                 "where it was made, or record again."};
  }
  if (header.version > kFormatVersion) {
    return Error{path.string() + " was written by a newer Turnpike: its format is version " +
                 std::to_string(header.version) + ", this Turnpike reads up to " + std::to_string(kFormatVersion) +
                 ". Update Turnpike."};
  }
  if (header.version == 0) {
    return Error{path.string() + " has a damaged header. Copy the run again from where it was made, or record again."};
  }
  return header;
}

struct Segment {
  std::uint64_t number;
  std::filesystem::path path;
};

// "4711.000012.tps" beside "4711.tpt", by number.
std::vector<Segment> segments_of(const std::filesystem::path& path) {
  constexpr std::size_t kMostDigits = 18;
  const std::string stem = path.stem().string() + ".";
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::vector<Segment> segments;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto& found = entry->path();
    const std::string name = found.stem().string();
    if (found.extension() != kSegmentExtension || !name.starts_with(stem)) continue;
    const std::string digits = name.substr(stem.size());
    const bool is_number = digits.size() >= kSegmentDigits && digits.size() <= kMostDigits &&
                           digits.find_first_not_of("0123456789") == std::string::npos;
    if (is_number) segments.push_back({std::stoull(digits), found});
  }
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) { return a.number < b.number; });
  // A process that was killed when it had just made the file of its next segment: nothing was in it yet.
  if (segments.size() > 1 && std::filesystem::file_size(segments.back().path, error) == 0) segments.pop_back();
  return segments;
}

// False: it is no trace, or of another process.
bool decode_segment(const Segment& segment, const FileHeader& of_file, bool is_first, bool is_older_gone,
                    Decoder& decoder) {
  auto opened = open_file(segment.path);
  if (!opened) return false;
  const auto& [file, file_bytes] = *opened;
  const auto header = read_header(file.descriptor(), segment.path);
  if (!header || header->pid != of_file.pid) return false;
  decoder.begin_segment(*header, is_first, is_older_gone);
  ChunkReader chunks(file.descriptor(), file_bytes, sizeof(FileHeader), sizeof(FileHeader));
  for (Chunk chunk; chunks.next(chunk);) decoder.decode(chunk);
  if (chunks.read_errno() != 0) decoder.count_loss(Loss::kMissingSegment, 1);
  decoder.count_loss(Loss::kDamagedBytes, chunks.damaged_bytes());
  return true;
}

// Those that are older than the first were deleted when their time was over; between two there must be no gap.
void decode_segments(const std::filesystem::path& path, const FileHeader& header, Decoder& decoder) {
  std::uint64_t next_number = 0;
  for (const Segment& segment : segments_of(path)) {
    const bool is_first = next_number == 0;
    if (!is_first && segment.number < next_number) continue;  // the same number, written in two ways
    if (!is_first && segment.number > next_number) {
      decoder.count_loss(Loss::kMissingSegment, segment.number - next_number);
    }
    if (!decode_segment(segment, header, is_first, segment.number > 1, decoder)) {
      decoder.count_loss(Loss::kMissingSegment, 1);
      if (is_first) continue;
    }
    next_number = segment.number + 1;
  }
  if (next_number == 0) decoder.count_loss(Loss::kMissingSegment, 1);
}

}  // namespace

Result<Process> read_file(const std::filesystem::path& path, RecordSink& sink, const Progress& progress) {
  auto opened = open_file(path);
  if (!opened) return opened.error();
  const auto& [file, file_bytes] = *opened;
  const auto header = read_header(file.descriptor(), path);
  if (!header) return header.error();

  Decoder decoder(sink);
  const std::uint32_t claimed = header->header_bytes;
  const bool is_plausible = claimed >= sizeof(FileHeader) && claimed <= kMaxHeaderBytes && claimed % 8 == 0;
  if (!is_plausible) decoder.count_loss(Loss::kDamagedBytes, sizeof claimed);
  ChunkReader chunks(file.descriptor(), file_bytes, sizeof(FileHeader), is_plausible ? claimed : sizeof(FileHeader));
  std::uint64_t reported_bytes = 0;
  for (Chunk chunk; chunks.next(chunk);) {
    decoder.decode(chunk);
    if (progress && chunks.offset() - reported_bytes >= kProgressStepBytes) {
      reported_bytes = chunks.offset();
      progress(reported_bytes, file_bytes);
    }
  }
  if (chunks.read_errno() != 0) return cannot_read(path, chunks.read_errno());
  decoder.count_loss(Loss::kDamagedBytes, chunks.damaged_bytes());
  if (decoder.process().metadata.contains(kLastMetadata)) decode_segments(path, *header, decoder);
  if (progress) progress(file_bytes, file_bytes);

  Process process = decoder.finish();
  process.path = path.string();
  process.pid = header->pid;
  process.parent_pid = header->parent_pid;
  if (is_possible_time(header->start_realtime_ns)) process.start_realtime_ns = header->start_realtime_ns;
  return process;
}

Result<std::vector<std::filesystem::path>> run_files(const std::filesystem::path& run) {
  std::error_code error;
  const auto status = std::filesystem::status(run, error);
  if (!std::filesystem::exists(status)) return cannot_read(run, error ? error.value() : ENOENT);
  if (!std::filesystem::is_directory(status)) return std::vector{run};

  std::vector<std::filesystem::path> files;
  std::filesystem::directory_iterator entry(run, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const auto kind = entry->status(ignored).type();
    // A link whose file is missing is a part of the run that cannot be read.
    const bool is_file = kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found;
    if (entry->path().extension() == kFileExtension && is_file) files.push_back(entry->path());
  }
  if (error) return cannot_read(run, error.value());
  if (files.empty()) {
    return Error{run.string() + " holds no trace files (*" + kFileExtension +
                 "). Either it is no run of Turnpike, or no process of the recorded program used CUDA."};
  }
  // By name, numbers in it by value: rank 2 before rank 10.
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return ::strverscmp(a.c_str(), b.c_str()) < 0; });
  return files;
}

}  // namespace turnpike::trace
