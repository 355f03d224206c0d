// The number by which PyTorch ties a backward node to the forward operation that made it, for the calling thread.
#include "record/stacks/autograd.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/loaded_modules.h"
#include "base/own_descriptor.h"

namespace turnpike::record {
namespace {

// torch::autograd::Node begins with its vtable pointer and std::enable_shared_from_this (16 bytes); sequence_nr_ is its
// first own member, in every 2.x so far (torch/csrc/autograd/function.h, "protected: uint64_t sequence_nr_").
constexpr std::size_t kNodeSequence = 24;
constexpr char kUnderstoodMajor = '2';

struct Autograd {
  std::uint64_t (*next_sequence)();         // at::sequence_number::peek
  std::shared_ptr<void> (*current_node)();  // torch::autograd::get_current_node
};
Autograd g_autograd;  // written by the one thread that set kLooking, before kFound
enum State : int { kNone, kLooking, kFound, kNotUsable };
std::atomic<int> g_state{kNone};

struct Path {
  char text[PATH_MAX];
};

int find_libtorch(dl_phdr_info* info, std::size_t, void* data) noexcept {
  constexpr std::string_view kName = "/libtorch_cpu.so";
  const std::string_view path(info->dlpi_name == nullptr ? "" : info->dlpi_name);
  auto& found = *static_cast<Path*>(data);
  if (!path.ends_with(kName) || path.size() >= sizeof found.text) return 0;
  std::memcpy(found.text, path.data(), path.size());
  found.text[path.size()] = '\0';
  return 1;
}

// Whether the text file `name` in the folder above the library's has `before` followed by a known major version.
bool says_understood(std::string_view library, std::string_view name, std::string_view before) noexcept {
  Path path;
  const std::string_view folder = library.substr(0, library.rfind('/'));
  const std::size_t parent_size = folder.rfind('/');
  if (parent_size == std::string_view::npos || parent_size + name.size() >= sizeof path.text) return false;
  std::memcpy(path.text, folder.data(), parent_size);
  std::memcpy(path.text + parent_size, name.data(), name.size());
  path.text[parent_size + name.size()] = '\0';
  OwnDescriptor file = OwnDescriptor::open(path.text, O_RDONLY);
  if (!file.is_open()) return false;
  char text[1024];
  const ssize_t size = read(file.number(), text, sizeof text);
  file.close();
  if (size <= 0) return false;
  const std::string_view content(text, static_cast<std::size_t>(size));
  const std::size_t at = content.find(before);
  if (at == std::string_view::npos) return false;
  const std::string_view version = content.substr(at + before.size());
  return version.size() > 1 && version[0] == kUnderstoodMajor && version[1] == '.';
}

bool is_understood(std::string_view library) noexcept {
  // The Python package says it in one file, the C++ distribution in the other.
  return says_understood(library, "/version.py", "__version__ = '") || says_understood(library, "/build-version", "");
}

int look() noexcept {
  Path library;
  if (for_each_module(find_libtorch, &library) == 0) return kNone;
  if (!is_understood(library.text)) return kNotUsable;
  // Python loads PyTorch RTLD_LOCAL: its symbols are found only through its own handle.
  void* handle = dlopen(library.text, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return kNone;
  g_autograd.next_sequence = reinterpret_cast<std::uint64_t (*)()>(dlsym(handle, "_ZN2at15sequence_number4peekEv"));
  g_autograd.current_node =
      reinterpret_cast<std::shared_ptr<void> (*)()>(dlsym(handle, "_ZN5torch8autograd16get_current_nodeEv"));
  // The handle is kept: PyTorch cannot be unloaded while its functions are held.
  if (g_autograd.next_sequence != nullptr && g_autograd.current_node != nullptr) return kFound;
  dlclose(handle);
  return kNotUsable;
}

}  // namespace

void find_autograd() noexcept {
  int state = kNone;
  if (g_state.compare_exchange_strong(state, kLooking, std::memory_order_acquire)) {
    g_state.store(look(), std::memory_order_release);
  }
}

AutogradMark autograd_mark() noexcept {
  if (g_state.load(std::memory_order_acquire) != kFound) return {trace::AutogradRole::kUnknown, 0};
  if (const std::shared_ptr<void> node = g_autograd.current_node()) {
    std::uint64_t sequence = 0;
    std::memcpy(&sequence, static_cast<const char*>(node.get()) + kNodeSequence, sizeof sequence);
    return {trace::AutogradRole::kBackward, sequence};
  }
  return {trace::AutogradRole::kForward, g_autograd.next_sequence()};
}

}  // namespace turnpike::record
