// The names in an export of Nsight Systems: each text once, under a number that all of its processes share.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ingest/nsys/sqlite_file.h"
#include "trace/format.h"

namespace turnpike::ingest {

class NsysNames {
 public:
  // Keeps the reference.
  explicit NsysNames(SqliteFile& file);

  // The number of a text, cut where it is absurdly long.
  std::uint32_t intern(std::string_view text);
  // The number of what the table StringIds has under `id`; trace::kNoId when it has nothing there.
  std::uint32_t of_string_id(std::int64_t id);
  // "" for trace::kNoId.
  const std::string& text(std::uint32_t name) const;

 private:
  SqliteFile& file_;
  bool has_string_key_;
  std::deque<std::string> texts_;  // by number, from 1 on
  std::unordered_map<std::string_view, std::uint32_t> by_text_;
  std::unordered_map<std::int64_t, std::uint32_t> by_string_id_;
};

// The name of a function of the CUDA API without the version that Nsight Systems appends: cudaMemcpyAsync for
// cudaMemcpyAsync_v3020 and cudaMemcpyAsync_ptsz_v7000. cuMemcpyHtoD_v2 keeps the suffix, which is part of its name.
std::string_view without_api_version(std::string_view name);

}  // namespace turnpike::ingest
