#include "guard/this_thread.h"

#include <type_traits>

#include "base/hot.h"

namespace turnpike::guard {
namespace {

static_assert(std::is_trivially_destructible_v<ThisThread>);
TURNPIKE_HOT_THREAD_DATA constinit thread_local ThisThread t_this;

}  // namespace

TURNPIKE_HOT ThisThread& this_thread() noexcept {
  return t_this;
}

}  // namespace turnpike::guard
