// Stands for libtorch_cpu: the state of a thread that the engine of autograd takes along.
#include <map>
#include <memory>
#include <string>
#include <utility>

#define EXPORT __attribute__((visibility("default"), noinline))

namespace c10 {
struct SafePyObject {};
}  // namespace c10

namespace at::impl {

using Objects = std::map<std::string, std::shared_ptr<c10::SafePyObject>>;
thread_local Objects t_objects;

struct ThreadLocalPythonObjects {
  EXPORT static bool contains(const std::string& key);
  EXPORT static void set(const std::string& key, std::shared_ptr<c10::SafePyObject> value);
};
bool ThreadLocalPythonObjects::contains(const std::string& key) {
  return t_objects.contains(key);
}
void ThreadLocalPythonObjects::set(const std::string& key, std::shared_ptr<c10::SafePyObject> value) {
  t_objects[key] = std::move(value);
}

}  // namespace at::impl

// Runs on another thread with the state of the thread that calls this.
extern "C" EXPORT void* fake_state() {
  return new at::impl::Objects(at::impl::t_objects);
}
extern "C" EXPORT void fake_take_state(void* state) {
  at::impl::t_objects = *static_cast<at::impl::Objects*>(state);
  delete static_cast<at::impl::Objects*>(state);
}
