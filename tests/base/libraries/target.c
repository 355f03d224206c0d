// What the callers call.
#ifndef SLOTS_ANSWER
#define SLOTS_ANSWER 1
#endif

int slots_answer(void) {
  return SLOTS_ANSWER;
}
int slots_other_answer(void) {
  return 2;
}
