// What a thread does between two looks at memory that another, or a device, is about to write.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace turnpike::move {

inline void relax() {
#if defined(__SSE2__)
  _mm_pause();
#endif
}

}  // namespace turnpike::move
