// Stands for libtorch_cpu and libtorch_cuda: operators that call libcudart through slots, and, as PyTorch does, give
// the GIL back for them and turn a C++ exception into a Python one. Python calls it by ctypes.PyDLL.
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

extern "C" {
// libcudart
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*);
int cudaMemcpy(void*, const void*, std::size_t, int);
int cudaStreamSynchronize(void*);
int cudaEventSynchronize(void*);
int cudaDeviceSynchronize();
int cudaMalloc(void**, std::size_t);
int cudaFree(void*);
void* fake_gpu(int device);
void* fake_pinned();
// CPython
struct PyObject;
PyObject* PyLong_FromLong(long);
void PyErr_SetString(PyObject*, const char*);
void* PyEval_SaveThread();
void PyEval_RestoreThread(void*);
extern PyObject* PyExc_RuntimeError;
}

#define EXPORT __attribute__((visibility("default"), noinline))

namespace c10 {
struct SafePyObject {};
}  // namespace c10

namespace at {
namespace impl {
// The state of a thread that the engine of autograd takes along.
thread_local std::map<std::string, std::shared_ptr<c10::SafePyObject>> t_objects;
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
}  // namespace impl

namespace _ops {
struct item {
  EXPORT static int call(int);
};
int item::call(int) {
  int value = 0;
  cudaMemcpyAsync(&value, fake_gpu(0), sizeof value, 2, nullptr);
  const int result = cudaStreamSynchronize(nullptr);
  asm volatile("");  // no tail call: its frame names the operator
  return result;
}
struct to_dtype_layout {
  EXPORT static int call(std::size_t bytes, bool is_pinned);
};
int to_dtype_layout::call(std::size_t bytes, bool is_pinned) {
  static char pageable[1 << 20];
  const void* from = is_pinned ? fake_pinned() : pageable;
  const int result = cudaMemcpyAsync(fake_gpu(0), from, bytes, 1, reinterpret_cast<void*>(7));
  asm volatile("");
  return result;
}
}  // namespace _ops
}  // namespace at

namespace {

// The rethrow that PyTorch's bindings are wrapped in.
template <typename Body>
PyObject* bound(Body body) {
  void* thread = PyEval_SaveThread();
  std::string error;
  try {
    body();
  } catch (const std::exception& caught) {
    error = caught.what();
  }
  PyEval_RestoreThread(thread);
  if (error.empty()) return PyLong_FromLong(0);
  PyErr_SetString(PyExc_RuntimeError, error.c_str());
  return nullptr;
}

// Waits for the GPU when it dies, as a buffer in use does.
struct WaitsAtItsEnd {
  ~WaitsAtItsEnd() { cudaEventSynchronize(nullptr); }
};
// The same, and it may throw: but not while another exception unwinds.
struct MayThrowAtItsEnd {
  ~MayThrowAtItsEnd() noexcept(false) { cudaEventSynchronize(nullptr); }
};
struct OtherError : std::exception {
  const char* what() const noexcept override { return "the program's own error"; }
};
void waits_without_exceptions() noexcept {
  cudaDeviceSynchronize();
}

// An engine of autograd: its own thread, with the state of the thread that called it.
void run_backward(const char* name) {
  std::exception_ptr error;
  std::thread worker([&, objects = at::impl::t_objects] {
    at::impl::t_objects = objects;
    pthread_setname_np(pthread_self(), name);
    try {
      at::_ops::item::call(0);
    } catch (...) {
      error = std::current_exception();
    }
  });
  worker.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace

extern "C" {
EXPORT PyObject* item() {
  return bound([] { at::_ops::item::call(0); });
}
EXPORT PyObject* upload(std::size_t bytes, int is_pinned) {
  return bound([=] { at::_ops::to_dtype_layout::call(bytes, is_pinned != 0); });
}
EXPORT PyObject* upload_from(const void* data, std::size_t bytes) {
  return bound([=] { cudaMemcpyAsync(fake_gpu(0), data, bytes, 1, nullptr); });
}
EXPORT PyObject* copy_between(int device) {
  return bound([=] { cudaMemcpyAsync(fake_gpu(device), fake_gpu(0), 64, 3, nullptr); });
}
EXPORT PyObject* blocking_copy() {
  return bound([] {
    char data[16];
    cudaMemcpy(data, fake_gpu(0), sizeof data, 2);
  });
}
EXPORT PyObject* synchronize() {
  return bound([] { cudaDeviceSynchronize(); });
}
EXPORT PyObject* allocate() {
  return bound([] { cudaMalloc(nullptr, 4096); });
}
EXPORT PyObject* destroy() {
  return bound([] { const auto it = std::make_unique<WaitsAtItsEnd>(); });
}
EXPORT PyObject* wait_noexcept() {
  return bound(waits_without_exceptions);
}
EXPORT PyObject* fail_and_unwind() {
  return bound([] {
    const MayThrowAtItsEnd it;
    throw OtherError();
  });
}
EXPORT PyObject* backward(int is_autograd) {
  return bound([=] { run_backward(is_autograd ? "pt_autograd_0" : "worker"); });
}
// Makes the calling thread, which may run Python, one of autograd's: as for a hook of the backward pass.
EXPORT PyObject* work_for_autograd(const char* key) {
  pthread_setname_np(pthread_self(), "pt_autograd_1");
  at::impl::ThreadLocalPythonObjects::set(key, nullptr);
  return PyLong_FromLong(0);
}
// Without anybody who catches: as C code does.
EXPORT int uncaught() {
  return cudaDeviceSynchronize();
}
}
