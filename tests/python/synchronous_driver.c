// A libcuda.so.1 whose GPU is the host: copies are made at once and events have always passed. For what happens around
// the engine in Python (forks, signals, the end), not for its order: that is what tests/move/simulated is for.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long Address;

/* What a test may set by these names. */
int device_count = 1;
int can_access_peer = 1;
int stream_state = 0;     /* what cuStreamQuery says: 600 while it is busy */
int capture_state = 0;    /* what cuStreamIsCapturing says */
int copy_result = 0;      /* of each copy; nothing is copied unless it is 0 */
int register_result = 0;
unsigned int registered;  /* the flags of the last page lock */
Address locked_begin, locked_end; /* page-locked memory of the host */
Address block_begin, block_end;   /* an allocation of the device */

#define NOTHING(name) \
  int name(void) { return 0; }

NOTHING(cuInit)
NOTHING(cuDevicePrimaryCtxRelease_v2)
NOTHING(cuCtxSetCurrent)
NOTHING(cuCtxPushCurrent_v2)
NOTHING(cuCtxPopCurrent_v2)
NOTHING(cuCtxSynchronize)
NOTHING(cuCtxEnablePeerAccess)
NOTHING(cuMemHostUnregister)
NOTHING(cuStreamDestroy_v2)
NOTHING(cuStreamSynchronize)
NOTHING(cuStreamWaitEvent)
NOTHING(cuEventRecord)
NOTHING(cuEventQuery)
NOTHING(cuEventSynchronize)
NOTHING(cuEventDestroy_v2)
NOTHING(cuThreadExchangeStreamCaptureMode)

static int one_more(void** handle) {
  static char handles;
  *handle = &handles;
  return 0;
}

static int number(int* value, int is) {
  *value = is;
  return 0;
}

int cuDriverGetVersion(int* version) { return number(version, 13000); }
int cuDeviceGetCount(int* count) { return number(count, device_count); }
int cuStreamQuery(void* stream) { return stream == &device_count ? 1 : stream_state; }
int cuDeviceGet(int* device, int ordinal) { return number(device, ordinal); }
int cuDeviceGetAttribute(int* value, int attribute, int device) { return number(value, attribute == 0 ? device : 1); }
int cuDeviceCanAccessPeer(int* can, int device, int peer) { return number(can, can_access_peer && device != peer); }
int cuCtxGetDevice(int* device) { return number(device, 0); }
int cuStreamIsCapturing(void* stream, int* status) { return number(status, stream == status ? 1 : capture_state); }
int cuDevicePrimaryCtxRetain(void** context, int device) { return device < device_count ? one_more(context) : 101; }
int cuStreamCreate(void** stream, unsigned int flags) { return flags < 2 ? one_more(stream) : 1; }
int cuEventCreate(void** event, unsigned int flags) { return flags < 8 ? one_more(event) : 1; }
int cuMemHostRegister_v2(void* memory, size_t size, unsigned int flags) {
  registered = flags;
  return memory && size ? register_result : 1;
}

int cuGetErrorString(int code, const char** text) {
  *text = code == 0 ? "no error" : "an error";
  return 0;
}

int cuDeviceGetName(char* name, int size, int device) {
  strncpy(name, device == 0 ? "Host" : "", (size_t)size);
  return 0;
}

int cuDeviceTotalMem_v2(size_t* size, int device) {
  *size = (size_t)1 << (30 + device);
  return 0;
}

int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  *milliseconds = start == end ? 1 : 2;
  return 0;
}

int cuPointerGetAttribute(unsigned int* value, int attribute, Address address) {
  *value = 0;
  return address == 0 ? attribute : 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned int* flags, int* is_active) {
  *flags = 0;
  return number(is_active, device == 0);
}

/* 2 is the attribute that asks for the kind of memory, of which 1 is the host's. */
int cuPointerGetAttributes(unsigned int count, int* attributes, void** values, Address address) {
  for (unsigned int i = 0; i < count; ++i) {
    *(unsigned int*)values[i] = attributes[i] == 2 && address >= locked_begin && address < locked_end;
  }
  return 0;
}

int cuMemGetAddressRange_v2(Address* base, size_t* size, Address inside) {
  const int is_in_block = inside >= block_begin && inside < block_end;
  *base = is_in_block ? block_begin : inside;
  *size = is_in_block ? block_end - block_begin : 1;
  return 0;
}

int cuMemAlloc_v2(Address* memory, size_t size) {
  *memory = (Address)malloc(size);
  return 0;
}

int cuMemFree_v2(Address memory) {
  free((void*)memory);
  return 0;
}

int cuMemHostAlloc(void** memory, size_t size, unsigned int flags) {
  *memory = flags < 8 ? malloc(size) : NULL;
  return 0;
}

int cuMemFreeHost(void* memory) {
  free(memory);
  return 0;
}

static int copy(void* to, const void* from, size_t size) {
  if (copy_result == 0) memcpy(to, from, size);
  return copy_result;
}

int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t size) { return copy((void*)to, from, size); }
int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t size) { return copy(to, (const void*)from, size); }
int cuMemcpyPeerAsync(Address to, void* a, Address from, void* b, size_t size) {
  return a == b ? copy((void*)to, (const void*)from, size) : 1;
}
