// What the programs share that write traces for benchmarks.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "trace/writer.h"

namespace turnpike::bench {

// Entries of definitions begin at multiples of eight bytes.
inline void pad(std::string& bytes) {
  bytes.resize((bytes.size() + 7) / 8 * 8);
}

template <typename Structure>
void append(std::string& bytes, const Structure& structure) {
  bytes.append(reinterpret_cast<const char*>(&structure), sizeof structure);
}

// A new trace. What cannot be written ends the program.
class TraceFile {
 public:
  TraceFile(const char* path, const trace::FileHeader& header) : path_(path) {
    std::filesystem::remove(path);
    if (!writer_.open(path, header)) fail();
  }
  void chunk(trace::ChunkType type, const std::string& payload) {
    if (!payload.empty() && !writer_.append(type, payload.data(), payload.size())) fail();
  }

 private:
  [[noreturn]] void fail() const {
    std::perror(path_.c_str());
    std::exit(1);
  }

  std::string path_;
  trace::Writer writer_;
};

}  // namespace turnpike::bench
