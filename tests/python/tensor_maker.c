// A libtorch_cpu.so that makes no tensors but notes what it is asked for: PyTorch's C interface for compiled models.
#include <stdint.h>
#include <stdio.h>

char asked[4096];   /* one line for each tensor */
int fails_at = 0;   /* the number of the tensor that cannot be made; 0: none */
int made = 0;
int destroyed = 0;
static char tensors[64];

int32_t aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                                 int32_t device_type, int32_t device_index, void** tensor) {
  static int length;
  if (++made == fails_at) return 1;
  length += snprintf(asked + length, sizeof asked - (size_t)length, "%d on %d:%d", dtype, device_type, device_index);
  for (int64_t i = 0; i < ndim; ++i) {
    length += snprintf(asked + length, sizeof asked - (size_t)length, " %d/%d", (int)sizes[i], (int)strides[i]);
  }
  length += snprintf(asked + length, sizeof asked - (size_t)length, "\n");
  *tensor = tensors + made;
  return 0;
}

#ifndef LACKING
int32_t aoti_torch_delete_tensor_object(void* tensor) {
  ++destroyed;
  return tensor == 0;
}
#endif

int32_t aoti_torch_device_type_cpu(void) { return 70; }
int32_t aoti_torch_device_type_cuda(void) { return 71; }

#define DTYPE(name, number) \
  int32_t aoti_torch_dtype_##name(void) { return number; }
DTYPE(float32, 0)
DTYPE(float64, 1)
DTYPE(float16, 2)
DTYPE(bfloat16, 3)
DTYPE(int64, 4)
DTYPE(int32, 5)
DTYPE(int16, 6)
DTYPE(int8, 7)
DTYPE(uint8, 8)
DTYPE(bool, 9)
DTYPE(complex64, 10)
DTYPE(complex128, 11)
