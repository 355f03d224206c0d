// DLPack's C interface to PyTorch's tensors (dlpack.h, version 1), which PyTorch has from 2.10 on: a tenth of the time
// of attributes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace turnpike::python {

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
  std::int64_t* shape;    // of the tensor itself: valid while it lives and keeps its shape
  std::int64_t* strides;  // in items
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
constexpr std::int32_t kDlCuda = 2;
constexpr std::uint8_t kDlInt = 0;
constexpr std::uint8_t kDlUint = 1;
constexpr std::uint8_t kDlFloat = 2;
constexpr std::uint8_t kDlBfloat = 4;
constexpr std::uint8_t kDlComplex = 5;
constexpr std::uint8_t kDlBool = 6;

// The interface of a type of tensors; nullptr: it has none. Needs the GIL.
inline const DlExchange* find_dl_exchange(PyObject* tensor_type) {
  const auto capsule = nanobind::steal(PyObject_GetAttrString(tensor_type, "__dlpack_c_exchange_api__"));
  const DlExchange* exchange = nullptr;
  if (capsule.is_valid()) {
    exchange = static_cast<const DlExchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  }
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return exchange != nullptr && exchange->major == 1 && exchange->from_object != nullptr ? exchange : nullptr;
}

}  // namespace turnpike::python
