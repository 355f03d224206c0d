/* One function whose frame has the size that the build chose: two libraries alike but for their unwind rules. */
int call_through(int (*function)(int), int argument) {
  volatile char room[TURNPIKE_FRAME_BYTES];
  room[0] = 1;
  return function(argument) + room[0];
}
