// A module compiles in place; a function gets a decorator.
#include "analyze/rules/compiling_advice.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "analyze/model/metadata_words.h"

namespace turnpike::analyze {
namespace {

// Of nn.Module.compile(), which PyTorch has since 2.2. A version that is not known is a later one.
bool can_compile_in_place(const ProcessModel& model) {
  const std::string_view version = value_of(model.process(), "torch_version");
  const auto dot = std::min(version.find('.'), version.size());
  const auto major = number_in<int>(version.substr(0, dot));
  if (!major || dot == version.size()) return true;
  const std::string_view rest = version.substr(dot + 1);
  const auto minor = number_in<int>(rest.substr(0, rest.find('.')));
  return !minor || std::pair(*major, *minor) >= std::pair(2, 2);
}

std::string decorator_advice(const ProcessModel& model, const ModelCode& code) {
  const std::string decorator = "@torch.compile(mode=\"reduce-overhead\") above ";
  const auto named = [](const OwnFunction& function) { return function.name() + " (" + function.site() + ")"; };
  if (code.function) return decorator + "def " + named(*code.function);
  const auto most = innermost_launching_function(model);
  return decorator + "the function of a step" + (most ? ". Most launches come from " + named(*most) : "");
}

}  // namespace

std::string compiling_advice(const ProcessModel& model, const ModelCode& code) {
  if (!code.is_module) return decorator_advice(model, code) + ". It replays what the function launches as CUDA graphs";
  if (!can_compile_in_place(model)) {
    return "model = torch.compile(model, mode=\"reduce-overhead\"). It replays the model's passes as CUDA graphs";
  }
  // Dynamo skips the frames of torch.nn, and the forward of a Sequential is one.
  return "model.compile(mode=\"reduce-overhead\"), which is torch.compile in place. It replays the model's passes as "
         "CUDA graphs. Where the model itself is an nn.Sequential, its compile() does nothing: write "
         "model = torch.compile(model, mode=\"reduce-overhead\")";
}

}  // namespace turnpike::analyze
