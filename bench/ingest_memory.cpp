// Reads a trace and analyzes it as `turnpike report` does, and prints how much memory that takes beside what is kept.
//
//     ingest_memory WARM_UP TRACE
//
// WARM_UP, a small trace, is analyzed first, so that the pages of the program itself count in none of the figures.
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "analyze/analyze.h"
#include "ingest/run_reader.h"

namespace {

using namespace turnpike;
using Path = std::filesystem::path;

std::size_t heap_bytes() {
  const auto use = mallinfo2();
  return use.uordblks + use.hblkhd;
}

// A field of /proc/self/status, such as "VmRSS:".
std::int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoll(line.substr(field.size())) * 1024;
  }
  return 0;
}

// VmHWM counts from here.
void forget_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

template <typename T>
std::size_t spare_bytes(const std::vector<T>& items) {
  return (items.capacity() - items.size()) * sizeof(T);
}

// What the vectors of records hold in reserve: it is taken and not kept.
std::size_t spare_bytes(const analyze::Timeline& timeline) {
  return spare_bytes(timeline.calls) + spare_bytes(timeline.transfers) + spare_bytes(timeline.kernels) +
         spare_bytes(timeline.ranges) + spare_bytes(timeline.contents) + spare_bytes(timeline.memory) +
         spare_bytes(timeline.samples);
}

// How much of the heap the records of a loaded trace take, with its names and stacks.
std::size_t loaded_bytes(const Path& path, const analyze::FileReader& reader) {
  const std::size_t before_bytes = heap_bytes();
  const auto run = analyze::load_run({path}, reader);
  if (!run) return 0;
  std::size_t bytes = heap_bytes() - before_bytes;
  for (const analyze::LoadedProcess& loaded : run->processes) bytes -= spare_bytes(loaded.timeline);
  return bytes;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: ingest_memory WARM_UP TRACE\n");
    return 2;
  }
  const Path warm_up = arguments[1];
  const Path trace = arguments[2];
  const analyze::FileReader reader{.kind_of = ingest::kind_of, .read = ingest::read_file};
  if (!analyze::analyze_run({warm_up}, reader)) return 3;

  forget_peak();
  const std::int64_t start_bytes = status_bytes("VmRSS:");
  std::int64_t read_bytes = 0;  // resident when the end of the file is reached
  const auto on_progress = [&](std::uint64_t done_bytes, std::uint64_t all_bytes) {
    if (done_bytes == all_bytes) read_bytes = status_bytes("VmRSS:");
  };
  const auto report = analyze::analyze_run({trace}, reader, {}, on_progress);
  if (!report) {
    std::fprintf(stderr, "%s\n", report.error().message.c_str());
    return 3;
  }
  const std::int64_t peak_bytes = status_bytes("VmHWM:");
  std::printf("{\"peak_bytes\": %lld, \"kept_while_reading_bytes\": %lld, \"kept_when_loaded_bytes\": %zu}\n",
              static_cast<long long>(peak_bytes - start_bytes), static_cast<long long>(read_bytes - start_bytes),
              loaded_bytes(trace, reader));
  return 0;
}
