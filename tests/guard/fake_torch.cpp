// Stands for libtorch_python, and for the operators behind it: they call libcudart through slots, give the GIL back for
// that, and turn a C++ exception into a Python one, as PyTorch does. Python takes its functions from function().
#include <dlfcn.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <thread>

extern "C" {
// libcudart
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*);
int cudaMemcpy(void*, const void*, std::size_t, int);
int cudaStreamSynchronize(void*);
int cudaEventSynchronize(void*);
int cudaDeviceSynchronize();
int cudaMalloc(void**, std::size_t);
void* fake_gpu(int device);
void* fake_pinned();
// CPython
struct PyObject;
struct PyMethodDef {
  const char* name;
  PyObject* (*function)(PyObject*, PyObject*);
  int flags;
  const char* documentation;
};
PyObject* PyCFunction_NewEx(PyMethodDef*, PyObject*, PyObject*);
int PyArg_ParseTuple(PyObject*, const char*, ...);
PyObject* PyLong_FromLong(long);
PyObject* PyObject_CallNoArgs(PyObject*);
void PyErr_SetString(PyObject*, const char*);
void* PyEval_SaveThread();
void PyEval_RestoreThread(void*);
extern PyObject* PyExc_RuntimeError;
extern PyObject* PyExc_AttributeError;
}

#define EXPORT __attribute__((visibility("default"), noinline))

namespace c10 {
struct SafePyObject;
}  // namespace c10

namespace at {
namespace impl {
struct ThreadLocalPythonObjects {
  static void set(const std::string& key, std::shared_ptr<c10::SafePyObject> value);
};
}  // namespace impl

// Without tail calls: the frame of each operator names it.
namespace _ops {
struct copy_ {
  EXPORT static int call(void* to, const void* from, std::size_t bytes, int kind, void* stream);
};
int copy_::call(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  const int result =
      stream == nullptr ? cudaMemcpy(to, from, bytes, kind) : cudaMemcpyAsync(to, from, bytes, kind, stream);
  asm volatile("");
  return result;
}
struct _local_scalar_dense {
  EXPORT static int call(int);
};
int _local_scalar_dense::call(int) {
  int value = 0;
  cudaMemcpyAsync(&value, fake_gpu(0), sizeof value, 2, nullptr);
  const int result = cudaStreamSynchronize(nullptr);
  asm volatile("");
  return result;
}
struct item {
  EXPORT static int call(int);
};
int item::call(int) {
  const int result = _local_scalar_dense::call(0);
  asm volatile("");
  return result;
}
struct to_dtype_layout {
  EXPORT static int call(void* to, const void* from, std::size_t bytes);
};
int to_dtype_layout::call(void* to, const void* from, std::size_t bytes) {
  const int result = copy_::call(to, from, bytes, 1, reinterpret_cast<void*>(7));
  asm volatile("");
  return result;
}
// Copies by a library of C in the middle.
struct linalg_eig {
  EXPORT static int call(int);
};
int linalg_eig::call(int) {
  char data[16];
  const int result = cudaMemcpy(data, fake_gpu(0), sizeof data, 2);
  asm volatile("");
  return result;
}
// Calls what another library copies or waits by.
struct nonzero {
  EXPORT static int call(void (*function)(void*), void* argument);
};
int nonzero::call(void (*function)(void*), void* argument) {
  function(argument);
  asm volatile("");
  return 0;
}
}  // namespace _ops
}  // namespace at

namespace c10d {
struct Reducer {
  EXPORT static void mark_variable_ready(int);
};
void Reducer::mark_variable_ready(int) {
  at::_ops::item::call(0);
  asm volatile("");
}
}  // namespace c10d

// Keeps what leaves a step of the backward pass.
namespace torch::autograd {
struct Engine {
  EXPORT static void thread_main(std::exception_ptr& error);
};
void Engine::thread_main(std::exception_ptr& error) {
  try {
    at::_ops::item::call(0);
  } catch (...) {
    error = std::current_exception();
  }
}
}  // namespace torch::autograd

namespace {

// The rethrow that PyTorch's bindings are wrapped in.
template <typename Body>
PyObject* caught(Body body, std::string error = {}) {
  try {
    body();
  } catch (const std::exception& thrown) {
    error = thrown.what();
    if (error.empty()) error = "an error";
  }
  if (error.empty()) return PyLong_FromLong(0);
  PyErr_SetString(PyExc_RuntimeError, error.c_str());
  return nullptr;
}
struct WithoutGil {
  void* thread = PyEval_SaveThread();
  ~WithoutGil() { PyEval_RestoreThread(thread); }
};
template <typename Body>
PyObject* bound(Body body) {
  return caught([&] {
    const WithoutGil it;
    body();
  });
}

// Waits when it dies, and may throw then: but not while another exception unwinds.
struct MayThrowAtItsEnd {
  ~MayThrowAtItsEnd() noexcept(false) { cudaEventSynchronize(nullptr); }
};
struct OtherError : std::exception {
  const char* what() const noexcept override { return "the program's own error"; }
};

// Of libtorch_cpu. The real one, which a process with the real PyTorch has in its place, lacks them.
template <typename Function>
Function* of_torch_cpu(const char* name) {
  return reinterpret_cast<Function*>(dlsym(dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD), name));
}

// An engine of autograd: its own thread, with the state of the thread that called it.
void run_backward(const char* name) {
  std::exception_ptr error;
  std::thread worker([&, state = of_torch_cpu<void*()>("fake_state")()] {
    of_torch_cpu<void(void*)>("fake_take_state")(state);
    pthread_setname_np(pthread_self(), name);
    torch::autograd::Engine::thread_main(error);
  });
  worker.join();
  if (error) std::rethrow_exception(error);
}

