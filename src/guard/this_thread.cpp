#include "guard/this_thread.h"

#include "base/hot.h"

namespace turnpike::guard {
namespace {

TURNPIKE_HOT_THREAD_DATA constinit thread_local ThisThread t_this;

}  // namespace

TURNPIKE_HOT ThisThread& this_thread() noexcept {
  return t_this;
}

}  // namespace turnpike::guard
