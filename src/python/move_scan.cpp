// See move_scan.h.
#include "python/move_scan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>

namespace nb = nanobind;

namespace turnpike::python {
namespace {

// DLPack's C interface (dlpack.h, version 1), which PyTorch has from 2.10 on: a tenth of the time of attributes.
struct DlDevice {
  std::int32_t type;
  std::int32_t id;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t ndim;
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
static_assert(sizeof(DlTensor) == 48);
struct DlExchange {
  std::uint32_t major;
  std::uint32_t minor;
  void* previous;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  int (*from_object)(void* object, DlTensor* out);
  void* current_stream;
};
constexpr std::int32_t kDlCpu = 1;
constexpr std::uint8_t kDlComplex = 5;

struct View {
  const void* data = nullptr;
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;  // in items
  std::uint32_t item_bytes = 0;
  std::uint64_t dtype = 0;
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
  PyObject* const dtype = PyUnicode_InternFromString("dtype");
  PyObject* const is_cpu = PyUnicode_InternFromString("is_cpu");
  PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  PyObject* const is_conj = PyUnicode_InternFromString("is_conj");
  PyObject* const is_quantized = PyUnicode_InternFromString("is_quantized");
  PyObject* const itemsize = PyUnicode_InternFromString("itemsize");
  PyObject* const requires_grad = PyUnicode_InternFromString("requires_grad");
  PyObject* const shape = PyUnicode_InternFromString("shape");
  PyObject* const stride = PyUnicode_InternFromString("stride");
};

bool is_true(const nb::object& answer) {
  return answer.is(nb::handle(Py_True));
}
bool is_false(const nb::object& answer) {
  return answer.is(nb::handle(Py_False));
}

class Reader {
 public:
  explicit Reader(PyObject* tensor_type) : exchange_(find_exchange(tensor_type)) {}

  // None for what is no plain dense or strided tensor in host memory.
  std::optional<View> read(PyObject* tensor, bool has_grad) {
    std::optional<View> view = exchange_ != nullptr ? read_by_dlpack(tensor) : read_by_attributes(tensor);
    if (view && has_grad && !is_false(ask(tensor, names_.requires_grad))) view.reset();
    // Bits that say "the negative of these bytes", or "the conjugate".
    if (view && !is_false(call(tensor, names_.is_neg))) view.reset();
    if (view && view->may_be_complex && !is_false(call(tensor, names_.is_conj))) view.reset();
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    return view;
  }

 private:
  static const DlExchange* find_exchange(PyObject* tensor_type) {
    const nb::object capsule = nb::steal(PyObject_GetAttrString(tensor_type, "__dlpack_c_exchange_api__"));
    const DlExchange* exchange = nullptr;
    if (capsule.is_valid()) {
      exchange = static_cast<const DlExchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    }
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    return exchange != nullptr && exchange->major == 1 && exchange->from_object != nullptr ? exchange : nullptr;
  }

  std::optional<View> read_by_dlpack(PyObject* tensor) const {
    DlTensor out{};
    if (exchange_->from_object(tensor, &out) != 0 || out.device.type != kDlCpu || out.bits % 8 != 0) return {};
    const auto count = static_cast<std::size_t>(out.ndim);
    return View{.data = static_cast<const std::byte*>(out.data) + out.byte_offset,
                .sizes = {out.shape, count},
                .strides = {out.strides, count},
                .item_bytes = static_cast<std::uint32_t>(out.bits / 8U * out.lanes),
                .dtype = std::uint64_t{out.code} << 32U | std::uint64_t{out.bits} << 16U | out.lanes,
                .may_be_complex = out.code == kDlComplex};
  }

