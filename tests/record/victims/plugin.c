// A library that a program loads, in three ways: see CMakeLists.txt.
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef PLUGIN_WAITS
// The program says where it counts its copies, and how many more to wait for.
__attribute__((constructor)) static void wait_for_copies(void) {
  volatile unsigned long* count = (volatile unsigned long*)strtoul(getenv("PLUGIN_COUNT_AT"), NULL, 10);
  const unsigned long until = *count + strtoul(getenv("PLUGIN_WAITS_FOR"), NULL, 10);
  while (*count < until) usleep(100);
}
#else
// A slot that the recorder takes, and some ballast: the kernel unmaps large libraries at once.
int cuptiActivityFlushAll(uint32_t flags);
int plugin_flush(void) {
  return cuptiActivityFlushAll(0);
}
const char plugin_ballast[1 << 20] = "plugin";
#endif

#ifdef PLUGIN_FAILS
int plugin_no_such_function(void);
int plugin_call_nothing(void) {
  return plugin_no_such_function();
}
#endif
