/* Counts the calls of libcudart's copy functions: preloaded into a program that is linked against libcudart.so.
 *
 *   gcc -shared -fPIC -o interpose.so interpose.c -ldl
 *   INTERPOSE_OUT=count.json LD_PRELOAD=./interpose.so ./program
 *
 * Cannot see programs that link the runtime statically or look its functions up with dlsym. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef int cudaError_t;
typedef void* cudaStream_t;
enum { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kMemset, kDirections };

static const char* const names[kDirections] = {"h2h", "h2d", "d2h", "d2d", "memset"};
static unsigned long long counts[kDirections], sizes[kDirections];

static void add(int direction, size_t bytes) {
  if (direction < 0 || direction >= kDirections || bytes == 0) return;
  __atomic_fetch_add(&counts[direction], 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&sizes[direction], bytes, __ATOMIC_RELAXED);
}

static void* real(const char* name) {
  void* function = dlsym(RTLD_NEXT, name);
  if (function) return function;
  fprintf(stderr, "interpose: %s is not in the libraries that follow\n", name);
  abort();
}

#define REAL(name) ((__typeof__(&name))real(#name))

cudaError_t cudaMemcpy(void* dst, const void* src, size_t bytes, int kind) {
  add(kind, bytes);
  return REAL(cudaMemcpy)(dst, src, bytes, kind);
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, int kind, cudaStream_t stream) {
  add(kind, bytes);
  return REAL(cudaMemcpyAsync)(dst, src, bytes, kind, stream);
}

cudaError_t cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height,
                         int kind) {
  add(kind, width * height);
  return REAL(cudaMemcpy2D)(dst, dst_pitch, src, src_pitch, width, height, kind);
}

cudaError_t cudaMemset(void* dst, int value, size_t bytes) {
  add(kMemset, bytes);
  return REAL(cudaMemset)(dst, value, bytes);
}

cudaError_t cudaMemsetAsync(void* dst, int value, size_t bytes, cudaStream_t stream) {
  add(kMemset, bytes);
  return REAL(cudaMemsetAsync)(dst, value, bytes, stream);
}

__attribute__((destructor)) static void write_counts(void) {
  const char* path = getenv("INTERPOSE_OUT");
  FILE* file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "{");
  for (int i = 0; i < kDirections; ++i)
    fprintf(file, "\"%s\": [%llu, %llu], ", names[i], counts[i], sizes[i]);
  fprintf(file, "\"p2p\": [0, 0]}\n");
  fclose(file);
}
