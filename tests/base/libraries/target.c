// What the callers call.
int slots_answer(void) {
  return 1;
}
int slots_other_answer(void) {
  return 2;
}
