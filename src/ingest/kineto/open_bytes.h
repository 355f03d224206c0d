// Opens a file as a stream of bytes, plain or gzipped.
#pragma once

#include <filesystem>
#include <memory>

#include "ingest/kineto/byte_source.h"

namespace turnpike::ingest {

// A regular file, unpacked when it starts as gzip does.
Result<std::unique_ptr<ByteSource>> open_bytes(const std::filesystem::path& path);

}  // namespace turnpike::ingest
