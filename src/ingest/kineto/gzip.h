// Unpacks gzip while it is read: a file of any size, in the memory of two small buffers.
#pragma once

#include <memory>

#include "ingest/kineto/byte_source.h"

namespace turnpike::ingest {

// What `packed` holds, unpacked: one gzip member or several in a row. Where the data is cut off or damaged, the
// unpacked bytes end, and damaged_bytes() of the file were not used. Bytes behind a whole member that are no further
// one are padding, and ignored as gzip does.
std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> packed);

}  // namespace turnpike::ingest
