// The doors of the library: what the driver, NVTX, the command line and Python call. No exception leaves here.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "record/control.h"
#include "record/endings.h"
#include "record/observe/call_listener.h"
#include "record/recorder.h"
#include "record/session.h"

using turnpike::record::Options;
using turnpike::record::Recorder;

namespace {

void copy_text(const std::string& text, char* to, uint64_t bytes) {
  if (to == nullptr || bytes == 0) return;
  std::snprintf(to, bytes, "%s", text.c_str());
}

bool is_dormant() {
  const char* control = std::getenv(TURNPIKE_ENV_CONTROL);
  return control != nullptr && std::strcmp(control, "1") == 0;
}

// What the driver's call is for. False: `error` says what could not be done.
bool begin(const Options& options, std::string& error) {
  using namespace turnpike::record;
  if (!options.run_directory.empty()) {
    if (start_and_watch_endings(options, error)) return true;
    error = "is not recorded: " + error;
  } else if (is_dormant()) {
    if (wait_for_attach(error)) return true;
    error = "cannot be attached to: " + error;
  }
  return error.empty();
}

}  // namespace

#define TURNPIKE_EXPORT extern "C" __attribute__((visibility("default")))

TURNPIKE_EXPORT int InitializeInjection(void) {
  // The driver calls this once per process; programs that load several CUDA tools have been seen to call it again.
  static std::atomic<bool> is_called{false};
  if (is_called.exchange(true)) return 1;
  try {
    Options options = turnpike::record::options_from_environment();
    options.is_from_the_start = true;
    std::string error;
    if (!begin(options, error) && !options.is_quiet) {
      std::fprintf(stderr, "turnpike: process %d %s\n", static_cast<int>(getpid()), error.c_str());
    }
  } catch (...) {
  }
  return 1;  // anything else makes the driver refuse to start
}

TURNPIKE_EXPORT int InitializeInjectionNvtx2(void* get_export_table) {
  try {
    if (!turnpike::record::NvtxObserver::install(Recorder::instance().nvtx(), get_export_table)) return 0;
    Recorder::instance().note_nvtx_listens();
    return 1;
  } catch (...) {
    return 0;
  }
}

TURNPIKE_EXPORT int turnpike_wait(char* error_text, uint64_t error_bytes) {
  std::string error;
  try {
    Recorder::instance().note_loaded_late();
    if (turnpike::record::wait_for_attach(error)) {
      copy_text("", error_text, error_bytes);
      return 0;
    }
  } catch (...) {
    error = "there is no memory to wait for `turnpike attach`";
  }
  copy_text(error, error_text, error_bytes);
  return -1;
}

TURNPIKE_EXPORT int turnpike_start(const TurnpikeOptions* given, char* error_text, uint64_t error_bytes) {
  std::string error;
  try {
    // Programs that were built when `source` was not there yet give less, and mean 0.
    constexpr std::size_t kLeastBytes = offsetof(TurnpikeOptions, source);
    if (given == nullptr || given->struct_bytes < kLeastBytes || given->run_directory == nullptr) {
      error = "turnpike_start was called with options of another version";
    } else {
      TurnpikeOptions whole{};
      std::memcpy(&whole, given, std::min<std::size_t>(given->struct_bytes, sizeof whole));
      Options options = turnpike::record::from_c(whole);
      options.has_note = false;  // the caller hears it
      if (turnpike::record::start_and_watch_endings(options, error)) {
        copy_text("", error_text, error_bytes);
        return 0;
      }
    }
  } catch (...) {
    error = "there is no memory to start recording";
  }
  copy_text(error, error_text, error_bytes);
  return -1;
}

TURNPIKE_EXPORT int turnpike_stop(char* error_text, uint64_t error_bytes) {
  std::string error;
  try {
    if (Recorder::instance().stop(error)) return 0;
  } catch (...) {
    error = "there is no memory to stop recording";
  }
  copy_text(error, error_text, error_bytes);
  return -1;
}

TURNPIKE_EXPORT int turnpike_keep(const char* reason, char* error_text, uint64_t error_bytes) {
  std::string error;
  try {
    if (Recorder::instance().keep(reason == nullptr ? "" : reason, error)) {
      copy_text("", error_text, error_bytes);
      return 0;
    }
  } catch (...) {
    error = "there is no memory to keep the recording";
  }
  copy_text(error, error_text, error_bytes);
  return -1;
}

TURNPIKE_EXPORT int turnpike_is_recording(void) {
  return Recorder::instance().is_recording() ? 1 : 0;
}

TURNPIKE_EXPORT void turnpike_file(char* path, uint64_t path_bytes) {
  try {
    copy_text(Recorder::instance().file(), path, path_bytes);
  } catch (...) {
    copy_text("", path, path_bytes);
  }
}

TURNPIKE_EXPORT void turnpike_status(TurnpikeStatus* status) {
  if (status != nullptr) *status = Recorder::instance().status();
}

TURNPIKE_EXPORT void turnpike_listen(TurnpikeListener listener) {
  turnpike::record::set_call_listener(listener);
}
