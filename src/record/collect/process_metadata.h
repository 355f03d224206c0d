// Who this process is: the pairs of text at the head of its trace.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cuda/cupti.h"
#include "record/options.h"

namespace turnpike::record {

using Metadata = std::map<std::string, std::string>;

// Everything that is known without CUPTI. Reads /proc and the environment; never runs Python code.
Metadata describe_process(const Options& options);
// The versions of what is loaded by now; call it again later, more may be. It enters the loader.
void add_versions(Metadata& metadata, const cuda::Cupti* cupti);

// As the payload of a kMetadata chunk.
std::vector<std::byte> encode(const Metadata& metadata);

// The name of this process's file: its rank, when it has one, and its id, e.g. "rank3-4711.tpt". `attempt` > 1 makes
// another.
std::string trace_file_name(int attempt);

}  // namespace turnpike::record
