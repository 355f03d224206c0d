// The names that cuptiGetCallbackName gives, from tables that CMake makes of CUPTI's headers.
#include "callback_names.h"

#include <map>

namespace turnpike::fake {
namespace {

using Names = std::map<std::uint32_t, const char*>;
const Names& runtime_names() {
  static const Names& names = *new Names{
#include "runtime_callback_names.inc"
  };
  return names;
}

const Names& driver_names() {
  static const Names& names = *new Names{
#include "driver_callback_names.inc"
  };
  return names;
}

}  // namespace

const char* callback_name(CUpti_CallbackDomain domain, std::uint32_t id) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return nullptr;
  const Names& names = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime_names() : driver_names();
  const auto found = names.find(id);
  return found == names.end() ? nullptr : found->second;
}

}  // namespace turnpike::fake
