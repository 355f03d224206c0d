// See move_scan.h.
#include "python/move_scan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>

#include "python/dlpack.h"

namespace nb = nanobind;

namespace turnpike::python {
namespace {

struct View {
  const void* data = nullptr;
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;  // in items
  std::uint32_t item_bytes = 0;
  bool may_be_complex = true;
};

// An attribute or a method without arguments of an object; an exception becomes "none".
nb::object ask(PyObject* object, PyObject* name) {
  return nb::steal(PyObject_GetAttr(object, name));
}

nb::object call(PyObject* object, PyObject* name) {
  const std::array<PyObject*, 1> arguments{object};
  return nb::steal(PyObject_VectorcallMethod(name, arguments.data(), 1, nullptr));
}

struct Names {
  PyObject* const data_ptr = PyUnicode_InternFromString("data_ptr");
  PyObject* const has_names = PyUnicode_InternFromString("has_names");
  PyObject* const is_cpu = PyUnicode_InternFromString("is_cpu");
  PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  PyObject* const is_conj = PyUnicode_InternFromString("is_conj");
  PyObject* const is_quantized = PyUnicode_InternFromString("is_quantized");
  PyObject* const itemsize = PyUnicode_InternFromString("itemsize");
  PyObject* const requires_grad = PyUnicode_InternFromString("requires_grad");
  PyObject* const shape = PyUnicode_InternFromString("shape");
  PyObject* const stride = PyUnicode_InternFromString("stride");
  PyObject* const nbytes = PyUnicode_InternFromString("nbytes");
  PyObject* const storage_offset = PyUnicode_InternFromString("storage_offset");
  PyObject* const untyped_storage = PyUnicode_InternFromString("untyped_storage");
};

bool is_true(const nb::object& answer) {
  return answer.is(nb::handle(Py_True));
}
bool is_false(const nb::object& answer) {
  return answer.is(nb::handle(Py_False));
}

// Whether the items fill one stretch of memory, each once, in whatever order of the dimensions.
bool is_gapless(const View& view) {
  std::vector<std::size_t> order(view.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return view.strides[i]; });
  std::int64_t expected = 1;
  for (const std::size_t i : order) {
    if (view.sizes[i] == 1) continue;
    if (view.strides[i] != expected) return false;
    expected *= view.sizes[i];
  }
  return true;
}

class Reader {
 public:
  explicit Reader(PyObject* tensor_type) : exchange_(find_dl_exchange(tensor_type)) {}

  // None for what is no plain dense or strided tensor in host memory.
  std::optional<View> read(PyObject* tensor, bool has_grad) {
    std::optional<View> view = exchange_ != nullptr ? read_by_dlpack(tensor, false) : read_by_attributes(tensor);
    if (view && has_grad && !is_false(ask(tensor, names_.requires_grad))) view.reset();
    if (view && !is_false(call(tensor, names_.has_names))) view.reset();
    if (view && !is_itself(tensor, *view)) view.reset();
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    return view;
  }

  // Of a tensor on whatever device, by DLPack alone.
  std::optional<std::size_t> dense_bytes(PyObject* tensor) const {
    std::optional<std::size_t> dense;
    const std::optional<View> view = exchange_ != nullptr ? read_by_dlpack(tensor, true) : std::nullopt;
    if (view && is_gapless(*view) && is_itself(tensor, *view)) {
      std::size_t size_bytes = view->item_bytes;
      for (const std::int64_t size : view->sizes) size_bytes *= static_cast<std::size_t>(size);
      // It may have been made smaller than its tensors.
      const nb::object offset = call(tensor, names_.storage_offset);
      const std::size_t begin = PyLong_AsSize_t(offset.ptr()) * view->item_bytes;
      const long long held_bytes = storage_bytes(tensor);
      if (size_bytes > 0 && held_bytes >= 0 && static_cast<std::size_t>(held_bytes) >= begin + size_bytes) {
        dense = size_bytes;
      }
    }
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    return dense;
  }

  std::uintptr_t address_of(PyObject* tensor) const {
    DlTensor out{};
    if (exchange_ != nullptr && exchange_->from_object(tensor, &out) == 0) {
      return reinterpret_cast<std::uintptr_t>(out.data) + out.byte_offset;
    }
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    const nb::object address = call(tensor, names_.data_ptr);
    if (!address.is_valid()) throw nb::python_error();
    return reinterpret_cast<std::uintptr_t>(PyLong_AsVoidPtr(address.ptr()));
  }

 private:
  // Its bytes are its items: no bit says "the negative of these bytes", or "the conjugate", and they are there.
  bool is_itself(PyObject* tensor, const View& view) const {
    return is_false(call(tensor, names_.is_neg)) && (!view.may_be_complex || is_false(call(tensor, names_.is_conj))) &&
           has_memory(tensor, view);
  }

  // A storage may have been freed (FSDP and offloaders do that), and a zero tensor has none. With an offset into it the
  // address does not show that.
  bool has_memory(PyObject* tensor, const View& view) const {
    if (view.data == nullptr) return false;
    const nb::object offset = call(tensor, names_.storage_offset);
    if (!offset.is_valid()) return false;
    const long long items = PyLong_AsLongLong(offset.ptr());
    return items == 0 || storage_bytes(tensor) > items * view.item_bytes;
  }

