// The recorder's library as Python controls it.
#include "python/recorder.h"

#include <dlfcn.h>
#include <limits.h>

#include <array>

#include "move/move.h"
#include "record/session.h"

namespace turnpike::python {
namespace {

// The library is ours and of the same build (the wheel holds both), so every name of session.h is there.
template <typename Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

Result<Recorder> Recorder::load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Error{std::string("The recorder could not be loaded: ") + dlerror()};
  for (const char* name :
       {"turnpike_start", "turnpike_stop", "turnpike_is_recording", "turnpike_file", "turnpike_keep"}) {
    if (dlsym(library, name) == nullptr) {
      return Error{path + " lacks " + name + ": it is of another version of Turnpike. Install the package again."};
    }
  }
  return Recorder(library);
}

Status Recorder::start(const record::Options& options) const {
  std::array<char, 1024> sentence{};
  const TurnpikeOptions given = record::to_c(options);
  const auto start = find<decltype(turnpike_start)>(library_, "turnpike_start");
  if (start(&given, sentence.data(), sentence.size()) != 0) return Error{sentence.data()};
  // It hears the labels of our copies although it was not there when the program started.
  move::Engine::show_labels_to(find<decltype(InitializeInjectionNvtx2)>(library_, "InitializeInjectionNvtx2"));
  return Status();
}

Result<std::string> Recorder::stop() const {
  std::array<char, 1024> sentence{};
  const auto stop = find<decltype(turnpike_stop)>(library_, "turnpike_stop");
  if (stop(sentence.data(), sentence.size()) != 0) return Error{sentence.data()};
  std::array<char, PATH_MAX> file{};
  find<decltype(turnpike_file)>(library_, "turnpike_file")(file.data(), file.size());
  return std::string(file.data());
}

Status Recorder::keep(const std::string& reason) const {
  std::array<char, 1024> sentence{};
  const auto keep = find<decltype(turnpike_keep)>(library_, "turnpike_keep");
  if (keep(reason.c_str(), sentence.data(), sentence.size()) != 0) return Error{sentence.data()};
  return Status();
}

bool Recorder::is_recording() const {
  return find<decltype(turnpike_is_recording)>(library_, "turnpike_is_recording")() != 0;
}

}  // namespace turnpike::python