  std::optional<View> read_by_attributes(PyObject* tensor) {
    if (!is_true(ask(tensor, names_.is_cpu)) || !is_false(ask(tensor, names_.is_quantized))) return {};
    const nb::object address = call(tensor, names_.data_ptr);
    const nb::object item_bytes = ask(tensor, names_.itemsize);
    const nb::object dtype = ask(tensor, names_.dtype);
    if (!address.is_valid() || !item_bytes.is_valid() || !dtype.is_valid()) return {};
    if (!read_numbers(ask(tensor, names_.shape), sizes_) || !read_numbers(call(tensor, names_.stride), strides_)) {
      return {};
    }
    return View{.data = PyLong_AsVoidPtr(address.ptr()),
                .sizes = sizes_,
                .strides = strides_,
                .item_bytes = static_cast<std::uint32_t>(PyLong_AsUnsignedLong(item_bytes.ptr())),
                .dtype = reinterpret_cast<std::uintptr_t>(dtype.ptr())};  // each dtype is one object
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

// Also where a dimension has one item and its stride does not matter: PyTorch keeps it, so the copy must have it.
bool is_row_major(const View& view) {
  std::int64_t expected = 1;
  for (std::size_t i = view.sizes.size(); i-- > 0;) {
    if (view.strides[i] != expected) return false;
    expected *= view.sizes[i];
  }
  return true;
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

// Numbers the combinations of dtype, sizes and strides.
class ShapeNumbers {
 public:
  std::uint32_t number(const View& view) {
    const std::size_t bytes = view.sizes.size_bytes();
    key_.assign(reinterpret_cast<const char*>(&view.dtype), sizeof view.dtype);
    key_.append(reinterpret_cast<const char*>(view.sizes.data()), bytes);
    key_.append(reinterpret_cast<const char*>(view.strides.data()), bytes);
    // Lists of tensors mostly hold many of one shape in a row.
    if (key_ == last_key_) return last_;
    last_key_ = key_;
    last_ = numbers_.try_emplace(key_, static_cast<std::uint32_t>(numbers_.size())).first->second;
    return last_;
  }

 private:
  std::string key_;
  std::string last_key_;
  std::uint32_t last_ = 0;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace

Scan scan_tensors(const nb::list& tensors, const nb::tuple& types, bool has_grad) {
  Scan scan;
  Reader reader(PyTuple_GetItem(types.ptr(), 0));
  ShapeNumbers shapes;
  const auto is_plain_type = [&](PyObject* tensor) {
    const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(tensor));
    for (Py_ssize_t i = 0; i < PyTuple_Size(types.ptr()); ++i) {
      if (PyTuple_GetItem(types.ptr(), i) == type) return true;
    }
    return false;
  };
  const auto try_small = [&](std::int64_t index, PyObject* tensor) {
    if (!is_plain_type(tensor)) return false;
    const std::optional<View> view = reader.read(tensor, has_grad);
    if (!view) return false;
    std::size_t size_bytes = view->item_bytes;
    for (const std::int64_t size : view->sizes) {
      if (size <= 0 || size > static_cast<std::int64_t>(kPackedTensorBytes)) return false;
      size_bytes *= static_cast<std::size_t>(size);
      if (size_bytes > kPackedTensorBytes) return false;
    }
    if (size_bytes == 0 || kPackedAlignment % view->item_bytes != 0) return false;
    const bool has_rows = is_row_major(*view);
    if (!has_rows && !is_gapless(*view)) return false;
    scan.small.push_back({.index = index,
                          .size_bytes = size_bytes,
                          .item_bytes = view->item_bytes,
                          .shape = shapes.number(*view),
                          .dtype = view->dtype,
                          .is_row_major = has_rows});
    scan.small_data.push_back(view->data);
    return true;
  };
  const Py_ssize_t count = PyList_Size(tensors.ptr());
  scan.small.reserve(static_cast<std::size_t>(count));
  scan.small_data.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    // A reference of our own: reading an attribute runs code that could change the list.
    const nb::object tensor = nb::borrow(PyList_GetItem(tensors.ptr(), i));
    if (!try_small(i, tensor.ptr())) scan.others.push_back(i);
  }
  return scan;
}

}  // namespace turnpike::python
