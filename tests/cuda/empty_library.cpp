// What stands for CUDA's libraries: only their names and folders matter.
extern "C" int turnpike_test_library() {
  return 1;
}
