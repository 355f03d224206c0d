// On which threads PyTorch evaluates backward passes: two ways to know them, for calls may lack what either needs.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyze/model/timeline.h"

namespace turnpike::analyze {

// PyTorch names the threads that it makes for them.
inline bool names_autograd_thread(std::string_view name) {
  return name.starts_with("pt_autograd");
}

// By what a thread does: more of its calls belong to backward passes than to forward passes.
class AutogradBalance {
 public:
  void add(const Call& call) {
    if (call.autograd_role == trace::AutogradRole::kBackward) ++more_backward_;
    if (call.autograd_role == trace::AutogradRole::kForward) --more_backward_;
  }
  bool is_autograd() const { return more_backward_ > 0; }

 private:
  std::int64_t more_backward_ = 0;
};

}  // namespace turnpike::analyze
