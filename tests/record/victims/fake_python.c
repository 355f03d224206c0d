/* A libpython of the version that FAKE_PYTHON_HEX and FAKE_PYTHON_VERSION name, of which nothing works: a recorder that
 * believed it would crash. FAKE_PYTHON_FREE_THREADED: what it publishes says that it has no GIL. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned long Py_Version;
EXPORT uint64_t _PyRuntime[128];
EXPORT uint64_t PyCode_Type[64];
EXPORT uint64_t PyUnicode_Type[64];
EXPORT uint64_t PyBytes_Type[64];

__attribute__((constructor)) static void begin(void) {
  const char* hex = getenv("FAKE_PYTHON_HEX");
  Py_Version = hex == NULL ? 0 : strtoul(hex, NULL, 16);
  memcpy(_PyRuntime, "xdebugpy", 8);
  _PyRuntime[1] = Py_Version;
  _PyRuntime[2] = getenv("FAKE_PYTHON_FREE_THREADED") != NULL;
}

EXPORT const char* Py_GetVersion(void) {
  return getenv("FAKE_PYTHON_VERSION");
}
EXPORT void* PyGILState_GetThisThreadState(void) {
  return (void*)64;
}
EXPORT int PyGILState_Check(void) {
  return 1;
}
EXPORT int Py_IsInitialized(void) {
  return 1;
}
EXPORT int Py_IsFinalizing(void) {
  return 0;
}
EXPORT void* PyInterpreterState_Main(void) {
  return (void*)64;
}
