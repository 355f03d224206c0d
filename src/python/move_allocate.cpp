// PyTorch's C interface for compiled models (aoti_torch/c/shim.h) makes a tensor in a third of the time of a call from
// Python. It is found in the libraries that the process has loaded: nothing here is linked against PyTorch.
#include "python/move_allocate.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "python/dlpack.h"
#include "python/gil.h"

namespace nb = nanobind;

namespace turnpike::python {
namespace {

using TensorHandle = void*;
using CodeFunction = std::int32_t (*)();

struct Dtype {
  std::uint8_t code;
  std::uint8_t bits;
  const char* symbol;  // of the function that gives PyTorch's number for it
};
constexpr std::array kDtypes{
    Dtype{kDlFloat, 32, "aoti_torch_dtype_float32"},     Dtype{kDlFloat, 64, "aoti_torch_dtype_float64"},
    Dtype{kDlFloat, 16, "aoti_torch_dtype_float16"},     Dtype{kDlBfloat, 16, "aoti_torch_dtype_bfloat16"},
    Dtype{kDlInt, 64, "aoti_torch_dtype_int64"},         Dtype{kDlInt, 32, "aoti_torch_dtype_int32"},
    Dtype{kDlInt, 16, "aoti_torch_dtype_int16"},         Dtype{kDlInt, 8, "aoti_torch_dtype_int8"},
    Dtype{kDlUint, 8, "aoti_torch_dtype_uint8"},         Dtype{kDlBool, 8, "aoti_torch_dtype_bool"},
    Dtype{kDlComplex, 64, "aoti_torch_dtype_complex64"}, Dtype{kDlComplex, 128, "aoti_torch_dtype_complex128"}};

class Interface {
 public:
  // nullptr: this PyTorch has none, or not all of it.
  static const Interface* find() {
    static const Interface interface;
    return interface.is_whole_ ? &interface : nullptr;
  }

  // PyTorch's number of a dtype; negative: not known here.
  std::int32_t dtype_of(const DlTensor& tensor) const {
    if (tensor.lanes != 1) return -1;
    for (std::size_t i = 0; i < kDtypes.size(); ++i) {
      if (kDtypes[i].code == tensor.code && kDtypes[i].bits == tensor.bits) return numbers_[i];
    }
    return -1;
  }

  std::int32_t (*empty_strided)(std::int64_t ndim, const std::int64_t* sizes, const std::int64_t* strides,
                                std::int32_t dtype, std::int32_t device_type, std::int32_t device_index,
                                TensorHandle* made) = nullptr;
  std::int32_t (*destroy)(TensorHandle tensor) = nullptr;
  std::int32_t cpu = 0;
  std::int32_t cuda = 0;

 private:
  Interface() : library_(dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD)) {
    is_whole_ = library_ != nullptr;
    if (!is_whole_) return;
    find("aoti_torch_empty_strided", empty_strided);
    find("aoti_torch_delete_tensor_object", destroy);
    cpu = number("aoti_torch_device_type_cpu");
    cuda = number("aoti_torch_device_type_cuda");
    for (std::size_t i = 0; i < kDtypes.size(); ++i) numbers_[i] = number(kDtypes[i].symbol);
  }

  template <typename Function>
  void find(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, symbol));
    if (function == nullptr) is_whole_ = false;
  }
  std::int32_t number(const char* symbol) {
    CodeFunction function = nullptr;
    find(symbol, function);
    return function == nullptr ? -1 : function();
  }

  void* library_;
  bool is_whole_ = false;
  std::array<std::int32_t, kDtypes.size()> numbers_{};
};

struct Wish {
  DlTensor like;
  std::int32_t dtype;
};

// Hands tensors over to Python. `made` is empty afterwards. An exception of Python: it has no such function.
nb::object wrapped(std::vector<TensorHandle>& made) {
  const nb::object steal =
      nb::module_::import_("torch").attr("_C").attr("_aoti").attr("alloc_tensors_by_stealing_from_void_ptrs");
  nb::list capsules;
  for (TensorHandle tensor : made) capsules.append(nb::steal(PyCapsule_New(tensor, nullptr, nullptr)));
  nb::object list = steal(capsules);
  made.clear();
  return list;
}

}  // namespace

nb::object empty_likes(const nb::list& tensors, const std::vector<std::int64_t>& indices, const nb::tuple& types,
                       int device, nb::handle typed) {
  const Interface* const torch = Interface::find();
  const DlExchange* const exchange = find_dl_exchange(types[0].ptr());
  if (torch == nullptr || exchange == nullptr) return nb::none();
  DlTensor of_dtype{};
  if (!typed.is_none() && exchange->from_object(typed.ptr(), &of_dtype) != 0) {
    PyErr_Clear();
    return nb::none();
  }
  std::vector<Wish> wishes;
  wishes.reserve(indices.size());
  for (const std::int64_t index : indices) {
    Wish wish{};
    if (exchange->from_object(PyList_GetItem(tensors.ptr(), index), &wish.like) != 0) {
      PyErr_Clear();
      return nb::none();
    }
    wish.dtype = torch->dtype_of(typed.is_none() ? wish.like : of_dtype);
    if (wish.dtype < 0) return nb::none();
    wishes.push_back(wish);
  }
  std::vector<TensorHandle> made;
  made.reserve(wishes.size());
  {
    const WithoutGil without_gil;
    const bool is_host = device < 0;
    for (const Wish& wish : wishes) {
      TensorHandle tensor = nullptr;
      if (torch->empty_strided(wish.like.ndim, wish.like.shape, wish.like.strides, wish.dtype,
                               is_host ? torch->cpu : torch->cuda, is_host ? -1 : device, &tensor) != 0) {
        break;
      }
      made.push_back(tensor);
    }
  }
  nb::object list;
  if (made.size() == wishes.size()) {
    try {
      list = wrapped(made);
    } catch (const nb::python_error&) {
      // A PyTorch without that function: they are made again from Python.
    }
  }
  for (TensorHandle tensor : made) torch->destroy(tensor);
  return list.is_valid() ? list : nb::none();
}

}  // namespace turnpike::python
