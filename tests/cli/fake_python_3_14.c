/* What CPython 3.14.10 has in its memory for requests of debuggers, at the places that its headers say: a library that
 * makes any program look like it. Its main thread asks fake_python_take() where CPython's would look. The structures have
 * names of their own, because a program in Python has a _PyRuntime. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { kPleaseStop = 1 << 5, kPathBytes = 512 };

struct thread {
  uint64_t next;
  uint64_t links[2];
  uint64_t eval_breaker;
  uint64_t others[60];
  int32_t pending;
  char path[kPathBytes];
};
struct interpreter {
  uint64_t others[900];
  struct thread* threads;
  struct thread* main;
  int32_t is_enabled;
  struct thread first;
};
struct runtime {
  uint64_t table[95];
  uint64_t others[10];
  struct interpreter* interpreters;
};

static struct interpreter interpreter = {.is_enabled = 1};

#define FIELD(type, field) offsetof(struct type, field)
__attribute__((section(".PyRuntime"), used)) static struct runtime runtime = {
    .table = {[1] = 0x030E0AF0,
              [3] = sizeof(struct runtime),
              [5] = FIELD(runtime, interpreters),
              [6] = sizeof(struct interpreter),
              [9] = FIELD(interpreter, threads),
              [10] = FIELD(interpreter, main),
              [22] = sizeof(struct thread),
              [24] = FIELD(thread, next),
              [89] = FIELD(thread, eval_breaker),
              [90] = FIELD(thread, pending),
              [91] = FIELD(interpreter, is_enabled),
              [92] = 0,
              [93] = sizeof(int32_t),
              [94] = kPathBytes},
};

__attribute__((constructor)) static void begin(void) {
  memcpy(runtime.table, "xdebugpy", 8);
  interpreter.threads = interpreter.main = &interpreter.first;
  runtime.interpreters = &interpreter;
}

/* For tests: what the program is like. */
__attribute__((visibility("default"))) void fake_python_forbid(void) { interpreter.is_enabled = 0; }
__attribute__((visibility("default"))) void fake_python_set_word(int word, uint64_t value) {
  runtime.table[word] = value;
}
/* As sys.monitoring keeps its version there, and a thread that wants the GIL its request. */
__attribute__((visibility("default"))) void fake_python_set_bits(uint64_t bits) { interpreter.first.eval_breaker = bits; }
__attribute__((visibility("default"))) uint64_t fake_python_bits(void) { return interpreter.first.eval_breaker; }

/* 1: `path` is the script to run, as _PyRunRemoteDebugger has it. */
__attribute__((visibility("default"))) int fake_python_take(char* path) {
  volatile struct thread* thread = &interpreter.first;
  if ((thread->eval_breaker & kPleaseStop) == 0) return 0;
  thread->eval_breaker &= ~(uint64_t)0xFF;
  if (interpreter.is_enabled != 1 || thread->pending != 1) return 0;
  thread->pending = 0;
  memcpy(path, (const void*)thread->path, kPathBytes);
  path[kPathBytes - 1] = 0;
  return path[0] != 0;
}
