// A library that another thread is loading for a long time: as long as the file of SLOTS_TEST_HOLD_FILE is there, its
// relocations are not finished, and then its constructor is not.
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int slots_answer(void);
int call_answer(void) {
  return slots_answer();
}

static int give_chosen(void) {
  return 3;
}

// Runs amid the relocations, so it may use none: it asks the kernel itself.
static long ask_kernel(long number, long first, long second) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second) : "rcx", "r11", "memory");
  return result;
}
__attribute__((no_stack_protector)) static int (*choose(void))(void) {
  const long pause[2] = {0, 1000000};
  while (ask_kernel(SYS_access, (long)SLOTS_TEST_HOLD_FILE ".relocation", F_OK) == 0) {
    ask_kernel(SYS_nanosleep, (long)pause, 0);
  }
  return give_chosen;
}
int slots_chosen(void) __attribute__((ifunc("choose")));
int call_chosen(void) {
  return slots_chosen();
}

__attribute__((constructor)) static void hold(void) {
  while (access(SLOTS_TEST_HOLD_FILE ".constructor", F_OK) == 0) usleep(1000);
}
