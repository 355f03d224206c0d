// The checksum as processors without the instruction compute it: the tests of crc32c_test.cpp run against it too.
#include <array>
#include <cstring>

#include "base/crc32c.h"

#undef __x86_64__
#include "base/crc32c.cpp"  // NOLINT(bugprone-suspicious-include)
