// Calls functions of another library, as PyTorch calls those of CUDA. Built bound at once, with slots that are
// read-only; bound at the first call; and with a function that no library has, so that loading it fails.
int slots_answer(void);
int slots_other_answer(void);

int call_answer(void) {
  return slots_answer();
}
int call_other_answer(void) {
  return slots_other_answer();
}

#ifdef FAILS_TO_LOAD
int slots_no_such_function(void);
int call_nothing(void) {
  return slots_no_such_function();
}
#endif