using Function = void (*)(void*);

// Each with the arguments that Python gives it.
PyObject* item(PyObject*, PyObject*) {
  return bound([] { at::_ops::item::call(0); });
}
PyObject* upload(PyObject*, PyObject* given) {
  static char pageable[1 << 20];
  std::ptrdiff_t bytes = 0;
  int is_pinned = 0;
  if (PyArg_ParseTuple(given, "ni", &bytes, &is_pinned) == 0) return nullptr;
  return bound([=] {
    at::_ops::to_dtype_layout::call(fake_gpu(0), is_pinned != 0 ? fake_pinned() : pageable,
                                    static_cast<std::size_t>(bytes));
  });
}
PyObject* upload_from(PyObject*, PyObject* given) {
  std::ptrdiff_t data = 0;
  std::ptrdiff_t bytes = 0;
  if (PyArg_ParseTuple(given, "nn", &data, &bytes) == 0) return nullptr;
  return bound([=] {
    at::_ops::copy_::call(fake_gpu(0), reinterpret_cast<const void*>(data), static_cast<std::size_t>(bytes), 1,
                          reinterpret_cast<void*>(7));
  });
}
PyObject* copy_between(PyObject*, PyObject* given) {
  int device = 0;
  if (PyArg_ParseTuple(given, "i", &device) == 0) return nullptr;
  return bound([=] { at::_ops::copy_::call(fake_gpu(device), fake_gpu(0), 64, 3, reinterpret_cast<void*>(7)); });
}
PyObject* blocking_copy(PyObject*, PyObject*) {
  return bound([] {
    char data[16];
    at::_ops::copy_::call(data, fake_gpu(0), sizeof data, 2, nullptr);
  });
}
PyObject* synchronize(PyObject*, PyObject*) {
  return bound([] { cudaDeviceSynchronize(); });
}
PyObject* allocate(PyObject*, PyObject*) {
  return bound([] {
    void* memory = nullptr;
    cudaMalloc(&memory, 4096);
  });
}
PyObject* decompose(PyObject*, PyObject*) {
  return bound([] { at::_ops::linalg_eig::call(0); });
}
PyObject* reduce(PyObject*, PyObject*) {
  return bound([] { c10d::Reducer::mark_variable_ready(0); });
}
PyObject* fail_and_unwind(PyObject*, PyObject*) {
  return bound([] {
    const MayThrowAtItsEnd it;
    throw OtherError();
  });
}
PyObject* backward(PyObject*, PyObject* given) {
  int is_autograd = 0;
  if (PyArg_ParseTuple(given, "i", &is_autograd) == 0) return nullptr;
  return bound([=] { run_backward(is_autograd ? "pt_autograd_0" : "worker"); });
}
// Makes the calling thread, which may run Python, one of autograd's: as for a hook of the backward pass.
PyObject* work_for_autograd(PyObject*, PyObject* given) {
  const char* key = nullptr;
  if (PyArg_ParseTuple(given, "y", &key) == 0) return nullptr;
  pthread_setname_np(pthread_self(), "pt_autograd_1");
  at::impl::ThreadLocalPythonObjects::set(key, nullptr);
  return PyLong_FromLong(0);
}
// Calls a function of another library by its address: alone, or inside of an operator.
PyObject* call(PyObject*, PyObject* given) {
  std::ptrdiff_t address = 0;
  std::ptrdiff_t argument = 0;
  if (PyArg_ParseTuple(given, "n|n", &address, &argument) == 0) return nullptr;
  return bound([=] { reinterpret_cast<Function>(address)(reinterpret_cast<void*>(argument)); });
}
PyObject* call_in_operator(PyObject*, PyObject* given) {
  std::ptrdiff_t address = 0;
  if (PyArg_ParseTuple(given, "n", &address) == 0) return nullptr;
  return bound([=] { at::_ops::nonzero::call(reinterpret_cast<Function>(address), nullptr); });
}
// As autograd calls a hook, inside of C++ that catches.
PyObject* call_python(PyObject*, PyObject* given) {
  PyObject* callable = nullptr;
  if (PyArg_ParseTuple(given, "O", &callable) == 0) return nullptr;
  PyObject* result = nullptr;
  PyObject* failed = caught([&] { result = PyObject_CallNoArgs(callable); });
  return failed == nullptr ? nullptr : result;
}

constexpr int kTuple = 1;  // METH_VARARGS
PyMethodDef g_functions[] = {
#define FUNCTION(name) {#name, name, kTuple, nullptr}
    FUNCTION(item),     FUNCTION(upload),           FUNCTION(upload_from), FUNCTION(copy_between),
    FUNCTION(allocate), FUNCTION(blocking_copy),    FUNCTION(synchronize), FUNCTION(decompose),
    FUNCTION(reduce),   FUNCTION(fail_and_unwind),  FUNCTION(backward),    FUNCTION(work_for_autograd),
    FUNCTION(call),     FUNCTION(call_in_operator), FUNCTION(call_python),
#undef FUNCTION
};

}  // namespace

extern "C" {
// A function of Python, as a module's.
EXPORT PyObject* function(const char* name) {
  for (PyMethodDef& one : g_functions) {
    if (std::strcmp(one.name, name) == 0) return PyCFunction_NewEx(&one, nullptr, nullptr);
  }
  PyErr_SetString(PyExc_AttributeError, name);
  return nullptr;
}
// Called by what is not Python.
EXPORT int uncaught() {
  return cudaDeviceSynchronize();
}
EXPORT void operate(void*) {
  at::_ops::item::call(0);
  asm volatile("");
}
}