  long long storage_bytes(PyObject* tensor) const {
    const nb::object storage = call(tensor, names_.untyped_storage);
    const nb::object size = storage.is_valid() ? call(storage.ptr(), names_.nbytes) : nb::object();
    return size.is_valid() ? PyLong_AsLongLong(size.ptr()) : -1;
  }

  std::optional<View> read_by_dlpack(PyObject* tensor, bool may_be_on_gpu) const {
    DlTensor out{};
    if (exchange_->from_object(tensor, &out) != 0 || out.bits % 8 != 0) return {};
    if (out.device.type != kDlCpu && !(may_be_on_gpu && out.device.type == kDlCuda)) return {};
    const auto count = static_cast<std::size_t>(out.ndim);
    return View{.data = static_cast<const std::byte*>(out.data) + out.byte_offset,
                .sizes = {out.shape, count},
                .strides = {out.strides, count},
                .item_bytes = static_cast<std::uint32_t>(out.bits / 8U * out.lanes),
                .may_be_complex = out.code == kDlComplex};
  }

  std::optional<View> read_by_attributes(PyObject* tensor) {
    if (!is_true(ask(tensor, names_.is_cpu)) || !is_false(ask(tensor, names_.is_quantized))) return {};
    const nb::object address = call(tensor, names_.data_ptr);
    const nb::object item_bytes = ask(tensor, names_.itemsize);
    if (!address.is_valid() || !item_bytes.is_valid()) return {};
    if (!read_numbers(ask(tensor, names_.shape), sizes_) || !read_numbers(call(tensor, names_.stride), strides_)) {
      return {};
    }
    return View{.data = PyLong_AsVoidPtr(address.ptr()),
                .sizes = sizes_,
                .strides = strides_,
                .item_bytes = static_cast<std::uint32_t>(PyLong_AsUnsignedLong(item_bytes.ptr()))};
  }

  static bool read_numbers(const nb::object& tuple, std::vector<std::int64_t>& numbers) {
    if (!tuple.is_valid() || PyTuple_Check(tuple.ptr()) == 0) return false;
    numbers.resize(static_cast<std::size_t>(PyTuple_Size(tuple.ptr())));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple.ptr(), static_cast<Py_ssize_t>(i)));
    }
    return PyErr_Occurred() == nullptr;
  }

  // Interned once, for as long as the process lives.
  static const Names& all_names() {
    static const auto* const names = new Names;
    return *names;
  }

  const DlExchange* exchange_;
  const Names& names_ = all_names();
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> strides_;
};

bool is_among(const nb::tuple& types, PyObject* tensor) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(tensor));
  for (Py_ssize_t i = 0; i < PyTuple_Size(types.ptr()); ++i) {
    if (PyTuple_GetItem(types.ptr(), i) == type) return true;
  }
  return false;
}

}  // namespace

std::optional<std::size_t> dense_bytes(nb::handle tensor, const nb::tuple& types) {
  if (!is_among(types, tensor.ptr())) return {};
  return Reader(PyTuple_GetItem(types.ptr(), 0)).dense_bytes(tensor.ptr());
}

Scan scan_tensors(const nb::list& tensors, const nb::tuple& types, bool has_grad) {
  Scan scan;
  Reader reader(PyTuple_GetItem(types.ptr(), 0));
  const auto try_small = [&](std::int64_t index, PyObject* tensor) {
    if (!is_among(types, tensor)) return false;
    const std::optional<View> view = reader.read(tensor, has_grad);
    if (!view) return false;
    std::size_t size_bytes = view->item_bytes;
    for (const std::int64_t size : view->sizes) {
      if (size <= 0 || size > static_cast<std::int64_t>(kSmallTensorBytes)) return false;
      size_bytes *= static_cast<std::size_t>(size);
      if (size_bytes > kSmallTensorBytes) return false;
    }
    if (size_bytes == 0 || !is_gapless(*view)) return false;
    scan.small.push_back({.index = index, .data = view->data, .size_bytes = size_bytes});
    return true;
  };
  const Py_ssize_t count = PyList_Size(tensors.ptr());
  scan.small.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    // A reference of our own: reading an attribute runs code that could change the list.
    const nb::object tensor = nb::borrow(PyList_GetItem(tensors.ptr(), i));
    if (!try_small(i, tensor.ptr())) scan.others.push_back(i);
  }
  return scan;
}

std::vector<std::uintptr_t> addresses_of(const nb::list& tensors, const nb::tuple& types) {
  Reader reader(PyTuple_GetItem(types.ptr(), 0));
  std::vector<std::uintptr_t> addresses;
  const Py_ssize_t count = PyList_Size(tensors.ptr());
  addresses.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) addresses.push_back(reader.address_of(PyList_GetItem(tensors.ptr(), i)));
  return addresses;
}

}  // namespace turnpike::python
