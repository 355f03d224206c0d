// What is known of the data that copies carried: what stood in the host memory and, where that was not recorded, where
// it stood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "analyze/rules/rule.h"
#include "trace/format.h"

namespace turnpike::analyze {

// Of two copies with the same content it is equal. A hash of many bytes may be one of a sample of them.
using ContentKey = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // hash, bytes, hashed bytes
ContentKey key_of(const trace::ContentRecord& content);

// What stood in the host memory of a call's copy; nullptr: not recorded, or the call made several copies.
const trace::ContentRecord* content_of(const ProcessModel& model, std::uint32_t call, trace::ContentSide side);

// The uploads of one place, and which of them carried what had gone up to the same device before, at this place or
// another.
struct Repeats {
  Selection uploads;
  Selection repeats;
  std::size_t distinct = 0;          // pieces of data among the uploads
  std::uint64_t bytes = 0;           // of all uploads
  std::uint64_t distinct_bytes = 0;  // of the pieces, each once
  bool is_by_content = false;        // false: by the address and the number of bytes alone, as no content was recorded
  bool is_sampled = false;           // some content was not hashed whole
  bool is_pinned = false;            // some came from page-locked memory, which programs fill again and again
  bool is_filled_by_gpu = false;     // some came from where a copy from the GPU had put its data
  bool is_built_anew = false;        // the same data came from several addresses, or from values of Python
};

class UploadHistory {
 public:
  explicit UploadHistory(const ProcessModel& model);

  Repeats repeats_at(const SiteCalls& site) const;

 private:
  using Key = std::tuple<std::uint32_t, ContentKey>;  // of a device

  Key key_at(std::uint32_t device, const trace::ContentRecord* content, const Call& call) const;

  const ProcessModel& model_;
  bool is_by_content_;
  std::set<std::uint64_t> filled_by_gpu_;  // addresses
  std::map<Key, std::uint32_t> first_;     // the first call, as an index of the timeline's, that uploaded it
};

// Whether the copy is of a tensor that the same line made of Python's values: torch.tensor([0.2, 0.8], device=device).
bool is_of_python_values(const ProcessModel& model, std::uint32_t call);

// " (by sample; ...)" where not everything was hashed, else "".
std::string doubt_of_sample(bool is_sampled);

}  // namespace turnpike::analyze
