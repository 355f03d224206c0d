#include "guard/native_frames.h"

#include <dlfcn.h>
#include <unwind.h>

#include <unordered_map>
#include <utility>

#include "base/operator_name.h"
#include "guard/landing.h"
#include "guard/tables_mutex.h"
#include "record/stacks/loaded_module.h"

namespace turnpike::guard {
namespace {

constexpr int kMaxFrames = 128;

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool has(std::uintptr_t address) const { return address >= begin && address < end; }
};

const Range& own_range() {
  static const Range range = [] {
    record::LoadedModule module;
    const auto here = reinterpret_cast<std::uintptr_t>(&look_at_native_frames);
    return record::find_module(here, module) ? Range{module.mapped_begin, module.mapped_end} : Range{};
  }();
  return range;
}

// The operator whose function begins at `function`. dladdr searches all names of a library of PyTorch: once each.
const std::string& operator_at(void* function) {
  static auto& operators = *new std::unordered_map<void*, std::string>;  // threads may outlive main
  {
    const std::lock_guard lock(tables_mutex());
    if (const auto known = operators.find(function); known != operators.end()) return known->second;
  }
  std::string name;
  Dl_info info{};
  if (dladdr(function, &info) != 0 && info.dli_sname != nullptr) {
    if (const auto structure = operator_structure(info.dli_sname)) name = operator_name(*structure);
  }
  const std::lock_guard lock(tables_mutex());
  return operators.try_emplace(function, std::move(name)).first->second;
}

struct Walk {
  std::uintptr_t evaluator;
  NativeFrames found;
  bool is_decided = false;
  bool is_outside = false;  // of this library
  int count = 0;
};

void decide(Walk& walk, Landing landing) {
  if (walk.is_decided || landing == Landing::kPasses) return;
  walk.is_decided = true;
  walk.found.leaving = landing == Landing::kCatches ? Leaving::kCaught : Leaving::kTerminates;
}

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  int is_before = 0;
  const auto address = static_cast<std::uintptr_t>(_Unwind_GetIPInfo(context, &is_before)) - (is_before != 0 ? 0 : 1);
  if (!walk.is_outside && own_range().has(address)) return _URC_NO_REASON;
  walk.is_outside = true;
  if (++walk.count > kMaxFrames) return _URC_END_OF_STACK;
  if (walk.evaluator != 0 && static_cast<std::uintptr_t>(_Unwind_GetCFA(context)) > walk.evaluator && walk.is_decided) {
    return _URC_END_OF_STACK;
  }
  const auto function = static_cast<std::uintptr_t>(_Unwind_GetRegionStart(context));
  if (const auto* table =
          static_cast<const unsigned char*>(reinterpret_cast<const void*>(_Unwind_GetLanguageSpecificData(context)))) {
    decide(walk, landing_at(table, function, address));
  }
  const bool is_below_line =
      walk.evaluator == 0 || static_cast<std::uintptr_t>(_Unwind_GetCFA(context)) <= walk.evaluator;
  if (is_below_line && function != 0) {
    const std::string& name = operator_at(reinterpret_cast<void*>(function));
    if (!name.empty()) walk.found.op = name;
  }
  return _URC_NO_REASON;
}

}  // namespace

NativeFrames look_at_native_frames(std::uintptr_t evaluator) {
  Walk walk{.evaluator = evaluator, .found = {}};
  _Unwind_Backtrace(visit, &walk);
  return walk.found;
}

}  // namespace turnpike::guard
