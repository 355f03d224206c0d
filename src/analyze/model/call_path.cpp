// Tells libraries from the program by their files, and wrappers by files and names.
#include "analyze/model/call_path.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "analyze/model/symbols.h"
#include "base/compiled_file.h"
#include "base/file_line.h"

namespace turnpike::analyze {
namespace {

constexpr std::string_view kLibraryNames[] = {
#include "analyze/model/library_names.inc"
};

// Files and folders inside of packages whose functions only hand on a call.
struct WrapperPlace {
  std::string_view library;
  std::string_view path;  // a folder when it ends with a slash
};
constexpr std::array kWrapperPlaces = {
    WrapperPlace{"torch", "_tensor.py"},
    WrapperPlace{"torch", "_ops.py"},
    WrapperPlace{"torch", "_compile.py"},
    WrapperPlace{"torch", "_jit_internal.py"},
    WrapperPlace{"torch", "_utils.py"},
    WrapperPlace{"torch", "_dynamo/"},
    WrapperPlace{"torch", "amp/autocast_mode.py"},
    WrapperPlace{"torch", "autograd/"},
    WrapperPlace{"torch", "cuda/"},
    WrapperPlace{"torch", "functional.py"},
    WrapperPlace{"torch", "jit/"},
    WrapperPlace{"torch", "nn/functional.py"},
    WrapperPlace{"torch", "nn/modules/"},
    WrapperPlace{"torch", "optim/optimizer.py"},
    WrapperPlace{"torch", "overrides.py"},
    WrapperPlace{"torch", "storage.py"},
    WrapperPlace{"torch", "utils/_contextlib.py"},
    WrapperPlace{"torch", "utils/_device.py"},
    WrapperPlace{"turnpike", "_move/"},
    WrapperPlace{"contextlib", ""},
    WrapperPlace{"functools", ""},
    WrapperPlace{"importlib", ""},
    WrapperPlace{"runpy", ""},
    WrapperPlace{"threading", ""},
};

// As decorators name the function that they put around another one.
constexpr std::array<std::string_view, 5> kWrapperNames = {".<locals>.wrapper", ".<locals>.wrapped",
                                                           ".<locals>.wrapped_fn", ".<locals>.wrapped_func",
                                                           ".<locals>.decorate_context"};

// What stands behind `folder` in `path`; empty where it is not in it.
std::string_view below(std::string_view path, std::string_view folder) {
  const auto at = path.rfind(folder);
  return at == std::string_view::npos ? std::string_view() : path.substr(at + folder.size());
}

// .../lib/python3.12/...
std::string_view below_standard_library(std::string_view path) {
  constexpr std::string_view kFolder = "/lib/python3.";
  const auto at = path.find(kFolder);
  if (at == std::string_view::npos) return {};
  const auto version_end = path.find_first_not_of("0123456789t", at + kFolder.size());
  const bool is_folder =
      version_end != std::string_view::npos && version_end > at + kFolder.size() && path[version_end] == '/';
  return is_folder ? path.substr(version_end + 1) : std::string_view();
}

LibraryFile split(std::string_view path) {
  const auto slash = path.find('/');
  if (slash != std::string_view::npos) return {path.substr(0, slash), path.substr(slash + 1)};
  const std::string_view name = path.ends_with(".py") ? path.substr(0, path.size() - 3) : path;
  return {name, path};
}

// torch.profiler shortens paths by the folders that Python imports from: "torch/optim/adam.py", "threading.py".
LibraryFile shortened_library_file(std::string_view path) {
  if (path.starts_with('/')) return {};
  const LibraryFile file = split(path);
  const bool is_known = std::binary_search(std::begin(kLibraryNames), std::end(kLibraryNames), file.library);
  return is_known ? file : LibraryFile{};
}

bool is_wrapper_place(const LibraryFile& file) {
  return std::any_of(kWrapperPlaces.begin(), kWrapperPlaces.end(), [&](const WrapperPlace& place) {
    return file.library == place.library &&
           (place.path.empty() ||
            (place.path.ends_with('/') ? file.path.starts_with(place.path) : file.path == place.path));
  });
}

bool has_wrapper_name(std::string_view function) {
  return std::any_of(kWrapperNames.begin(), kWrapperNames.end(),
                     [=](std::string_view name) { return function.ends_with(name); });
}

}  // namespace

LibraryFile library_file(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (const auto path = below(file, folder); !path.empty()) return split(path);
  }
  if (file.starts_with("<frozen ")) return {"importlib", file};
  if (is_compiled_file(file)) return {"torch", file};
  // Our own calls, wherever they are installed.
  constexpr std::string_view kOwnFolder = "/turnpike/_move/";
  if (const auto at = file.find(kOwnFolder); at != std::string_view::npos) return split(file.substr(at + 1));
  if (const auto path = below_standard_library(file); !path.empty()) return split(path);
  return shortened_library_file(file);
}

bool is_wrapper(const trace::Frame& frame) {
  if (is_compiled_file(frame.file)) return true;
  const LibraryFile file = library_file(frame.file);
  if (!file.library.empty()) return is_wrapper_place(file) || has_wrapper_name(frame.function);
  // What dataclasses writes.
  return frame.file == "<string>" && frame.function.starts_with("__create_fn__");
}

bool is_on_path(const trace::Frame& frame) {
  return frame.kind == trace::FrameKind::kPython && !is_wrapper(frame);
}

PathFrame path_frame(const trace::Frame& frame) {
  const LibraryFile file = library_file(frame.file);
  PathFrame made{.site = {}, .library = std::string(file.library), .file = frame.file, .function = frame.function};
  made.site = file.library.empty() ? std::string(file_name_of(frame.file))
                                   : std::string(file.library) + ": " + std::string(file.path);
  if (frame.line != 0) {
    made.site += ':' + std::to_string(frame.line);
  } else if (!frame.function.empty()) {
    made.site += " (" + frame.function + ')';
  }
  if (frame.is_compiled) made.site += kCompiledMark;
  return made;
}

}  // namespace turnpike::analyze
