// Which files are read, and which of their lines are kept.
#include "record/stacks/recorded_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/source_text.h"
#include "trace/format.h"

namespace turnpike::record {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Lines = std::map<std::uint32_t, std::string>;

constexpr std::int64_t kHour = 3'600'000'000'000;

std::string numbered(std::uint32_t count) {
  std::string text;
  for (std::uint32_t line = 1; line <= count; ++line) text += "line " + std::to_string(line) + "\n";
  return text;
}

class RecordedSourceTest : public testing::Test {
 protected:
  RecordedSourceTest() {
    std::string pattern = (fs::temp_directory_path() / "recorded_source-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~RecordedSourceTest() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  void note(const std::string& file, std::uint32_t line) {
    names_.push_back(file);
    trace::FrameEntry frame{};
    frame.kind = trace::FrameKind::kPython;
    frame.file = static_cast<std::uint32_t>(names_.size());
    frame.line = line;
    source_.note_frames(std::as_bytes(std::span(&frame, 1)));
  }
  // What is read now.
  SourceText read() {
    SourceText text;
    const auto payload = source_.read([&](std::uint32_t id) { return std::string_view(names_.at(id - 1)); });
    for (std::size_t at = 0; at < payload.size();) {
      trace::SourceTextEntry entry;
      std::memcpy(&entry, payload.data() + at, sizeof entry);
      at += sizeof entry;
      text.add(names_.at(entry.file - 1), {reinterpret_cast<const char*>(entry.sha256), sizeof entry.sha256},
               entry.first_line, {reinterpret_cast<const char*>(payload.data() + at), entry.bytes});
      at += (entry.bytes + std::size_t{7}) & ~std::size_t{7};
    }
    return text;
  }
  // Whether anything is read of a file, of which line 1 is noted.
  bool is_read(const std::string& file) {
    note(file, 1);
    return !read().files().empty();
  }

  fs::path folder_;
  std::vector<std::string> names_;
  RecordedSource source_{realtime_ns() + kHour};
};

TEST_F(RecordedSourceTest, HasFourLinesOnEachSide) {
  const std::string file = write("train.py", numbered(100));
  note(file, 50);
  const SourceText text = read();
  const Lines lines = text.lines(file, 1, 1000);
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(lines.begin()->first, 46u);
  EXPECT_EQ(lines.at(50), "line 50");
  const auto hash = sha256(numbered(100));
  EXPECT_EQ(text.files().at(file).begin()->first.first, std::string(hash.begin(), hash.end())) << "of the whole file";
  EXPECT_EQ(source_.summary(), "files=1");
}

TEST_F(RecordedSourceTest, EndsWithTheFile) {
  const std::string file = write("train.py", "a\nb\nc");
  note(file, 2);
  EXPECT_EQ(read().lines(file, 1, 1000), (Lines{{1, "a"}, {2, "b"}, {3, "c"}}));
  note(file, 4);
  EXPECT_TRUE(read().lines(file, 4, 1000).empty());
  EXPECT_FALSE(is_read(write("empty.py", "")));
}

TEST_F(RecordedSourceTest, LeavesOutWhatStandsFarFromALine) {
  const std::string file = write("train.py", numbered(200));
  trace::FrameEntry frames[4]{};
  const std::uint32_t lines[4] = {150, 10, 26, 43};
  names_.push_back(file);
  for (int i = 0; i < 4; ++i) {
    frames[i].kind = trace::FrameKind::kPython;
    frames[i].file = 1;
    frames[i].line = lines[i];
  }
  source_.note_frames(std::as_bytes(std::span(frames)));
  const Lines found = read().lines(file, 1, 1000);
  EXPECT_EQ(found.size(), 25u + 9u + 9u) << "6 to 30 without a gap, 39 to 47, 146 to 154";
  EXPECT_TRUE(found.contains(18));
  EXPECT_FALSE(found.contains(35));
}

TEST_F(RecordedSourceTest, ReadsAgainOnlyWhatIsNew) {
  const std::string file = write("train.py", numbered(100));
  note(file, 50);
  EXPECT_FALSE(read().files().empty());
  EXPECT_TRUE(read().files().empty());
  note(file, 80);
  EXPECT_EQ(read().line(file, 80), "line 80");
}

TEST_F(RecordedSourceTest, OnlyFilesOfPythonAreRead) {
  EXPECT_FALSE(is_read(write("secret", "a\n")));
  EXPECT_FALSE(is_read(write("secret.pyc", "a\n")));
  EXPECT_FALSE(is_read(write(".env", "a\n")));
  EXPECT_TRUE(is_read(write("train.py", "a\n")));
}

TEST_F(RecordedSourceTest, OfPackagesAndGeneratedCodeNothingIsRead) {
  EXPECT_FALSE(is_read(write("site-packages/torch/nn.py", "a\n")));
  EXPECT_FALSE(is_read(write("dist-packages/torch/nn.py", "a\n")));
  EXPECT_FALSE(is_read(write("lib/python3.12/runpy.py", "a\n")));
  EXPECT_FALSE(is_read(write("wz/cwzza3ckbmsqvmqkh2ctltr6jqzzbfdtsvr4xqgs5n2qwyadrbqg.py", "a\n")));
  EXPECT_EQ(source_.summary(), "files=0");
}

TEST_F(RecordedSourceTest, NamesThatAreNoFilesAreNotRead) {
  const fs::path before = fs::current_path();
  write("train.py", "a\n");
  fs::current_path(folder_);
  for (const char* name : {"train.py", "./train.py", "<string>", "", "<ipython-input-1>.py"})
    EXPECT_FALSE(is_read(name));
  fs::current_path(before);
  EXPECT_EQ(source_.summary(), "files=0");
  EXPECT_FALSE(is_read(folder_ / "missing.py"));
  EXPECT_EQ(source_.summary(), "files=0 unreadable=1");
}

TEST_F(RecordedSourceTest, DoesNotWaitForAPipeOrReadADevice) {
  const std::string pipe = folder_ / "pipe.py";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", folder_ / "zero.py");
  fs::create_directories(folder_ / "folder.py");
  for (const char* name : {"pipe.py", "zero.py", "folder.py"}) EXPECT_FALSE(is_read(folder_ / name)) << name;
  EXPECT_EQ(source_.summary(), "files=0 unreadable=3");
}

TEST_F(RecordedSourceTest, AFileThatChangedSinceTheProgramStartedIsLeftOut) {
  const std::string file = write("train.py", "a\n");
  source_ = RecordedSource(realtime_ns() - kHour);
  EXPECT_FALSE(is_read(file));
  EXPECT_EQ(source_.summary(), "files=0 changed=1");
  // With the times of the file that it replaced.
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_FALSE(is_read(file));
}

TEST_F(RecordedSourceTest, WhatIsNoTextOrTooLargeIsLeftOut) {
  EXPECT_FALSE(is_read(write("latin1.py", "caf\xe9\n")));
  EXPECT_FALSE(is_read(write("zeros.py", std::string("a\0b\n", 4))));
  EXPECT_TRUE(is_read(write("utf8.py", "caf\xc3\xa9\n")));
  EXPECT_FALSE(is_read(write("large.py", std::string((1 << 20) + 1, 'x'))));
  EXPECT_TRUE(is_read(write("one_mib.py", std::string(1 << 20, 'x'))));
  EXPECT_EQ(source_.summary(), "files=2 large=1 not_text=2");
}

TEST_F(RecordedSourceTest, KeepsFourMiBAtMost) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(is_read(write("a" + std::to_string(i) + ".py", std::string(1 << 20, 'x'))));
  EXPECT_FALSE(is_read(write("b.py", "a\n")));
  EXPECT_EQ(source_.summary(), "files=4 no_room=1");
}

TEST_F(RecordedSourceTest, ReadsNothingWhereNoneIsWanted) {
  source_ = RecordedSource(trace::kUnknownTime);
  EXPECT_FALSE(is_read(write("train.py", "a\n")));
  EXPECT_EQ(source_.summary(), "off");
}

}  // namespace
}  // namespace turnpike::record
