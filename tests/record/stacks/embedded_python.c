/* A program that captures stacks before it loads Python, while Python runs, after it ended, and when it runs again.
 * Usage: embedded_python PROBE LIBPYTHON SCRIPTS ROUNDS */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "%s is missing\n", name);
    exit(1);
  }
  return found;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  void* probe = dlopen(argv[1], RTLD_NOW);
  if (probe == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  unsigned (*capture)(void) = (unsigned (*)(void))symbol(probe, "probe_capture");
  void (*find)(void) = (void (*)(void))symbol(probe, "probe_find");
  unsigned before = 0;
  for (int i = 0; i < 1000; ++i) before = capture();
  void* python = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
  if (python == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  void (*initialize)(void) = (void (*)(void))symbol(python, "Py_Initialize");
  int (*finalize)(void) = (int (*)(void))symbol(python, "Py_FinalizeEx");
  int (*run)(const char*) = (int (*)(const char*))symbol(python, "PyRun_SimpleString");
  char script[4096];
  snprintf(script, sizeof script, "import sys\nsys.path.insert(0, '%s')\nimport stack_probe\nstack_probe.check()\n",
           argv[3]);
  for (int round = 0; round < atoi(argv[4]); ++round) {
    initialize();
    find();
    if (run(script) != 0) return 1;
    finalize();
    for (int i = 0; i < 300; ++i) {
      if (capture() == 0) return 1;
    }
  }
  printf("%s\n", before == 0 ? "no stack before Python" : "ok");
  return before == 0;
}
